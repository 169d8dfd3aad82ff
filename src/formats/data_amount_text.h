// SPDX-License-Identifier: Apache-2.0
//
// Amounts of data and their speeds as people write them.
//
//   256MB, 1.5GB        powers of 1000
//   256MiB, 256M        powers of 1024; the short form as NCCL's tests take it
//   100Gbps, 100Gb/s    bits per second
//   450GB/s             bytes per second
#pragma once

#include <optional>
#include <string_view>

#include "domain/fabric_spec.h"

namespace weir::formats {

inline constexpr std::string_view kDataSizeRule =
    "an amount of data from 1B to 1000TB, such as 256MB or 256MiB";
inline constexpr std::string_view kDataRateRule =
    "a speed from 1Mbps to 100000Gbps, such as 100Gbps or 50GB/s";

// Bytes. Nothing when the rule is broken.
std::optional<double> parse_data_size(std::string_view text);
std::optional<BytesPerSecond> parse_data_rate(std::string_view text);

}  // namespace weir::formats
