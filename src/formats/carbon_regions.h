// SPDX-License-Identifier: Apache-2.0
//
// Regions of the grid by name. The public data set (data_dir.h) has carbon/intensity/ with
// <region>_<years>.csv.gz, what was, and for some <region>_forecast<...>.csv.gz; supply_csv.h reads
// both.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/result.h"

namespace weir::formats {

struct CarbonRegion {
  std::string name{};  // "ciso"
  std::filesystem::path series{};
  std::optional<std::filesystem::path> forecast{};
};

// All regions of the folder, by name. Bad input without such a folder or a region in it. `field` is
// the option that asks, for the message.
Result<std::vector<CarbonRegion>> carbon_regions(const std::string& field);
Result<std::vector<CarbonRegion>> carbon_regions_in(const std::filesystem::path& folder,
                                                    const std::string& field);

// Those named, in that order; capitals are as good. An unknown name is a mistake that lists the known
// ones, and so is one given twice.
Result<std::vector<CarbonRegion>> choose_regions(const std::vector<CarbonRegion>& known,
                                                 const std::vector<std::string>& names,
                                                 const std::string& field);

}  // namespace weir::formats
