// SPDX-License-Identifier: Apache-2.0
#include "formats/inputs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "formats/cluster_yaml.h"
#include "formats/file_title.h"
#include "formats/openb.h"
#include "formats/workload_yaml.h"

namespace weir::formats {
namespace {

// The first line that says something: neither blank nor a YAML comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start != std::string_view::npos && line[start] != '#') return line;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return text;
}

Result<bool> is_csv(InputFile& input) {
  if (is_csv_name(input.name())) return true;
  if (is_yaml_name(input.name())) return false;
  const auto head = input.peek();
  if (!head) return tl::unexpected(head.error());
  const std::string_view line = first_line(*head);
  return line.find(',') != std::string_view::npos && line.find(':') == std::string_view::npos;
}

}  // namespace

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
