// SPDX-License-Identifier: Apache-2.0
#include "domain/nearest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weir {
namespace {

constexpr std::size_t kLongestWord = 64;  // nobody misspells more, and the table stays small

// Optimal string alignment distance.
std::size_t slips_between(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
    return table[i * width + j];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({replace, at(i - 1, j) + 1, at(i, j - 1) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return table.back();
}

std::string bare(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view wrong,
                                             std::span<const std::string_view> names) {
  std::optional<std::string_view> best;
  if (wrong.size() > kLongestWord) return best;
  const std::string word = bare(wrong);
  std::size_t fewest = 0;
  for (const std::string_view name : names) {
    const std::string candidate = bare(name);
    const std::size_t length = std::max(word.size(), candidate.size());
    const std::size_t allowed = length < 2 ? 0 : std::max<std::size_t>(1, length / 3);
    const std::size_t slips = slips_between(word, candidate);
    if (slips <= allowed && (!best || slips < fewest)) {
      best = name;
      fewest = slips;
    }
  }
  return best;
}

std::optional<std::string_view> nearest_name(std::string_view wrong,
                                             std::span<const std::string> names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return nearest_name(wrong, std::span<const std::string_view>{views});
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string> names) {
  const auto nearest = nearest_name(wrong, names);
  return nearest ? fmt::format("; did you mean {}?", *nearest) : "";
}

}  // namespace weir
