// SPDX-License-Identifier: Apache-2.0
//
// How a figure varies over seeds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace weir::report {

struct Spread {
  double mean = 0;
  double stdev = 0;  // of the sample (n - 1); 0 for one value
  double least = 0;
  double most = 0;
  std::size_t count = 0;
};

// Nothing when there are no values.
std::optional<Spread> spread_of(std::span<const double> values);

// "95.46 ± 0.08"; "95.46" for a single value; "-" for none.
std::string to_string(const std::optional<Spread>& spread, int decimals);

}  // namespace weir::report
