// SPDX-License-Identifier: Apache-2.0
//
// From a folder of measured tables to a fitted model and how far it is off. `weir kernels` and the program that fits the
// model inside weir while weir is built are the same in this.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "domain/kernel_call.h"
#include "domain/kernel_model.h"
#include "domain/measured_iteration.h"
#include "domain/result.h"
#include "predict/kernels/check_kernels.h"

namespace weir::cli {

struct TableFolder {
  std::string path{};
  std::string prefix{};  // of the names of its files
};

// The files that a fit may read, plain and gzip, whether they are there or not.
std::vector<std::filesystem::path> files_of(const TableFolder& folder);

// Samples of a table, which must outlive this.
struct DeviceTable {
  DeviceSpec device{};
  std::vector<const KernelSample*> fitting{};
  std::vector<const KernelSample*> held_out{};
};
DeviceTable device_table(const DeviceSpec& device, const KernelTable& table);

// A GPU that weir knows, or else as the about.json of the folder describes it (tools/collect writes it), with the rates that
// its kernels reached. An error tells every mistake of about.json; of a GPU that weir knows, only the text must be JSON.
Result<DeviceSpec> device_of_table(const TableFolder& folder, const KernelTable& table);

// As the folder's about.json names it.
Result<std::string> described_device(const TableFolder& folder);

// None when the folder has no iterations.csv.
Result<std::vector<MeasuredIteration>> read_iterations(const TableFolder& folder);

struct FittedDevice {
  KernelModel model{};
  std::map<std::string, predict::CheckedFigures> figures{};  // of what was held out
};
// The versions come from the folder's about.json, where there is one.
FittedDevice fit_device(const DeviceTable& table, const std::vector<MeasuredIteration>& iterations,
                        const predict::KernelFitOptions& how, const TableFolder& folder);

}  // namespace weir::cli
