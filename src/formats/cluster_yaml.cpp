// SPDX-License-Identifier: Apache-2.0
#include "formats/cluster_yaml.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>

#include "domain/shape.h"
#include "formats/file_title.h"
#include "formats/input_ranges.h"
#include "formats/name_range.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"
#include "formats/yaml_document.h"
#include "formats/yaml_quantities.h"

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 2> kClusterFileKeys{"cluster", "nodes"};
constexpr std::array<std::string_view, 8> kNodeKeys{"name",   "count", "pool",  "cpus",
                                                    "memory", "gpus",  "model", "rack"};
class ClusterReader {
 public:
  explicit ClusterReader(const YamlDocument& document) : document_{document} {}

  Result<Cluster> read() {
    cluster_.name = file_title(document_.name());
    const YamlFields top{document_, document_.root(), "file", kClusterFileKeys, mistakes_};
    if (top.is_usable()) {
      read_name(top);
      read_nodes(top);
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(cluster_);
  }

 private:
  void read_name(const YamlFields& top) {
    const auto value = top.find("cluster");
    if (!value) return;
    const YamlFields fields{document_, *value, "cluster", kNamingKeys, mistakes_};
    if (const auto name = fields.get("name", kPlainNameRule, plain_name)) cluster_.name = *name;
  }

  void read_nodes(const YamlFields& top) {
    const auto list = top.find("nodes");
    if (!list || !list->is_list() || list->items().empty()) {
      top.reject(
          "nodes",
          "a list of nodes, such as - {name: n1, cpus: 96, memory: 384GiB, gpus: 8, model: A100}");
      return;
    }
    for (const YamlValue& item : list->items()) {
      if (mistakes_.full()) return;
      const YamlFields fields{document_, item, "node", kNodeKeys, mistakes_};
      if (fields.is_usable()) read_node(fields);
    }
    for (const auto& [rack, line] : line_of_rack_) {
      if (line_of_name_.contains(rack))
        top.note(line, "rack", rack, "another name: a node has this one");
    }
  }

  void read_node(const YamlFields& fields) {
    Node node;
    const auto name = fields.require("name", kNodeNameRule, any_text);
    node.cpu = require_cpus(fields, "cpus");
    node.memory = require_memory(fields, "memory");
    const auto gpus = fields.integer("gpus", 0, kMaxGpusPerNode);
    if (gpus || !fields.has("gpus")) {
      node.gpu_count = static_cast<std::int32_t>(gpus.value_or(0));
      read_model(fields, node);
    }
    read_pool(fields, node);
    if (const auto rack = fields.get("rack", kPlainNameRule, plain_name)) {
      node.rack = *rack;
      line_of_rack_.emplace(node.rack, fields.line());
    }
    if (name) add_nodes(fields, *name, node);
  }

  void read_model(const YamlFields& fields, Node& node) {
    if (node.gpu_count == 0) {
      if (fields.has("model")) fields.reject("model", "no model, because there are no gpus");
      return;
    }
    const auto model = fields.require(
        "model",
        fields.has("model") ? std::string{kModelNameRule}
                            : fmt::format("a GPU model, because gpus is {}", node.gpu_count),
        model_name);
    if (!model) return;
    if (const auto id = cluster_.models.intern(*model)) {
      node.model = *id;
    } else {
      fields.reject("model", fmt::format("at most {} different models", kMaxGpuModels));
    }
  }

  void read_pool(const YamlFields& fields, Node& node) {
    std::string pool{node.model == kNoGpuModel ? kCpuPool : cluster_.models.name(node.model)};
    if (const auto given = fields.get("pool", kPlainNameRule, plain_name)) pool = *given;
    node.pool = cluster_.pool_named(pool);
    if (cluster_.pools.size() > kMostPools) {
      cluster_.pools.pop_back();
      fields.note(fields.line(), "pool", pool,
                  fmt::format("at most {} different pools", kMostPools));
    }
  }

  // One node, or the many that a range or a count stands for.
  void add_nodes(const YamlFields& fields, std::string_view name, Node node) {
    const auto count = fields.integer("count", 1, kMostNodes);
    if (fields.has("count") && !count) return;
    std::optional<NameRange> range;
    if (name.find_first_of("[]") != std::string_view::npos) {
      range = parse_name_range(name);
      if (!range) return fields.reject("name", "a name with one range, such as gpu-[01-16]");
      if (count) return fields.reject("count", "no count, because the name has a range");
    } else if (count) {
      range = NameRange{std::string{name} + "-", 1, *count, 0, ""};
    }
    if (!range) return add_node(fields, std::string{name}, std::move(node));
    if (range->size() > kMostNodes - cluster_.nodes.size()) {
      return fields.reject("name", fmt::format("at most {} nodes in all", kMostNodes));
    }
    const std::size_t mistakes_before = mistakes_.total();
    for (std::int64_t number = range->first; number <= range->last; ++number) {
      add_node(fields, range->name(number), node);
      if (mistakes_.total() > mistakes_before) return;  // the others would say the same
    }
  }

  void add_node(const YamlFields& fields, std::string name, Node node) {
    if (!is_node_name(name)) return fields.reject("name", kNodeNameRule);
    if (cluster_.nodes.size() == kMostNodes) {
      return fields.reject("name", fmt::format("at most {} nodes in all", kMostNodes));
    }
    const auto [at, is_new] = line_of_name_.emplace(name, fields.line());
    if (!is_new) {
      return fields.note(fields.line(), "name", name,
                         fmt::format("another name: line {} has this one", at->second));
    }
    node.id = NodeId{cluster_.nodes.size() + 1};
    node.name = std::move(name);
    cluster_.nodes.push_back(std::move(node));
  }

  const YamlDocument& document_;
  Diagnostics mistakes_;
  Cluster cluster_;
  std::unordered_map<std::string, std::uint64_t> line_of_name_;
  std::map<std::string, std::uint64_t> line_of_rack_;
};

bool differ_only_in_name(const Node& a, Node b) {
  b.id = a.id;
  b.name = a.name;
  return a == b;
}

void write_node(std::ostream& out, const Cluster& cluster, const Node& node,
                const std::string& name) {
  out << "  - {name: " << yaml_scalar(name) << ", cpus: " << format_cpus(node.cpu)
      << ", memory: " << format_memory(node.memory);
  const std::string_view model =
      node.gpu_count > 0 ? std::string_view{cluster.models.name(node.model)} : "";
  if (node.gpu_count > 0) out << ", gpus: " << node.gpu_count << ", model: " << yaml_scalar(model);
  const std::string& pool = cluster.pools[node.pool.value].name;
  if (pool != (node.gpu_count > 0 ? model : kCpuPool)) out << ", pool: " << yaml_scalar(pool);
  if (!node.rack.empty()) out << ", rack: " << yaml_scalar(node.rack);
  out << "}\n";
}

}  // namespace

Result<Cluster> read_cluster_yaml(InputFile input) {
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  return ClusterReader{*document}.read();
}

Result<Cluster> read_cluster_yaml(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_cluster_yaml(std::move(*input));
}

void write_cluster_yaml(std::ostream& out, const Cluster& cluster) {
  if (!cluster.name.empty()) out << "cluster: {name: " << yaml_scalar(cluster.name) << "}\n";
  out << "nodes:\n";
  for (std::size_t i = 0; i < cluster.nodes.size();) {
    const Node& node = cluster.nodes[i];
    auto range = range_beginning_with(node.name);
    ++i;
    while (range && i < cluster.nodes.size() && differ_only_in_name(node, cluster.nodes[i]) &&
           extend(*range, cluster.nodes[i].name)) {
      ++i;
    }
    write_node(out, cluster, node,
               range && range->size() > 1 ? format_name_range(*range) : node.name);
  }
}

}  // namespace weir::formats
