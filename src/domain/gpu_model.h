// SPDX-License-Identifier: Apache-2.0
//
// GPU models by name, and sets of them. A cluster has few models, so a set is one 64-bit word and
// "is this model allowed" is one bit test.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// Index into GpuModels. A node without GPUs has kNoGpuModel.
struct GpuModelId {
  std::uint8_t value = 0;
  friend constexpr auto operator<=>(const GpuModelId&, const GpuModelId&) = default;
};

inline constexpr std::size_t kMaxGpuModels = 64;
inline constexpr GpuModelId kNoGpuModel{kMaxGpuModels};

// The models a task accepts. The empty set means any model, also none at all.
class GpuModelSet {
 public:
  constexpr GpuModelSet() = default;

  constexpr void insert(GpuModelId model) { bits_ |= std::uint64_t{1} << model.value; }
  constexpr void erase(GpuModelId model) { bits_ &= ~(std::uint64_t{1} << model.value); }
  constexpr bool accepts_any() const { return bits_ == 0; }
  constexpr bool contains(GpuModelId model) const {
    return model != kNoGpuModel && ((bits_ >> model.value) & 1U) != 0;
  }
  constexpr bool accepts(GpuModelId model) const { return accepts_any() || contains(model); }
  constexpr std::uint64_t bits() const { return bits_; }

  friend constexpr auto operator<=>(const GpuModelSet&, const GpuModelSet&) = default;

 private:
  std::uint64_t bits_ = 0;
};

// The names of the models of one cluster. Ids are given in order of first appearance.
class GpuModels {
 public:
  // The id of a known or new model; nothing when kMaxGpuModels are known already.
  std::optional<GpuModelId> intern(std::string_view name);
  std::optional<GpuModelId> find(std::string_view name) const;

  const std::string& name(GpuModelId model) const { return names_[model.value]; }
  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }

  // "V100M16|V100M32"; empty for any.
  std::string to_string(GpuModelSet set) const;

  friend bool operator==(const GpuModels&, const GpuModels&) = default;

 private:
  std::vector<std::string> names_;
};

}  // namespace weir
