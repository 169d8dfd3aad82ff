// SPDX-License-Identifier: Apache-2.0
//
// weir's own file of what to compare. What is accepted keeps the limits of its header.
#include "formats/comparison_yaml.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!input) return 0;
  const formats::ComparisonSurroundings around{"dir", "/data", {"weir", "elasticflow", "edf"}};
  const auto comparison = formats::read_comparison(std::move(*input), around);
  fuzz::check_refusal(comparison);
  if (!comparison) return 0;
  fuzz::check(!comparison->traces.empty() && comparison->traces.size() <= 1000,
              "a comparison has traces");
  fuzz::check(comparison->policies.size() <= around.policies.size(), "each policy once");
  for (const formats::ComparedTrace& trace : comparison->traces) {
    fuzz::check(!trace.jobs.empty() && !trace.cluster.empty() && !trace.curves.empty(),
                "a trace has its files");
    fuzz::check(!trace.slot || *trace.slot >= Duration{0}, "a slot is not negative");
  }
  return 0;
}
