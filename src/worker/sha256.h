// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4), so that a training program needs no library of cryptography to know whether its
// checkpoint is whole. Against damage, not against attackers: nothing here runs in constant time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::worker {

class Sha256 {
 public:
  void add(std::string_view bytes);
  // 64 hexadecimal digits. The last call.
  std::string finish();

 private:
  void add_block(const char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<char, 64> waiting_{};
  std::size_t waiting_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace weir::worker
