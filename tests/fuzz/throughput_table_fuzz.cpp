// SPDX-License-Identifier: Apache-2.0
//
// CSV and one throughput table: every curve that comes out can be scheduled with.
#include "formats/throughput_table.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("bert.csv", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto book = formats::read_throughput_table(std::move(*input));
  fuzz::check_refusal(book);
  if (!book) return 0;
  fuzz::check(!book->curves.empty(), "a table has a row");
  for (const auto& [key, curve] : book->curves) {
    fuzz::check(key.model == "bert" && key.global_batch > 0, "a row has a batch");
    fuzz::check(!curve.empty(), "a row has a rate at a power of two");
  }
  return 0;
}
