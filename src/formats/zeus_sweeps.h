// SPDX-License-Identifier: Apache-2.0
//
// Sweeps over power limits as the Zeus project publishes them (ml-energy/zeus, trace of the NSDI 2023
// paper): one row per job and limit, columns in any order.
//
//   dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power
//   cifar100,shufflenetv2,1024,adadelta,100,27.13,106.88
//   cifar100,shufflenetv2,1024,adadelta,125,16.85,118.98
//
// Watts and seconds of one GPU. Which GPU stands in the file's name after the last underscore:
// zeus_power_v100.csv is of the V100; without an underscore it is not known.
#pragma once

#include <filesystem>

#include "domain/power_sweep.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

// Bad input when a row is wrong, when a job has a limit twice, and when there is no row.
Result<PowerSweeps> read_zeus_sweeps(const std::filesystem::path& path);
Result<PowerSweeps> read_zeus_sweeps(InputFile input);

}  // namespace weir::formats
