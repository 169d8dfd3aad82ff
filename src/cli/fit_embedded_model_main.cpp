// SPDX-License-Identifier: Apache-2.0
//
// Runs while weir is built: fits the model that is inside weir to the tables in docs/measurements, as `weir kernels fit`
// does. So the model always is what the tables give.
//   fit_embedded_model FOLDER PREFIX OUT
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "cli/fitted_device.h"
#include "formats/kernel_model_json.h"
#include "formats/kernel_tables_csv.h"
#include "predict/kernels/device_specs.h"

namespace {

using namespace weir;

Result<std::string> fitted_json(const cli::TableFolder& folder) {
  const auto tables = formats::read_kernel_tables(folder.path, folder.prefix);
  if (!tables) return tl::unexpected(tables.error());
  const auto iterations = cli::read_iterations(folder);
  if (!iterations) return tl::unexpected(iterations.error());
  const KernelTable& table = tables->front();
  const auto device = predict::find_device(table.device);
  if (!device)
    return bad_input(Diagnostic{folder.path, 0, "device", table.device, "a GPU that weir knows"});
  return formats::kernel_model_json(
      cli::fit_device(cli::device_table(*device, table), *iterations, {}, folder).model);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    fmt::print(stderr, "usage: fit_embedded_model FOLDER PREFIX OUT\n");
    return 2;
  }
  const auto json = fitted_json({words[1], words[2]});
  if (!json) {
    fmt::print(stderr, "{}\n", to_string(json.error().details));
    return 1;
  }
  std::ofstream out{words[3], std::ios::binary};
  out << *json << "\n";
  return out.flush() ? 0 : 1;
}
