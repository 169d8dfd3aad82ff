// SPDX-License-Identifier: Apache-2.0
//
// All policies for training jobs, by name.
#pragma once

#include <span>
#include <string_view>

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

struct TrainingPolicyRow {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  const TrainingPolicy* policy;
};

std::span<const TrainingPolicyRow> training_policies();
const TrainingPolicy* find_training_policy(std::string_view name);

}  // namespace weir::schedule
