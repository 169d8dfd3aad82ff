// SPDX-License-Identifier: Apache-2.0
//
// Rows of (time, value) made into a SupplySeries: the step is found, short gaps are filled and told,
// all else is a mistake of the file.
//
// The step is the most frequent distance of neighbours (the shortest of equally frequent ones; one
// hour when there is one row), and every row lies on it. What is missing between two rows, up to three
// hours, gets the value before it; a longer gap is refused, because nobody knows what was there.
// Markets have negative prices; a series has not, so they become 0 and are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/diagnostics.h"
#include "domain/supply_series.h"
#include "domain/time.h"

namespace weir::formats {

inline constexpr Duration kLongestFilledGap = std::chrono::hours{3};
inline constexpr Duration kLeastSupplyStep = std::chrono::minutes{1};
inline constexpr Duration kMostSupplyStep = std::chrono::hours{24};
inline constexpr std::size_t kMostSupplySteps = 5'000'000;  // of one series; nine years of minutes

// What was changed to make a series of what the file has.
struct SupplyRepairs {
  std::size_t filled = 0;  // steps that were missing
  std::optional<Time> first_filled{};
  std::size_t raised = 0;  // negative prices that became 0
  std::optional<Time> first_raised{};
  std::size_t redated = 0;  // forecasts whose times did not fit their issue_day
  std::optional<Time> first_redated{};

  void add(const SupplyRepairs& other);
  friend bool operator==(const SupplyRepairs&, const SupplyRepairs&) = default;
};

// For people, one line for each kind of repair; empty when there was none.
std::vector<std::string> to_lines(const SupplyRepairs& repairs);

class SupplySteps {
 public:
  SupplySteps(std::string file, std::string field)
      : file_{std::move(file)}, field_{std::move(field)} {}

  // Requires: the value is finite. A time that is not after the one before is a mistake.
  void add(std::uint64_t line, Time time, double value, Diagnostics& mistakes);
  bool empty() const { return rows_.empty(); }

  // The series of all rows added, which are then forgotten. Nothing when there are none or `mistakes`
  // had to be added to.
  std::optional<SupplySeries> finish(SupplyRepairs& repairs, Diagnostics& mistakes);

 private:
  struct Row {
    std::uint64_t line;
    Time time;
    double value;
  };

  std::optional<Duration> step(Diagnostics& mistakes) const;
  bool check_distances(Duration step, Diagnostics& mistakes) const;
  void reject(const Row& row, std::string expected, Diagnostics& mistakes) const;

  std::string file_;
  std::string field_;  // the column of the times
  std::vector<Row> rows_;
};

}  // namespace weir::formats
