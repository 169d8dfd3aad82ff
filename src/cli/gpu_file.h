// SPDX-License-Identifier: Apache-2.0
//
// --gpu-file: types of GPU that weir does not know, beside those it does.
#pragma once

#include <filesystem>
#include <string>

#include "domain/options.h"
#include "domain/result.h"
#include "predict/transformer/gpu_catalogue.h"

namespace weir::cli {

OptionSpec gpu_file_option(std::string help);

struct GpuFile {
  predict::GpuCatalogue catalogue;  // with what weir knows
  std::string first;                // of the file; empty when there is none
};
// Without the option, only what weir knows.
Result<GpuFile> read_gpu_file(const OptionValues& options);
Result<GpuFile> read_gpu_file(const std::filesystem::path& path);

}  // namespace weir::cli
