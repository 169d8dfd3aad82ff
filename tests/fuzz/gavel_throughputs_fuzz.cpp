// SPDX-License-Identifier: Apache-2.0
//
// JSON and Gavel's throughputs: every curve that comes out can be scheduled with.
#include "formats/gavel_throughputs.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.json", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto books = formats::read_gavel_throughputs(std::move(*input));
  fuzz::check_refusal(books);
  if (!books) return 0;
  fuzz::check(!books->empty(), "there is a kind of worker");
  for (const CurveBook& book : *books) {
    fuzz::check(!book.gpu.empty() && !book.curves.empty(), "a kind has a name and a curve");
    for (const auto& [key, curve] : book.curves) fuzz::check(!curve.empty(), "a curve has a rate");
  }
  return 0;
}
