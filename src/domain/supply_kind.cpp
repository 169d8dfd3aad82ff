// SPDX-License-Identifier: Apache-2.0
#include "domain/supply_kind.h"

namespace weir {

std::string unit_of(const SupplyKind& kind) {
  switch (kind.quantity) {
    case SupplyQuantity::price:
      return kind.currency + "/kWh";
    case SupplyQuantity::power_cap:
      return "W";
    case SupplyQuantity::carbon_lifecycle:
    case SupplyQuantity::carbon_direct:
      break;
  }
  return "g/kWh";
}

std::string to_string(const SupplyKind& kind) {
  switch (kind.quantity) {
    case SupplyQuantity::price:
      return "price in " + unit_of(kind);
    case SupplyQuantity::power_cap:
      return "power cap in " + unit_of(kind);
    case SupplyQuantity::carbon_direct:
      return "carbon in " + unit_of(kind) + ", direct factors";
    case SupplyQuantity::carbon_lifecycle:
      break;
  }
  return "carbon in " + unit_of(kind) + ", lifecycle factors";
}

}  // namespace weir
