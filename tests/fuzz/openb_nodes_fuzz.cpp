// SPDX-License-Identifier: Apache-2.0
//
// CSV and the openb node list. What is read must survive being written and read again.
#include <sstream>

#include "formats/openb.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.csv", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto cluster = formats::read_openb_nodes(std::move(*input));
  fuzz::check_refusal(cluster);
  if (!cluster) return 0;
  std::ostringstream out;
  formats::write_openb_nodes(out, *cluster);
  const std::string written = out.str();
  const auto back =
      formats::read_openb_nodes(*formats::InputFile::from_memory("fuzz.csv", written));
  fuzz::check(back.has_value() && *back == *cluster, "openb nodes come back as written");
  return 0;
}
