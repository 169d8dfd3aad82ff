// SPDX-License-Identifier: Apache-2.0
#include "formats/reserve_text.h"

#include "formats/quantity_text.h"

namespace weir::formats {

std::optional<Reserve> parse_reserve(std::string_view text) {
  constexpr std::int64_t kMostGpus = 1'000'000;
  constexpr std::int64_t kMostPermille = 900;
  if (text.ends_with('%')) {
    const auto permille = parse_decimal(text.substr(0, text.size() - 1), 1);
    if (!permille || *permille > kMostPermille) return std::nullopt;
    return Reserve{0, static_cast<std::int32_t>(*permille)};
  }
  const auto gpus = parse_count(text);
  if (!gpus || *gpus > kMostGpus) return std::nullopt;
  return Reserve{static_cast<std::int32_t>(*gpus), 0};
}

}  // namespace weir::formats
