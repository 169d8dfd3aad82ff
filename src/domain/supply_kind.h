// SPDX-License-Identifier: Apache-2.0
//
// What the values of a SupplySeries are. Two series of different kinds are never compared or joined:
// lifecycle and direct factors give different grams for the same hour, and euros are not dollars.
// Carbon is the grid's average intensity; the marginal one is another quantity, which weir has no
// data of.
#pragma once

#include <cstdint>
#include <string>

namespace weir {

// Which emissions of a power station count: those of its whole life, or of burning fuel alone.
enum class CarbonFactors : std::uint8_t { lifecycle, direct };

enum class SupplyQuantity : std::uint8_t { carbon_lifecycle, carbon_direct, price, power_cap };

struct SupplyKind {
  SupplyQuantity quantity = SupplyQuantity::carbon_lifecycle;
  std::string currency{};  // of a price, "EUR"; otherwise empty

  friend bool operator==(const SupplyKind&, const SupplyKind&) = default;
};

constexpr bool is_carbon(SupplyQuantity quantity) {
  return quantity == SupplyQuantity::carbon_lifecycle || quantity == SupplyQuantity::carbon_direct;
}
constexpr SupplyQuantity carbon_with(CarbonFactors factors) {
  return factors == CarbonFactors::direct ? SupplyQuantity::carbon_direct
                                          : SupplyQuantity::carbon_lifecycle;
}

// "g/kWh", "EUR/kWh", "W"
std::string unit_of(const SupplyKind& kind);
// "carbon in g/kWh, lifecycle factors", "price in EUR/kWh", "power cap in W"
std::string to_string(const SupplyKind& kind);

}  // namespace weir
