// SPDX-License-Identifier: Apache-2.0
//
// Quantities as people write them: "2.5" cores, "384GiB", "2h30m". Parsing is exact: text becomes
// an integer count of the small unit or is refused, never rounded. What format_* writes, parse_*
// reads back to the same value. No locale: the decimal sign is always a point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/time.h"
#include "domain/units.h"

namespace weir::formats {

// A whole number without sign or spaces; nothing when it is no number or above int64.
std::optional<std::int64_t> parse_count(std::string_view text);

// The same, with a minus before it or without.
std::optional<std::int64_t> parse_integer(std::string_view text);

// "2.5" with 3 decimals is 2500; nothing when more decimals than that would be needed, on overflow,
// and for signs and exponents. Requires: 0 <= decimals <= 18.
std::optional<std::int64_t> parse_decimal(std::string_view text, int decimals);
// The shortest text for it: 2500 with 3 decimals is "2.5", 2000 is "2". Requires: scaled >= 0.
std::string format_decimal(std::int64_t scaled, int decimals);

// "96" or "0.5" cores.
std::optional<MilliCpu> parse_cpus(std::string_view text);
std::string format_cpus(MilliCpu cpus);

// "384GiB", "1.5TiB", "512MiB", "2048KiB": a whole number of MiB.
std::optional<Mebibytes> parse_memory(std::string_view text);
std::string format_memory(Mebibytes memory);

// "2h30m", "90s", "1.5d", "0s": each of d, h, m, s at most once and in this order.
std::optional<Duration> parse_duration(std::string_view text);
// Requires: duration >= 0.
std::string format_duration(Duration duration);

// Seconds without a unit, as traces write them: "12537496" or "12537496.0".
std::optional<Duration> parse_seconds(std::string_view text);
std::string format_seconds(Duration duration);

}  // namespace weir::formats
