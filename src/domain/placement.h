// SPDX-License-Identifier: Apache-2.0
//
// Which GPUs of which node a task has.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "domain/ids.h"

namespace weir {

// Bit g is set when GPU g of the node is taken. Empty for CPU-only tasks.
struct GpuMask {
  std::uint16_t bits = 0;

  constexpr bool contains(int gpu) const { return ((bits >> gpu) & 1U) != 0; }
  constexpr void insert(int gpu) { bits = static_cast<std::uint16_t>(bits | (1U << gpu)); }
  constexpr int count() const { return std::popcount(bits); }
  friend constexpr bool operator==(const GpuMask&, const GpuMask&) = default;
};

struct Placement {
  NodeIndex node;
  GpuMask gpus;
  friend constexpr bool operator==(const Placement&, const Placement&) = default;
};

// The placements of a job's replicas. Nearly every job has one, which needs no allocation; a gang's
// are shared and never change.
class PlacementList {
 public:
  PlacementList() = default;
  explicit PlacementList(Placement only) : one_{only}, size_{1} {}
  explicit PlacementList(std::vector<Placement> all)
      : size_{static_cast<std::uint32_t>(all.size())} {
    if (size_ == 1) one_ = all.front();
    if (size_ > 1) many_ = std::make_shared<const std::vector<Placement>>(std::move(all));
  }

  std::span<const Placement> all() const {
    return many_ ? std::span<const Placement>{*many_} : std::span<const Placement>{&one_, size_};
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  friend bool operator==(const PlacementList& a, const PlacementList& b) {
    const auto left = a.all();
    const auto right = b.all();
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
  }

 private:
  std::shared_ptr<const std::vector<Placement>> many_;
  Placement one_;
  std::uint32_t size_ = 0;
};

}  // namespace weir
