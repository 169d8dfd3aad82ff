// SPDX-License-Identifier: Apache-2.0
#include "formats/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "domain/work.h"

namespace weir::formats {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::size_t kMostDecimals = 9;

// Takes what the time is made of off the front of a text; after the first surprise it has failed.
class TimeScanner {
 public:
  explicit TimeScanner(std::string_view text) : rest_{text} {}

  // Exactly `digits` digits, at most `most`.
  int number(std::size_t digits, int most) {
    const std::string_view taken = rest_.substr(0, digits);
    has_failed_ = has_failed_ || taken.size() < digits;
    int value = 0;
    for (const char c : taken) {
      has_failed_ = has_failed_ || c < '0' || c > '9';
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(taken.size());
    has_failed_ = has_failed_ || value > most;
    return value;
  }

  bool skip_if(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip(char c) { has_failed_ = !skip_if(c) || has_failed_; }
  void skip_either(char upper, char lower) {
    if (!skip_if(upper)) skip(lower);
  }

  // What follows the point, in nanoseconds.
  std::int64_t fraction() {
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    has_failed_ = has_failed_ || digits == 0 || digits > kMostDecimals;
    if (has_failed_) return 0;
    std::int64_t value = 0;
    for (std::size_t i = 0; i < kMostDecimals; ++i) {
      value = value * 10 + (i < digits ? rest_[i] - '0' : 0);
    }
    rest_.remove_prefix(digits);
    return value;
  }

  void fail() { has_failed_ = true; }
  bool is_done() const { return !has_failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool has_failed_ = false;
};

}  // namespace

std::optional<Time> parse_time(std::string_view text) {
  namespace chrono = std::chrono;
  TimeScanner scan{text};
  const int year = scan.number(4, 9999);
  scan.skip('-');
  const int month = scan.number(2, 12);
  scan.skip('-');
  const int day = scan.number(2, 31);
  scan.skip_either('T', 't');
  const int hour = scan.number(2, 23);
  scan.skip(':');
  const int minute = scan.number(2, 59);
  scan.skip(':');
  const int second = scan.number(2, 59);
  const std::int64_t nanoseconds = scan.skip_if('.') ? scan.fraction() : 0;
  std::int64_t offset_minutes = 0;
  const bool is_east = scan.skip_if('+');
  if (is_east || scan.skip_if('-')) {
    const int hours = scan.number(2, 23);
    scan.skip(':');
    offset_minutes = std::int64_t{hours} * 60 + scan.number(2, 59);
    if (!is_east) offset_minutes = -offset_minutes;
  } else {
    scan.skip_either('Z', 'z');
  }
  if (!scan.is_done()) return std::nullopt;
  const chrono::year_month_day date{chrono::year{year}, chrono::month{static_cast<unsigned>(month)},
                                    chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t minutes = (days * 24 + hour) * 60 + minute - offset_minutes;
  // Wide: the first second that can be held begins before the first nanosecond that can.
  const WideInteger count =
      static_cast<WideInteger>(minutes * 60 + second) * kNanosecondsPerSecond + nanoseconds;
  using Limits = std::numeric_limits<std::int64_t>;
  if (count < Limits::min() || count > Limits::max()) return std::nullopt;
  return Time{Duration{static_cast<std::int64_t>(count)}};
}

std::string format_time(Time time) {
  namespace chrono = std::chrono;
  const auto seconds = chrono::floor<chrono::seconds>(time);
  const auto day = chrono::floor<chrono::days>(seconds);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss clock{seconds - day};
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  // Not time - seconds: the second in which time begins need not be a Time.
  std::int64_t nanoseconds = time.time_since_epoch().count() % kNanosecondsPerSecond;
  if (nanoseconds < 0) nanoseconds += kNanosecondsPerSecond;
  if (nanoseconds > 0) {
    const std::string decimals = fmt::format(".{:09}", nanoseconds);
    text.append(decimals, 0, decimals.find_last_not_of('0') + 1);
  }
  return text + "Z";
}

}  // namespace weir::formats
