// SPDX-License-Identifier: Apache-2.0
//
// A copy of the store as it is at one moment, made while the store is in use.
#pragma once

#include <filesystem>
#include <string_view>

#include "control/store.h"

namespace weir::control {

// The setting that tells a store from its copies.
inline constexpr std::string_view kStoreId = "store_id";

// Refuses an existing file; a copy that could not be finished is removed.
Result<void> back_up(const StoreOptions& options, const std::filesystem::path& to,
                     std::string_view id_of_copy);

}  // namespace weir::control
