// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/base64.h"

#include <cstdint>

namespace weir::engine::kubernetes {
namespace {

// 0..63, or -1.
int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> base64_decoded(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int characters = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int value = value_of(c);
    if (value < 0 || padding > 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (++characters % 4 == 0) {
      bytes += static_cast<char>(bits >> 16 & 0xFF);
      bytes += static_cast<char>(bits >> 8 & 0xFF);
      bytes += static_cast<char>(bits & 0xFF);
    }
  }
  const int rest = characters % 4;
  if (rest == 1 || (characters + padding) % 4 != 0 || padding > 2) return std::nullopt;
  if (rest == 2) bytes += static_cast<char>(bits >> 4 & 0xFF);
  if (rest == 3) {
    bytes += static_cast<char>(bits >> 10 & 0xFF);
    bytes += static_cast<char>(bits >> 2 & 0xFF);
  }
  return bytes;
}

}  // namespace weir::engine::kubernetes
