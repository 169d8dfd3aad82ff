// SPDX-License-Identifier: Apache-2.0
//
// What a column of a supply file is, from its name alone: the unit is part of it.
//
//   carbon_g_per_kwh              also kg, also per mwh; lifecycle factors, as weir takes them by default
//   carbon_lifecycle_g_per_kwh    the same, said aloud
//   carbon_direct_g_per_kwh       direct factors
//   price_eur_per_kwh             any currency of three letters, also per mwh
//   power_cap_w                   also kw, mw
//   ci_lifecycle, ci_direct       as in the public files: g/kWh
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/supply_kind.h"

namespace weir::formats {

inline constexpr std::string_view kSupplyColumnRule =
    "a column carbon_g_per_kwh, price_eur_per_kwh (or another currency) or power_cap_w";

struct SupplyColumn {
  SupplyKind kind{};
  double times =
      1;  // what a value is multiplied with, then divided by, to be in g/kWh, EUR/kWh or W
  double over = 1;

  friend bool operator==(const SupplyColumn&, const SupplyColumn&) = default;
};

std::optional<SupplyColumn> parse_supply_column(std::string_view name);

// Whether a name that is not one of the above was meant to be: it begins with carbon, price or power.
bool resembles_supply_column(std::string_view name);
// What to write instead of such a name.
std::string instead_of_supply_column(std::string_view name);

}  // namespace weir::formats
