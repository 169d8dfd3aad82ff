// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/scaled_model.h"

#include <algorithm>
#include <cmath>

namespace weir::predict {

double habitat_factor(const KernelCall& call, const DeviceSpec& from, const DeviceSpec& to,
                      double blocks) {
  const KernelWork work = kernel_work(call);
  const auto flops = to.flops.find(call.dtype);
  // A number format that the other GPU's tensor cores do not have runs as float32.
  const auto plain = to.flops.find("fp32");
  const double peak = flops != to.flops.end()   ? flops->second
                      : plain != to.flops.end() ? plain->second
                                                : 0;
  const double ridge = peak / to.bytes_per_second;
  const double intensity = work.flops / std::max(1.0, work.all_bytes());
  double memory = 1;  // share of the time that waits for memory
  if (work.flops <= 0)
    memory = 1;
  else if (work.all_bytes() <= 0)
    memory = 0;
  else if (ridge > 0)
    memory = intensity <= ridge ? 1 - 0.5 * intensity / ridge : 0.5 * ridge / intensity;
  const double clock = from.clock_mhz / to.clock_mhz;
  const bool is_small = blocks < from.sms && blocks < to.sms;
  if (is_small) return std::pow(clock, 1 - memory);
  const double sms = from.sms / to.sms;
  return std::pow(from.bytes_per_second / to.bytes_per_second, memory) *
         std::pow(clock * sms, 1 - memory);
}

}  // namespace weir::predict
