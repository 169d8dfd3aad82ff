// SPDX-License-Identifier: Apache-2.0
//
// Points in time as RFC 3339 writes them: "2026-11-15T09:00:00Z", "2026-11-15T10:00:00.5+01:00".
// Exact to the nanosecond, or refused. What format_time writes, parse_time reads back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/time.h"

namespace weir::formats {

// The offset is required: a time without one means another instant in each place. Nothing for days
// that do not exist, more than nine decimals, leap seconds (our clock has none) and times that
// nanoseconds in 64 bits cannot hold (before 1677 or after 2262).
std::optional<Time> parse_time(std::string_view text);

// In UTC, with as many decimals as it needs.
std::string format_time(Time time);

}  // namespace weir::formats
