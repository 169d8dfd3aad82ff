// SPDX-License-Identifier: Apache-2.0
//
// A device of which nothing was measured but its roofline, and its CPU.
#pragma once

#include <memory>

#include "predict/transformer/kernel_times.h"

namespace weir::predict {

inline KernelModel roofline_model(double probe_microseconds = 5) {
  KernelModel model;
  model.device.name = "Roofline 1";
  model.device.sms = 100;
  model.device.clock_mhz = 1000;
  model.device.bytes_per_second = 2e12;
  model.device.l2_bytes = 4e7;
  model.device.flops = {{"bf16", 3e14}};
  model.roofline_flops = {{"bf16", 2e14}};
  model.roofline_bytes_per_second = 1.5e12;
  model.host = {probe_microseconds, 3, 8};
  return model;
}

inline std::shared_ptr<const KernelTimes> roofline_times(const RuntimeTraits& runtime,
                                                         double probe_microseconds = 5) {
  return std::make_shared<const KernelTimes>(roofline_model(probe_microseconds), runtime);
}

}  // namespace weir::predict
