// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/policy_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "schedule/place/blend.h"
#include "schedule/place/policies.h"

namespace weir::schedule {
namespace {

// Those whose scores are 0..100, or rescaled to it.
constexpr std::array<std::string_view, 7> kBlended{
    "dot-product", "clustering", "packing", "best-fit", "fgd", "fgd-plus", "pwr"};
constexpr int kDecimals = 6;
constexpr std::size_t kMostDigits = 6;  // before the point

bool are_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// In millionths; nothing where it is no decimal number, or not above 0.
std::optional<std::int64_t> read_weight(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view part =
      point == std::string_view::npos ? std::string_view{} : text.substr(point + 1);
  const bool is_number = !whole.empty() && (point == std::string_view::npos || !part.empty()) &&
                         are_digits(whole) && are_digits(part);
  if (!is_number || whole.size() > kMostDigits || part.size() > kDecimals) return std::nullopt;
  std::int64_t millionths = 0;
  for (const char digit : whole) millionths = 10 * millionths + (digit - '0');
  for (std::size_t i = 0; i < kDecimals; ++i)
    millionths = 10 * millionths + (i < part.size() ? part[i] - '0' : 0);
  if (millionths == 0) return std::nullopt;
  return millionths;
}

std::vector<std::string_view> pieces_of(std::string_view text, char at) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find(at);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

tl::expected<std::shared_ptr<const PlacementPolicy>, std::string> read_blend(
    std::string_view text) {
  std::vector<BlendPolicy::Part> parts;
  std::vector<std::string_view> names;
  for (const std::string_view piece : pieces_of(text, '+')) {
    const std::size_t colon = piece.find(':');
    const std::string_view name = piece.substr(0, colon);
    if (colon == std::string_view::npos || name.empty())
      return tl::unexpected(
          fmt::format("a policy and its weight, like fgd:0.9+pwr:0.1, in place of \"{}\"", piece));
    if (std::find(kBlended.begin(), kBlended.end(), name) == kBlended.end())
      return tl::unexpected(
          fmt::format("a blend of {}, which \"{}\" is not among", fmt::join(kBlended, ", "), name));
    if (std::find(names.begin(), names.end(), name) != names.end())
      return tl::unexpected(fmt::format("each policy once; \"{}\" is there twice", name));
    const auto weight = read_weight(piece.substr(colon + 1));
    if (!weight)
      return tl::unexpected(
          fmt::format("a weight above 0 and below a million, with at most {} decimals, in place of "
                      "\"{}\"",
                      kDecimals, piece.substr(colon + 1)));
    names.push_back(name);
    parts.push_back({find_placement_policy(name), *weight});
  }
  if (parts.size() < 2)
    return tl::unexpected(
        std::string{"two or more policies in a blend, or a name without a weight"});
  return std::make_shared<const BlendPolicy>(std::move(parts));
}

}  // namespace

bool looks_like_a_blend(std::string_view text) {
  return text.find_first_of(":+") != std::string_view::npos;
}

tl::expected<std::shared_ptr<const PlacementPolicy>, std::string> read_placement_policy(
    std::string_view text) {
  if (looks_like_a_blend(text)) return read_blend(text);
  const PlacementPolicy* policy = find_placement_policy(text);
  if (policy == nullptr)
    return tl::unexpected(std::string{"a placement policy (`weir policies`) or a blend of them"});
  // The table's own are never deleted.
  return std::shared_ptr<const PlacementPolicy>{std::shared_ptr<const PlacementPolicy>{}, policy};
}

}  // namespace weir::schedule
