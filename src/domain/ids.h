// SPDX-License-Identifier: Apache-2.0
//
// Identities. A NodeId or JobId is given once and never reused; names and foreign uids are mapped
// to ids at the edge. Inside the scheduler nodes are addressed by NodeIndex: dense, and at the same
// time the fixed order in which equal scores are resolved (see docs/adr/0003-fixed-node-order.md).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace weir {

template <class Tag, class Rep>
struct Id {
  Rep value{};

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value{v} {}
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using NodeId = Id<struct NodeIdTag, std::uint64_t>;
using JobId = Id<struct JobIdTag, std::uint64_t>;
using PoolIndex = Id<struct PoolIndexTag, std::uint32_t>;
using NodeIndex = Id<struct NodeIndexTag, std::uint32_t>;
using ShapeIndex = Id<struct ShapeIndexTag, std::uint32_t>;

}  // namespace weir

template <class Tag, class Rep>
struct std::hash<weir::Id<Tag, Rep>> {
  std::size_t operator()(const weir::Id<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
