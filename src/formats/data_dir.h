// SPDX-License-Identifier: Apache-2.0
//
// Where the public data sets are. They are not part of this repository (DESIGN section 7): the
// environment variable WEIR_DATA names their folder; without it, weir looks for ../shared/data
// beside `start` and beside each folder above it, so that it is found from anywhere inside a
// checkout.
#pragma once

#include <filesystem>
#include <optional>

namespace weir::formats {

// Nothing when there is no such folder. WEIR_DATA, when set and not empty, is the only place tried.
std::optional<std::filesystem::path> data_dir(std::filesystem::path start = {});

}  // namespace weir::formats
