// SPDX-License-Identifier: Apache-2.0
//
// The inputs a user may give by path, in any format weir reads: weir's own YAML (.yaml, .yml) or
// the openb lists (.csv), each also with .gz; other names are judged by content (input_kind.h).
#pragma once

#include <filesystem>

#include "domain/cluster.h"
#include "domain/result.h"
#include "domain/workload.h"
#include "formats/input_file.h"

namespace weir::formats {

Result<Cluster> read_cluster(const std::filesystem::path& path);
Result<Cluster> read_cluster(InputFile input);

Result<Workload> read_workload(const std::filesystem::path& path, const Cluster& cluster);
Result<Workload> read_workload(InputFile input, const Cluster& cluster);

}  // namespace weir::formats
