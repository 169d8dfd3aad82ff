// SPDX-License-Identifier: Apache-2.0
//
// A profile of operators. The input is the three tables one after the other, parted by a NUL byte;
// every profile that comes out is complete.
#include <algorithm>
#include <cmath>

#include "formats/op_profile_csv.h"
#include "round_trip_check.h"

namespace {

// What is before the next NUL byte, which is taken off.
std::string_view next_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  std::string_view text = fuzz::text_of(data, size);
  auto ops = formats::InputFile::from_memory("ops.csv", next_part(text));
  auto links = formats::InputFile::from_memory("p2p.csv", next_part(text));
  auto collectives = formats::InputFile::from_memory("collectives.csv", text);
  if (!ops || !links || !collectives) return 0;
  const auto profile = formats::read_op_profile(
      {std::move(*ops), std::move(*collectives), std::move(*links)}, {"lab", "gpt", "1B"});
  fuzz::check_refusal(profile);
  if (!profile) return 0;
  fuzz::check(!profile->ops.empty() && !profile->tables.empty(), "there is an operator");
  for (const auto& [variant, table] : profile->tables) {
    fuzz::check(table.size() == profile->ops.size(), "a table has every operator");
    for (const OpMeasure& op : table)
      fuzz::check(std::isfinite(op.forward_us) && op.forward_us >= 0, "a time is a number");
  }
  fuzz::check(!profile->inside_node.empty(), "there is a link");
  return 0;
}
