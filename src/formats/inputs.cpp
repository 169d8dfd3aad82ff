// SPDX-License-Identifier: Apache-2.0
#include "formats/inputs.h"

#include <utility>

#include "formats/cluster_yaml.h"
#include "formats/input_kind.h"
#include "formats/openb.h"
#include "formats/workload_yaml.h"

namespace weir::formats {

Result<Cluster> read_cluster(InputFile input) {
  const auto csv = is_csv(input);
  if (!csv) return tl::unexpected(csv.error());
  return *csv ? read_openb_nodes(std::move(input)) : read_cluster_yaml(std::move(input));
}

Result<Cluster> read_cluster(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_cluster(std::move(*input));
}

Result<Workload> read_workload(InputFile input, const Cluster& cluster) {
  const auto csv = is_csv(input);
  if (!csv) return tl::unexpected(csv.error());
  return *csv ? read_openb_tasks(std::move(input), cluster)
              : read_workload_yaml(std::move(input), cluster);
}

Result<Workload> read_workload(const std::filesystem::path& path, const Cluster& cluster) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_workload(std::move(*input), cluster);
}

}  // namespace weir::formats
