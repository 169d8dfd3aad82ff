// SPDX-License-Identifier: Apache-2.0
//
// CSV and the openb task list, for a cluster with two GPU models.
#include <sstream>

#include "formats/openb.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  static const Cluster cluster = [] {
    Cluster two_models;
    two_models.models.intern("T4");
    two_models.models.intern("G2");
    return two_models;
  }();
  auto input = formats::InputFile::from_memory("fuzz.csv", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto workload = formats::read_openb_tasks(std::move(*input), cluster);
  fuzz::check_refusal(workload);
  if (!workload) return 0;
  std::ostringstream out;
  fuzz::check(formats::write_openb_tasks(out, *workload, cluster).has_value(),
              "tasks can be written");
  const std::string written = out.str();
  const auto back =
      formats::read_openb_tasks(*formats::InputFile::from_memory("fuzz.csv", written), cluster);
  fuzz::check(back.has_value() && back->jobs == workload->jobs, "openb tasks come back as written");
  return 0;
}
