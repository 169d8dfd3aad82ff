// SPDX-License-Identifier: Apache-2.0
//
// A snapshot of the scheduler's state. The input stands between the version byte and the checksum:
// damage is found by the checksum, this is about what comes after it. What was read can be written,
// and reads back the same.
#include <zlib.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "control/snapshot.h"
#include "formats/cluster_shorthand.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  static const schedule::State kInitial =
      schedule::initial_state_for_training(formats::parse_cluster_shorthand("2x4xA100").value());
  static const std::string kFront = control::write_snapshot(kInitial).substr(0, 9);
  std::string bytes = kFront + std::string{reinterpret_cast<const char*>(data), size};
  auto checksum =
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size()));
  for (int i = 0; i < 4; ++i, checksum >>= 8U) bytes += static_cast<char>(checksum & 0xffU);
  const auto state = control::read_snapshot(bytes, kInitial);
  if (!state) return 0;
  const std::string written = control::write_snapshot(*state);
  const auto again = control::read_snapshot(written, kInitial);
  if (!again || control::write_snapshot(*again) != written) std::abort();
  return 0;
}
