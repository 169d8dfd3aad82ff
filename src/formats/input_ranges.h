// SPDX-License-Identifier: Apache-2.0
//
// The largest values a reader accepts. They lie far above real clusters and low enough that no sum
// over a file overflows 64 bits: 2 GiB of input hold fewer than 2e8 rows, and 2e8 times each limit
// below fits. Everything behind the readers may rely on this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "domain/units.h"
#include "domain/work.h"

namespace weir::formats {

inline constexpr MilliCpu kMostCpu{1'000'000'000};                         // a million cores
inline constexpr Mebibytes kMostMemory{std::int64_t{1} << 34};             // 16 PiB
inline constexpr std::int64_t kMostSeconds = std::int64_t{36525} * 86400;  // a century
inline constexpr std::int32_t kMostReplicas = 10'000;

// Of training jobs and their throughput. Rates are the exception to the rule above: nobody adds the
// rates of a file.
inline constexpr std::int32_t kMostGpusPerJob = 65'536;
inline constexpr std::int64_t kMostGlobalBatch = 1'000'000'000;
inline constexpr std::int64_t kMostIterations = 10'000'000'000;
inline constexpr std::uint64_t kMaxTableBytes = std::uint64_t{16} << 20;  // of one model
inline constexpr IterationRate kMostRate{1'000'000'000'000};  // a million iterations per second

// Of training plans and of the operators they are made from.
inline constexpr double kMostMebibytes = 1e9;

// Of a YAML file, where one line can stand for many nodes or jobs.
inline constexpr std::size_t kMostNodes = 1'000'000;
inline constexpr std::size_t kMostJobs = 1'000'000;
inline constexpr std::size_t kMostPools = 1'000;

}  // namespace weir::formats
