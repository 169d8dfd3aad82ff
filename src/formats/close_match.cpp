// SPDX-License-Identifier: Apache-2.0
#include "formats/close_match.h"

#include <algorithm>
#include <vector>

namespace weir::formats {
namespace {

constexpr std::size_t kLongestWord = 64;  // nobody misspells more, and the table stays small

// Optimal string alignment distance.
std::size_t edits_between(std::string_view a, std::string_view b) {
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

}  // namespace

std::optional<std::string_view> close_match(std::string_view word,
                                            std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best;
  if (word.size() > kLongestWord) return best;
  std::size_t best_edits = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t length = std::max(word.size(), candidate.size());
    const std::size_t allowed = length < 2 ? 0 : std::max<std::size_t>(1, length / 3);
    const std::size_t edits = edits_between(word, candidate);
    if (edits <= allowed && (!best || edits < best_edits)) {
      best = candidate;
      best_edits = edits;
    }
  }
  return best;
}

}  // namespace weir::formats
