// SPDX-License-Identifier: Apache-2.0
#include "formats/data_amount_text.h"

#include <array>
#include <utility>

#include "formats/quantity_text.h"

namespace weir::formats {
namespace {

constexpr int kAmountDecimals = 6;
constexpr double kSlowestData = 1e6 / 8;
constexpr double kFastestData = 1e14 / 8;
constexpr double kMostDataBytes = 1e15;

using AmountUnit = std::pair<std::string_view, double>;

constexpr std::array<AmountUnit, 13> kSizeUnits{{{"KiB", 1024.0},
                                                 {"MiB", 1048576.0},
                                                 {"GiB", 1073741824.0},
                                                 {"TiB", 1099511627776.0},
                                                 {"KB", 1e3},
                                                 {"MB", 1e6},
                                                 {"GB", 1e9},
                                                 {"TB", 1e12},
                                                 {"K", 1024.0},
                                                 {"M", 1048576.0},
                                                 {"G", 1073741824.0},
                                                 {"T", 1099511627776.0},
                                                 {"B", 1}}};
constexpr std::array<AmountUnit, 9> kRateUnits{{{"Mbps", 1e6 / 8},
                                                {"Gbps", 1e9 / 8},
                                                {"Tbps", 1e12 / 8},
                                                {"Mb/s", 1e6 / 8},
                                                {"Gb/s", 1e9 / 8},
                                                {"Tb/s", 1e12 / 8},
                                                {"MB/s", 1e6},
                                                {"GB/s", 1e9},
                                                {"TB/s", 1e12}}};

template <std::size_t N>
std::optional<double> parse_amount(std::string_view text, const std::array<AmountUnit, N>& units) {
  for (const auto& [name, factor] : units) {
    if (!text.ends_with(name)) continue;
    const auto scaled = parse_decimal(text.substr(0, text.size() - name.size()), kAmountDecimals);
    if (!scaled) return std::nullopt;
    return static_cast<double>(*scaled) / 1e6 * factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_data_size(std::string_view text) {
  const auto size = parse_amount(text, kSizeUnits);
  return size && *size >= 1 && *size <= kMostDataBytes ? size : std::nullopt;
}

std::optional<BytesPerSecond> parse_data_rate(std::string_view text) {
  const auto rate = parse_amount(text, kRateUnits);
  if (!rate || *rate < kSlowestData || *rate > kFastestData) return std::nullopt;
  return BytesPerSecond{*rate};
}

}  // namespace weir::formats
