// SPDX-License-Identifier: Apache-2.0
//
// Operators of a traced iteration, and the calls they are taken for.
#include <cmath>

#include "formats/traced_training_json.h"
#include "predict/kernels/kernel_work.h"
#include "predict/kernels/traced_ops.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.json", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto training = formats::read_traced_training(std::move(*input));
  fuzz::check_refusal(training);
  if (!training) return 0;
  fuzz::check(!training->ops.empty(), "there is an operator");
  const predict::TrainingOps ops = predict::ops_of_trace(*training);
  fuzz::check(ops.parameters == training->parameters, "parameters are as written");
  for (const predict::TrainingOp& op : ops.ops) {
    fuzz::check(op.count >= 1, "a call is made");
    const predict::KernelWork work = predict::kernel_work(op.call);
    fuzz::check(std::isfinite(work.bytes) && work.bytes > 0, "a call moves bytes");
    fuzz::check(std::isfinite(work.flops) && work.flops >= 0, "work is a number");
  }
  return 0;
}
