// SPDX-License-Identifier: Apache-2.0
//
// `weir serve --energy FILE`: what energy costs here and what is wanted of it. At the start, and again
// on SIGHUP.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "cli/console.h"
#include "control/controller.h"
#include "control/supply_feed.h"
#include "domain/options.h"
#include "domain/result.h"
#include "formats/energy_yaml.h"

namespace weir::cli {

// The file's; nothing when the option is not given. A budget, a price or a cap needs a policy that
// minds them.
Result<std::optional<formats::EnergyFile>> read_energy_file(const OptionValues& options,
                                                            const Cluster& cluster,
                                                            std::string_view policy);

class ServedEnergy {
 public:
  // Requires: the controller outlives it.
  explicit ServedEnergy(control::Controller& controller) : controller_{controller} {}

  // Reads the supply, then waits until what is wanted is durable. When anything is wrong, all stays as
  // it was. Nothing: nobody asks about energy.
  Result<void> adopt(const std::optional<formats::EnergyFile>& file, const std::string& name,
                     Console& console);

 private:
  Result<void> tell(std::optional<control::EnergyWish> wish);

  control::Controller& controller_;
  std::unique_ptr<control::SupplyFeed> feed_;
};

// Reads the file again. When anything is wrong, it is told and all stays as it is.
void reload_energy(const OptionValues& options, control::Controller& controller,
                   ServedEnergy& served, Console& console);

}  // namespace weir::cli
