// SPDX-License-Identifier: Apache-2.0
//
// Options from a YAML file: a map `option: value`, where a list is a YAML list or text with commas.
//
//   nodes: traces/nodes.csv
//   policy: [fgd, best-fit]
//   seeds: 42..51
//
// Names of files in it are relative to the current folder, as on the command line.
#pragma once

#include <filesystem>
#include <vector>

#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

// What the file says, unchecked: read_options knows which options there are.
Result<std::vector<GivenOption>> read_config_file(const std::filesystem::path& path);

}  // namespace weir::cli
