// SPDX-License-Identifier: Apache-2.0
//
// Forecasts of a supply, as they were issued. Whoever decides at a time may look only at what was
// known then: that is what known_at is for.
#pragma once

#include <vector>

#include "domain/supply_series.h"
#include "domain/time.h"

namespace weir {

struct SupplyForecast {
  Time issued{};
  SupplySeries expected{};
  friend bool operator==(const SupplyForecast&, const SupplyForecast&) = default;
};

class ForecastBook {
 public:
  ForecastBook() = default;
  // Requires: ascending in `issued`, no two the same, no series empty.
  explicit ForecastBook(std::vector<SupplyForecast> forecasts);

  bool empty() const { return forecasts_.empty(); }
  const std::vector<SupplyForecast>& all() const { return forecasts_; }

  // The newest forecast issued by that time, at the time itself included; null before the first.
  const SupplySeries* known_at(Time time) const;
  // The forecast issued at that very time, or null.
  const SupplySeries* issued_at(Time time) const;
  // The same forecasts, so much later.
  ForecastBook shifted(Duration by) const;

 private:
  std::vector<SupplyForecast> forecasts_;
};

}  // namespace weir
