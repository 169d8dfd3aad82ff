// SPDX-License-Identifier: Apache-2.0
//
// Plain and gzip input: never more bytes than the limit, and the same bytes in small and large
// reads.
#include <array>

#include "formats/input_file.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  constexpr std::uint64_t kLimit = 1 << 16;
  const std::string_view bytes = fuzz::text_of(data, size);
  auto whole = formats::InputFile::from_memory("fuzz", bytes, kLimit);
  auto pieces = formats::InputFile::from_memory("fuzz", bytes, kLimit);
  if (!whole || !pieces) return 0;
  const auto all = whole->read_all();
  fuzz::check_refusal(all);
  if (!all) return 0;
  fuzz::check(all->size() <= kLimit, "the limit holds");
  const auto head = pieces->peek();
  fuzz::check(head.has_value() && std::string_view{*all}.starts_with(*head),
              "a peek is the beginning");
  std::string joined;
  std::array<char, 7> piece{};
  while (true) {
    const auto got = pieces->read(piece);
    fuzz::check(got.has_value(), "pieces can be read when the whole can");
    if (*got == 0) break;
    joined.append(piece.data(), *got);
  }
  fuzz::check(joined == *all, "pieces make the whole");
  return 0;
}
