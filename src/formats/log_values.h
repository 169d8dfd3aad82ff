// SPDX-License-Identifier: Apache-2.0
//
// Values of a log that are no values of the domain.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/time.h"
#include "domain/work.h"

namespace weir::formats::log {

// A duration that people read: "90.5".
struct Seconds {
  Duration value{0};
};
std::string to_text(Seconds seconds);
// Not below zero, and below 64 bits of nanoseconds.
std::optional<Seconds> seconds_of(std::string_view number);

// "3249000000000000000", with all of its 128 bits.
std::optional<WideInteger> wide_integer_of(std::string_view text);

// Any JSON value, to be read later. Lives as long as the line.
struct RawJson {
  std::string_view text;
};

// The version of the log's format; only the present one is read.
struct SchemaNumber {};

}  // namespace weir::formats::log
