// SPDX-License-Identifier: Apache-2.0
//
// The three parts of a training iteration.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

enum class TrainingPhase : std::uint8_t { forward, backward, optimizer };

inline constexpr std::array<std::string_view, 3> kTrainingPhaseNames = {"forward", "backward",
                                                                        "optimizer"};

constexpr std::string_view to_string(TrainingPhase phase) {
  return kTrainingPhaseNames[static_cast<std::size_t>(phase)];
}

}  // namespace weir
