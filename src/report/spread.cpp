// SPDX-License-Identifier: Apache-2.0
#include "report/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::report {

std::optional<Spread> spread_of(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  Spread spread{0, 0, values.front(), values.front(), values.size()};
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    spread.mean += value / count;
    spread.least = std::min(spread.least, value);
    spread.most = std::max(spread.most, value);
  }
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.stdev = std::sqrt(squares / (count - 1));
  return spread;
}

std::string to_string(const std::optional<Spread>& spread, int decimals) {
  if (!spread) return "-";
  if (spread->count == 1) return fmt::format("{:.{}f}", spread->mean, decimals);
  return fmt::format("{:.{}f} ± {:.{}f}", spread->mean, decimals, spread->stdev, decimals);
}

}  // namespace weir::report
