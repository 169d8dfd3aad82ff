// SPDX-License-Identifier: Apache-2.0
//
// A model of kernels: comes back as written, and predicts.
#include <cmath>

#include "formats/kernel_model_json.h"
#include "predict/kernels/kernel_predictor.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.json", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto model = formats::read_kernel_model(std::move(*input));
  fuzz::check_refusal(model);
  if (!model) return 0;
  const auto text = formats::kernel_model_json(*model);
  fuzz::check(text.has_value(), "a model that was read can be written");
  const auto back = formats::read_kernel_model(*formats::InputFile::from_memory("back", *text));
  fuzz::check(back && *back == *model, "a model comes back as written");
  const predict::KernelPredictor predictor{*model};
  for (const KernelCall& call :
       {KernelCall{KernelFamily::gemm, "mm", "bf16", "nn", {1, 64, 128, 256}},
        {KernelFamily::conv, "conv", "bf16", "fwd/nhwc", {8, 16, 32, 3, 14, 1, 1}},
        {KernelFamily::rows, "copy", "bf16", "", {64, 512}}})
    fuzz::check(predictor.predict(call).seconds >= 0, "a prediction is a time");
  return 0;
}
