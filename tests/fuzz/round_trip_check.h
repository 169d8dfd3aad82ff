// SPDX-License-Identifier: Apache-2.0
//
// What every fuzz target checks beside "does not crash".
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "domain/result.h"

namespace weir::fuzz {

// Ends the program, so that the fuzzer keeps the input.
inline void check(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", claim);
  std::abort();
}

// A refusal says why: at least one mistake, each with what to write instead.
template <class T>
void check_refusal(const Result<T>& result) {
  if (result) return;
  check(!result.error().details.empty(), "an error has a diagnostic");
  for (const Diagnostic& diagnostic : result.error().details.list()) {
    check(!diagnostic.expected.empty(), "a diagnostic says what is expected");
    check(!diagnostic.file.empty(), "a diagnostic names the file");
  }
  to_string(result.error().details);
}

inline std::string_view text_of(const unsigned char* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace weir::fuzz
