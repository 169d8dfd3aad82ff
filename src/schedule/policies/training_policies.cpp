// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/training_policies.h"

#include <algorithm>
#include <array>

#include "schedule/policies/weir_policy.h"

namespace weir::schedule {
namespace {

const WeirPolicy kWeir;

const std::array kPolicies{
    TrainingPolicyRow{"weir", "Deadlines that hold; left-over GPUs where they save most",
                      "weir, docs/models/promises.md", &kWeir},
};

}  // namespace

std::span<const TrainingPolicyRow> training_policies() {
  return kPolicies;
}

const TrainingPolicy* find_training_policy(std::string_view name) {
  const auto row =
      std::find_if(kPolicies.begin(), kPolicies.end(),
                   [name](const TrainingPolicyRow& candidate) { return candidate.name == name; });
  return row == kPolicies.end() ? nullptr : row->policy;
}

}  // namespace weir::schedule
