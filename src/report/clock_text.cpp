// SPDX-License-Identifier: Apache-2.0
#include "report/clock_text.h"

#include "formats/quantity_text.h"
#include "formats/time_text.h"

namespace weir::report {
namespace {

using namespace std::chrono_literals;

constexpr Time kFirstDate = Time{} + std::chrono::hours{30 * 365 * 24};  // late in 1999

Duration rounded(Duration length, Duration unit) {
  return (length + unit / 2) / unit * unit;
}

}  // namespace

std::string clock_text(Time time) {
  const Time second = Time{rounded(time.time_since_epoch(), 1s)};
  if (second >= kFirstDate) return formats::format_time(second);
  return second < Time{} ? "-" + formats::format_duration(-second.time_since_epoch())
                         : formats::format_duration(second.time_since_epoch());
}

std::string length_text(Duration length) {
  if (length < Duration{0}) length = -length;
  const Duration unit = length >= 24h ? Duration{1h} : length >= 1h ? Duration{1min} : Duration{1s};
  return formats::format_duration(rounded(length, unit));
}

}  // namespace weir::report
