// SPDX-License-Identifier: Apache-2.0
//
// What if, on the day in a log: played from its beginning on a modelled engine, with the speeds that
// jobs really had, as it was and as it would have been. Models that the log does not know are planned for `gpus`; what
// was taken for granted is noted.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "control/what_if.h"
#include "domain/result.h"
#include "predict/transformer/gpu_catalogue.h"

namespace weir::cli {

Result<control::WhatIfAnswer> what_if_in_log(const std::filesystem::path& log,
                                             const control::WhatIfQuestion& question,
                                             const predict::GpuCatalogue& gpus,
                                             std::set<std::string>& notes);

}  // namespace weir::cli
