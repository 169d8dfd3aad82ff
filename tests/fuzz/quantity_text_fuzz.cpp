// SPDX-License-Identifier: Apache-2.0
//
// Quantities, times and name ranges: what parses must print to text that parses to the same value.
#include "formats/name_range.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"
#include "formats/rate_text.h"
#include "formats/time_text.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  using namespace weir::formats;
  const std::string_view text = fuzz::text_of(data, size);
  is_plain_name(text);
  for (const int decimals : {0, 3, 9, 18}) {
    if (const auto value = parse_decimal(text, decimals)) {
      fuzz::check(parse_decimal(format_decimal(*value, decimals), decimals) == value, "decimal");
    }
  }
  if (const auto memory = parse_memory(text)) {
    fuzz::check(parse_memory(format_memory(*memory)) == memory, "memory");
  }
  if (const auto duration = parse_duration(text)) {
    fuzz::check(parse_duration(format_duration(*duration)) == duration, "duration");
  }
  if (const auto time = parse_time(text)) {
    fuzz::check(parse_time(format_time(*time)) == time, "time");
  }
  if (const auto rate = parse_usable_rate(text)) {
    fuzz::check(rate->is_zero == (rate->rate.value == 0), "a usable rate is zero only as written");
  }
  if (const auto range = parse_name_range(text)) {
    fuzz::check(parse_name_range(format_name_range(*range)) == range, "name range");
  }
  if (auto range = range_beginning_with(text)) {
    fuzz::check(range->name(range->first) == text, "a range begins with its name");
    extend(*range, range->name(range->last + 1));
  }
  return 0;
}
