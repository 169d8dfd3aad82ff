// SPDX-License-Identifier: Apache-2.0
#include "formats/supply_column.h"

#include <algorithm>

namespace weir::formats {
namespace {

constexpr std::size_t kCurrencyLetters = 3;

// Takes words off the front of a name.
class NameScanner {
 public:
  explicit NameScanner(std::string_view name) : rest_{name} {}

  bool skip_if(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // The currency in capitals; empty when the name does not go on with three small letters.
  std::string currency() {
    const std::string_view letters = rest_.substr(0, kCurrencyLetters);
    const bool is_right =
        letters.size() == kCurrencyLetters &&
        std::all_of(letters.begin(), letters.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (!is_right) return {};
    rest_.remove_prefix(letters.size());
    std::string capitals{letters};
    for (char& c : capitals) c = static_cast<char>(c - 'a' + 'A');
    return capitals;
  }
  bool is_done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool takes_energy(NameScanner& scan, SupplyColumn& column) {
  if (scan.skip_if("_per_kwh")) return true;
  column.over = 1000;
  return scan.skip_if("_per_mwh");
}

bool takes_carbon(NameScanner& scan, SupplyColumn& column) {
  if (scan.skip_if("direct_")) {
    column.kind.quantity = SupplyQuantity::carbon_direct;
  } else {
    scan.skip_if("lifecycle_");
  }
  if (scan.skip_if("kg")) {
    column.times = 1000;
  } else if (!scan.skip_if("g")) {
    return false;
  }
  return takes_energy(scan, column);
}

bool takes_price(NameScanner& scan, SupplyColumn& column) {
  column.kind.quantity = SupplyQuantity::price;
  column.kind.currency = scan.currency();
  return !column.kind.currency.empty() && takes_energy(scan, column);
}

bool takes_power(NameScanner& scan, SupplyColumn& column) {
  column.kind.quantity = SupplyQuantity::power_cap;
  if (scan.skip_if("k")) {
    column.times = 1e3;
  } else if (scan.skip_if("m")) {
    column.times = 1e6;
  }
  return scan.skip_if("w");
}

}  // namespace

std::optional<SupplyColumn> parse_supply_column(std::string_view name) {
  SupplyColumn column;
  NameScanner scan{name};
  bool is_known = false;
  if (scan.skip_if("ci_lifecycle")) {
    is_known = true;
  } else if (scan.skip_if("ci_direct")) {
    column.kind.quantity = SupplyQuantity::carbon_direct;
    is_known = true;
  } else if (scan.skip_if("carbon_")) {
    is_known = takes_carbon(scan, column);
  } else if (scan.skip_if("price_")) {
    is_known = takes_price(scan, column);
  } else if (scan.skip_if("power_cap_")) {
    is_known = takes_power(scan, column);
  }
  if (!is_known || !scan.is_done()) return std::nullopt;
  return column;
}

bool resembles_supply_column(std::string_view name) {
  return name.starts_with("carbon") || name.starts_with("price") || name.starts_with("power");
}

std::string instead_of_supply_column(std::string_view name) {
  if (name.starts_with("price")) {
    return "price_eur_per_kwh or price_eur_per_mwh, or another currency of three letters: the "
           "unit is part of the name";
  }
  if (name.starts_with("power"))
    return "power_cap_w, power_cap_kw or power_cap_mw: the unit is part of the name";
  return "carbon_g_per_kwh, carbon_direct_g_per_kwh, or either with kg or mwh: the unit is part of "
         "the name";
}

}  // namespace weir::formats
