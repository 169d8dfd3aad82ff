// SPDX-License-Identifier: Apache-2.0
//
// GPUs by name, as their data sheets and the public kernel tables describe them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "domain/kernel_call.h"
#include "domain/kernel_model.h"

namespace weir::predict {

std::span<const DeviceSpec> known_devices();

// By the driver's name ("NVIDIA H200") or a short one ("h200"), whatever the case.
std::optional<DeviceSpec> find_device(std::string_view name);

// "h200": what to type.
std::string short_device_name(std::string_view name);

// A GPU without a data sheet: the rates are the highest that any of its timed kernels reached. Requires: samples with times
// above 0; spec has name, SMs and clock.
DeviceSpec with_reached_rates(DeviceSpec spec, std::span<const KernelSample> samples);

}  // namespace weir::predict
