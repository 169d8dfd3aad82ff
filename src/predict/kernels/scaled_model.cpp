// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/scaled_model.h"

#include <algorithm>
#include <cmath>

namespace weir::predict {

namespace {

// A number format that a GPU's tensor cores do not have runs as float32.
double arithmetic_rate(const DeviceSpec& device, const std::string& dtype) {
  const auto rate = device.flops.find(dtype);
  if (rate != device.flops.end()) return rate->second;
  const auto plain = device.flops.find("fp32");
  return plain != device.flops.end() ? plain->second : 0;
}

}  // namespace

double habitat_factor(const KernelCall& call, const DeviceSpec& from, const DeviceSpec& to,
                      double blocks) {
  const KernelWork work = kernel_work(call);
  const double before = arithmetic_rate(from, call.dtype);
  const double after = arithmetic_rate(to, call.dtype);
  const double ridge = after / to.bytes_per_second;
  const double bytes = limiting_bytes(call, work);
  const double intensity = work.flops / std::max(1.0, bytes);
  double memory = 1;  // share of the time that waits for memory
  if (work.flops <= 0)
    memory = 1;
  else if (bytes <= 0)
    memory = 0;
  else if (ridge > 0)
    memory = intensity <= ridge ? 1 - 0.5 * intensity / ridge : 0.5 * ridge / intensity;
  const double arithmetic = before > 0 && after > 0 ? before / after : 1;
  // With less than a block for each SM, only what one SM does matters; where the other has too few SMs, blocks take turns.
  if (blocks < from.sms)
    return std::pow(arithmetic * to.sms / from.sms, 1 - memory) * std::max(1.0, blocks / to.sms);
  return std::pow(from.bytes_per_second / to.bytes_per_second, memory) *
         std::pow(arithmetic, 1 - memory);
}

double scaled_seconds(const KernelCall& call, double seconds, double kernels, double blocks,
                      const DeviceSpec& from, const DeviceSpec& to) {
  const double launches = std::min(seconds, kernels * kEmptyKernelSeconds);
  return launches + (seconds - launches) * habitat_factor(call, from, to, blocks);
}

}  // namespace weir::predict
