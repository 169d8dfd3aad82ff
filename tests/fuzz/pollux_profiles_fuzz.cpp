// SPDX-License-Identifier: Apache-2.0
//
// Step times behind Pollux: the table of placements, then that of sizes, parted by a NUL byte.
#include <algorithm>

#include "formats/pollux_profiles.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  std::string_view text = fuzz::text_of(data, size);
  const std::string_view first = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(first.size() + 1, text.size()));
  auto placements = formats::InputFile::from_memory("placements.csv", first);
  auto sizes = formats::InputFile::from_memory("scalability.csv", text);
  if (!placements || !sizes) return 0;
  formats::PolluxProfile profile;
  const auto one = formats::read_placements(std::move(*placements), profile);
  const auto two = formats::read_scalability(std::move(*sizes), profile);
  fuzz::check_refusal(one);
  fuzz::check_refusal(two);
  if (one && two) profile.curve_at(128);
  return 0;
}
