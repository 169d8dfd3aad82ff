// SPDX-License-Identifier: Apache-2.0
//
// Timed iterations.
#include <cmath>

#include "formats/measured_iterations_csv.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.csv", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto iterations = formats::read_measured_iterations(std::move(*input));
  fuzz::check_refusal(iterations);
  if (!iterations) return 0;
  for (const MeasuredIteration& one : *iterations) {
    fuzz::check(one.batch >= 1, "an iteration has samples");
    fuzz::check(std::isfinite(one.milliseconds) && one.milliseconds > 0, "time passes");
    fuzz::check(std::isfinite(one.probe_microseconds), "a probe is a number");
  }
  return 0;
}
