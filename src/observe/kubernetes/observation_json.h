// SPDX-License-Identifier: Apache-2.0
//
// An observation as JSON: the contract of `weir observe --json`.
#pragma once

#include <string>

#include "observe/kubernetes/observation.h"

namespace weir::observe {

std::string to_json(const Observation& observation);

// "2026-11-16T02:30:00Z", whole seconds.
std::string to_timestamp(Time time);

}  // namespace weir::observe
