// SPDX-License-Identifier: Apache-2.0
//
// Convolutions timed by algorithm.
#include <cmath>

#include "formats/conv_algorithms_csv.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.csv", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto timed =
      formats::read_conv_algorithms(std::move(*input), {"implicit_gemm", "winograd", "reduce"});
  fuzz::check_refusal(timed);
  if (!timed) return 0;
  for (const formats::TimedAlgorithm& one : *timed) {
    fuzz::check(std::isfinite(one.sample.milliseconds) && one.sample.milliseconds > 0,
                "time passes");
    fuzz::check(one.workspace_bytes >= 0, "a workspace is not negative");
    fuzz::check(one.sample.call.variant.ends_with(one.algorithm), "a variant names its algorithm");
  }
  return 0;
}
