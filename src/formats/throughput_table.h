// SPDX-License-Identifier: Apache-2.0
//
// Measured throughput of training jobs: a folder with one table per model, `bert.csv` or
// `bert.csv.gz`, as ElasticFlow publishes them.
//
//   global_batch_size,1,2,4,8
//   64,6.0306,8.6434,10.3562,11.0601
//   128,3.5749,5.6794,8.4509,
//
// The first line has the GPU counts, each row one global batch; a cell is iterations per second of
// the whole job. An empty cell, `nan` and `0` all mean "not measured, or not possible" and leave
// the point out. A row needs at least one rate at a power of two, the sizes a scheduler gives.
// Rates are rounded down to micro-iterations per second (rate_text.h). A table that was planned and not measured, as
// `weir plan --curve --out` writes it, says so in a line before the first: kPlannedLine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include "domain/curve.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

inline constexpr std::string_view kPlannedLine = "# planned";

// Iterations per second with every digit of the table, where a result must be compared with a
// program that computes with them. Ascending in GPUs.
struct ExactRate {
  std::int32_t gpus = 0;
  double rate = 0;
  friend bool operator==(const ExactRate&, const ExactRate&) = default;
};
using ExactRates = std::map<CurveKey, std::vector<ExactRate>>;

// All tables of the folder; the model is the file's name. Other files, and those whose name starts
// with a dot, are ignored. The GPU is what stands after the last underscore of the folder's name:
// throughput_t4 is for the T4; without an underscore it is not known.
Result<CurveBook> read_throughput_tables(const std::filesystem::path& directory);

Result<ExactRates> read_exact_rates(const std::filesystem::path& directory);

// One table. The GPU is not known.
Result<CurveBook> read_throughput_table(InputFile input);

}  // namespace weir::formats
