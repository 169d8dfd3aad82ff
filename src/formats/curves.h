// SPDX-License-Identifier: Apache-2.0
//
// Throughput curves by path, in any format weir reads: a folder of tables (throughput_table.h) or
// Gavel's JSON (gavel_throughputs.h; .json or .json.gz, or another name when it begins with {).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "domain/curve.h"
#include "domain/result.h"

namespace weir::formats {

// `gpu` chooses among the kinds of GPU in a JSON file, in upper or lower case; it may be left out
// when there is one only. Tables are of one kind, which `gpu` names where it is given: the folder's
// name is only a guess.
Result<CurveBook> read_curves(const std::filesystem::path& path,
                              const std::optional<std::string>& gpu = std::nullopt);

}  // namespace weir::formats
