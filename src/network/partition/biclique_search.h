// SPDX-License-Identifier: Apache-2.0
//
// Finds, in a table of zeros and ones, some rows that have enough ones in common: a biclique of given
// sizes. It is the heart of contention-free partitions (rows are leaves and columns are spines, or the
// other way round). NP-hard in general; here tables have at most 256 columns and the search is exact
// until its budget is spent, then a greedy one tries from every row.
//
// What makes it quick: a column needs enough rows and a row enough columns, so what has too few is
// peeled off again and again, before and inside the search; and a row that is no better than one that
// failed at the same place fails as well.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::network {

inline constexpr int kMostColumns = 256;
using Columns = std::array<std::uint64_t, kMostColumns / 64>;

inline bool has_column(const Columns& columns, int column) {
  return (columns[static_cast<std::size_t>(column) / 64] >> (column % 64) & 1) != 0;
}
inline void set_column(Columns& columns, int column) {
  columns[static_cast<std::size_t>(column) / 64] |= std::uint64_t{1} << (column % 64);
}
inline void clear_column(Columns& columns, int column) {
  columns[static_cast<std::size_t>(column) / 64] &= ~(std::uint64_t{1} << (column % 64));
}
int count_columns(const Columns& columns);

struct BicliqueQuery {
  std::vector<Columns> rows;  // in the order in which they are preferred
  int columns = 0;            // columns in the table: 1..kMostColumns
  int need_rows = 0;          // at least 1
  int need_columns = 0;       // at least 1
  // What the answer has to bring along beside its sizes: gains of the chosen rows, or those of the
  // need_columns best common columns, add up to need_gain at least. One of the two is empty; both
  // where need_gain is 0.
  std::vector<int> row_gains;
  std::vector<int> column_gains;
  int need_gain = 0;
};

enum class BicliqueEnd : std::uint8_t {
  found,
  none,     // there is none
  gave_up,  // the budget was spent and the greedy search found none
};

struct BicliqueAnswer {
  BicliqueEnd end = BicliqueEnd::none;
  std::vector<int> rows;  // need_rows of them, ascending
  Columns common{};       // need_columns of them at least
};

// `budget` counts looks at rows in the exact search; what is used is taken off.
BicliqueAnswer find_biclique(const BicliqueQuery& query, std::int64_t& budget);

}  // namespace weir::network
