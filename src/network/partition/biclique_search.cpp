// SPDX-License-Identifier: Apache-2.0
#include "network/partition/biclique_search.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

namespace weir::network {
namespace {

// The instruction for it is not part of the machine we compile for; this is twice as fast as the
// library's function.
constexpr int ones_in(std::uint64_t bits) {
  bits -= (bits >> 1) & 0x5555555555555555U;
  bits = (bits & 0x3333333333333333U) + ((bits >> 2) & 0x3333333333333333U);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  return static_cast<int>((bits * 0x0101010101010101U) >> 56);
}

template <std::size_t Words>
class BicliqueSearch {
 public:
  using Bits = std::array<std::uint64_t, Words>;

  BicliqueSearch(const BicliqueQuery& query, std::int64_t& budget)
      : query_{query}, budget_{budget}, levels_(static_cast<std::size_t>(query.need_rows) + 1) {
    rows_.reserve(query.rows.size());
    for (const Columns& row : query.rows) {
      Bits bits;
      std::copy_n(row.begin(), Words, bits.begin());
      rows_.push_back(bits);
    }
  }

  BicliqueAnswer run() {
    Bits all;
    for (std::size_t word = 0; word < Words; ++word) {
      const int rest = query_.columns - static_cast<int>(word) * 64;
      all[word] = rest >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << std::max(rest, 0)) - 1;
    }
    Level& top = levels_[0];
    top.rows.resize(rows_.size());
    std::iota(top.rows.begin(), top.rows.end(), 0);
    top.common = all;
    if (!peel(top, query_.need_rows, 0)) return {};
    const std::vector<int> peeled = top.rows;
    const Bits peeled_columns = top.common;
    if (descend(0, 0)) return answer();
    if (budget_ > 0) return {};
    return try_greedily(peeled, peeled_columns) ? answer()
                                                : BicliqueAnswer{BicliqueEnd::gave_up, {}, {}};
  }

 private:
  struct Level {
    std::vector<int> rows;    // that may still be chosen
    std::vector<Bits> tried;  // rows of this level that led nowhere, inside `common`
    std::vector<int> tried_gains;
    Bits common;  // columns of all rows chosen so far, less what was peeled off
  };

  static int count(const Bits& bits) {
    int ones = 0;
    for (const std::uint64_t word : bits) ones += ones_in(word);
    return ones;
  }
  static int count_common(const Bits& a, const Bits& b) {
    int ones = 0;
    for (std::size_t word = 0; word < Words; ++word) ones += ones_in(a[word] & b[word]);
    return ones;
  }
  static Bits both(const Bits& a, const Bits& b) {
    Bits result;
    for (std::size_t word = 0; word < Words; ++word) result[word] = a[word] & b[word];
    return result;
  }
  static bool contains(const Bits& large, const Bits& small) {
    for (std::size_t word = 0; word < Words; ++word) {
      if ((small[word] & ~large[word]) != 0) return false;
    }
    return true;
  }

  int gain_of(int row) const {
    return query_.row_gains.empty() ? 0 : query_.row_gains[static_cast<std::size_t>(row)];
  }

  // The columns of `common` that at least `least` of these rows have. Counts all columns at once:
  // plane p holds bit p of every column's count.
  Bits columns_with_rows(const Level& level, int least) const {
    std::array<Bits, 10> planes{};
    for (const int row : level.rows) {
      const Bits& bits = rows_[static_cast<std::size_t>(row)];
      for (std::size_t word = 0; word < Words; ++word) {
        std::uint64_t carry = bits[word] & level.common[word];
        for (std::size_t plane = 0; carry != 0; ++plane) {
          const std::uint64_t next = planes[plane][word] & carry;
          planes[plane][word] ^= carry;
          carry = next;
        }
      }
    }
    Bits result;
    for (std::size_t word = 0; word < Words; ++word) {
      std::uint64_t above = 0;
      std::uint64_t equal = level.common[word];
      for (std::size_t plane = planes.size(); plane-- > 0;) {
        const std::uint64_t counted = planes[plane][word];
        if ((static_cast<unsigned>(least) >> plane & 1U) != 0) {
          equal &= counted;
        } else {
          above |= equal & counted;
          equal &= ~counted;
        }
      }
      result[word] = above | equal;
    }
    return result;
  }

  bool can_gain(const Level& level, int need, int gain) {
    if (query_.need_gain == 0) return true;
    gains_.clear();
    int wanted = need;
    if (!query_.row_gains.empty()) {
      for (const int row : level.rows) gains_.push_back(gain_of(row));
    } else {
      gain = 0;
      wanted = query_.need_columns;
      for (int column = 0; column < query_.columns; ++column) {
        if ((level.common[static_cast<std::size_t>(column) / 64] >> (column % 64) & 1) != 0)
          gains_.push_back(query_.column_gains[static_cast<std::size_t>(column)]);
      }
    }
    const auto best = gains_.begin() + std::min<std::ptrdiff_t>(wanted, std::ssize(gains_));
    std::partial_sort(gains_.begin(), best, gains_.end(), std::greater<>{});
    return std::accumulate(gains_.begin(), best, gain) >= query_.need_gain;
  }

  // Drops rows and columns that no answer below this level can have. False when nothing is left to
  // find.
  bool peel(Level& level, int need, int gain) {
    while (need > 0) {
      std::erase_if(level.rows, [&](int row) {
        return count_common(rows_[static_cast<std::size_t>(row)], level.common) <
               query_.need_columns;
      });
      budget_ -= std::ssize(level.rows) + 1;
      if (std::ssize(level.rows) < need) return false;
      const Bits kept = columns_with_rows(level, need);
      if (kept == level.common) break;
      level.common = kept;
      if (count(kept) < query_.need_columns) return false;
    }
    return can_gain(level, need, gain);
  }

  bool is_no_better_than_tried(const Level& level, const Bits& inside, int gain) const {
    for (std::size_t i = 0; i < level.tried.size(); ++i) {
      if (gain <= level.tried_gains[i] && contains(level.tried[i], inside)) return true;
    }
    return false;
  }

  bool descend(int depth, int gain) {
    const int need = query_.need_rows - depth;
    Level& level = levels_[static_cast<std::size_t>(depth)];
    if (need == 0) {
      common_ = level.common;
      return true;
    }
    level.tried.clear();
    level.tried_gains.clear();
    Level& below = levels_[static_cast<std::size_t>(depth) + 1];
    for (std::size_t i = 0; i + static_cast<std::size_t>(need) <= level.rows.size(); ++i) {
      if (budget_ <= 0) return false;
      const int row = level.rows[i];
      const Bits inside = both(level.common, rows_[static_cast<std::size_t>(row)]);
      if (is_no_better_than_tried(level, inside, gain_of(row))) continue;
      below.common = inside;
      below.rows.assign(level.rows.begin() + static_cast<std::ptrdiff_t>(i) + 1, level.rows.end());
      chosen_.push_back(row);
      if (peel(below, need - 1, gain + gain_of(row)) && descend(depth + 1, gain + gain_of(row)))
        return true;
      chosen_.pop_back();
      level.tried.push_back(inside);
      level.tried_gains.push_back(gain_of(row));
    }
    return false;
  }

  // From every row in turn: always the row that keeps most columns; among equals the one with the
  // highest gain, then the preferred one.
  bool try_greedily(const std::vector<int>& rows, const Bits& columns) {
    for (const int start : rows) {
      chosen_.assign(1, start);
      common_ = both(columns, rows_[static_cast<std::size_t>(start)]);
      std::vector<int>& left = levels_[0].rows;
      left = rows;
      std::erase(left, start);
      while (std::ssize(chosen_) < query_.need_rows) {
        int best = -1;
        int best_common = query_.need_columns - 1;
        for (const int row : left) {
          const int shared = count_common(rows_[static_cast<std::size_t>(row)], common_);
          if (shared > best_common ||
              (best >= 0 && shared == best_common && gain_of(row) > gain_of(best))) {
            best = row;
            best_common = shared;
          }
        }
        if (best < 0) break;
        chosen_.push_back(best);
        common_ = both(common_, rows_[static_cast<std::size_t>(best)]);
        std::erase(left, best);
      }
      if (std::ssize(chosen_) < query_.need_rows) continue;
      int gain = 0;
      for (const int row : chosen_) gain += gain_of(row);
      levels_[0].rows.clear();
      levels_[0].common = common_;
      if (can_gain(levels_[0], 0, gain)) return true;
    }
    return false;
  }

  BicliqueAnswer answer() {
    BicliqueAnswer result{BicliqueEnd::found, chosen_, {}};
    std::sort(result.rows.begin(), result.rows.end());
    std::copy(common_.begin(), common_.end(), result.common.begin());
    return result;
  }

  const BicliqueQuery& query_;
  std::int64_t& budget_;
  std::vector<Level> levels_;
  std::vector<Bits> rows_;
  std::vector<int> chosen_;
  std::vector<int> gains_;
  Bits common_{};
};

}  // namespace

int count_columns(const Columns& columns) {
  int ones = 0;
  for (const std::uint64_t word : columns) ones += ones_in(word);
  return ones;
}

BicliqueAnswer find_biclique(const BicliqueQuery& query, std::int64_t& budget) {
  if (query.columns <= 64) return BicliqueSearch<1>{query, budget}.run();
  if (query.columns <= 128) return BicliqueSearch<2>{query, budget}.run();
  return BicliqueSearch<4>{query, budget}.run();
}

}  // namespace weir::network
