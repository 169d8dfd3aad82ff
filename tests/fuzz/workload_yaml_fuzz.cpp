// SPDX-License-Identifier: Apache-2.0
//
// weir's own workload file, for a cluster with two GPU models.
#include <sstream>

#include "formats/workload_yaml.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  static const Cluster cluster = [] {
    Cluster two_models;
    two_models.models.intern("T4");
    two_models.models.intern("V100");
    return two_models;
  }();
  auto input = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto workload = formats::read_workload_yaml(std::move(*input), cluster);
  fuzz::check_refusal(workload);
  if (!workload || workload->jobs.size() > 10000)
    return 0;  // a count of a million is slow, not wrong
  std::ostringstream out;
  formats::write_workload_yaml(out, *workload, cluster);
  const std::string written = out.str();
  const auto back =
      formats::read_workload_yaml(*formats::InputFile::from_memory("fuzz.yaml", written), cluster);
  fuzz::check(back.has_value() && back->jobs == workload->jobs && back->name == workload->name,
              "a workload comes back as written");
  return 0;
}
