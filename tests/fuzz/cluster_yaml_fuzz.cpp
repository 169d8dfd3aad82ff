// SPDX-License-Identifier: Apache-2.0
//
// weir's own cluster file. What is read must survive being written and read again.
#include <sstream>

#include "formats/cluster_yaml.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto cluster = formats::read_cluster_yaml(std::move(*input));
  fuzz::check_refusal(cluster);
  if (!cluster || cluster->nodes.size() > 10000)
    return 0;  // a range of a million is slow, not wrong
  std::ostringstream out;
  formats::write_cluster_yaml(out, *cluster);
  const std::string written = out.str();
  const auto back =
      formats::read_cluster_yaml(*formats::InputFile::from_memory("fuzz.yaml", written));
  fuzz::check(back.has_value() && *back == *cluster, "a cluster comes back as written");
  return 0;
}
