// SPDX-License-Identifier: Apache-2.0
//
// What if, on the day in a log: played from its beginning on a modelled engine, with the speeds that
// jobs really had, as it was and as it would have been.
#pragma once

#include <filesystem>

#include "control/what_if.h"
#include "domain/result.h"

namespace weir::cli {

Result<control::WhatIfAnswer> what_if_in_log(const std::filesystem::path& log,
                                             const control::WhatIfQuestion& question);

}  // namespace weir::cli
