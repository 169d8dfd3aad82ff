// SPDX-License-Identifier: Apache-2.0
#include "formats/tenants_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/job_document.h"
#include "formats/job_fields.h"
#include "formats/job_tree.h"
#include "formats/json_string.h"
#include "formats/quantity_text.h"
#include "formats/yaml_document.h"

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 3> kTenantFileKeys{"half_life", "lease", "tenants"};
constexpr std::array<std::string_view, 5> kTenantKeys{"name", "guaranteed", "maximum", "weight",
                                                      "tenants"};
constexpr std::string_view kListRule =
    "a list of tenants, such as - {name: research, guaranteed: 16}; [] for none";
constexpr std::string_view kTimeSpanRule = "a duration from 1s to 366d, such as 24h";
constexpr int kMostLevels = 16;
constexpr int kMaxDepth = 2 + 2 * kMostLevels;  // a list and a map each; GPUs by pool in the last
constexpr std::int64_t kMostTenantGpus = 1'000'000'000;
constexpr std::int64_t kLargestWeight = 1'000'000;

std::optional<Duration> parse_time_span(std::string_view text) {
  const auto duration = parse_duration(text);
  const bool is_usable =
      duration && *duration >= from_seconds(1) && *duration <= std::chrono::hours{24 * 366};
  return is_usable ? duration : std::nullopt;
}

// GPUs by pool as they are written, each with its place.
struct GivenGpus {
  std::int64_t gpus = 0;
  const JobNode* node = nullptr;
};
using GpusByPool = std::map<PoolIndex, GivenGpus>;

class TenantsReader {
 public:
  TenantsReader(const JobTree& tree, const Cluster& cluster) : tree_{tree}, cluster_{cluster} {
    for (const weir::Node& node : cluster.nodes) {
      if (node.gpu_count > 0) gpus_[node.pool] += node.gpu_count;
    }
    left_on_top_ = gpus_;
  }

  Result<TenantTable> read() {
    const JobFields top{tree_, tree_.root(), kTenantFileKeys, mistakes_, "file"};
    if (top.is_usable()) {
      table_.half_life = top.get("half_life", JobTree::is_text, kTimeSpanRule, parse_time_span)
                             .value_or(table_.half_life);
      table_.lease =
          top.get("lease", JobTree::is_text, kTimeSpanRule, parse_time_span).value_or(table_.lease);
      if (!top.has("tenants")) top.reject("tenants", kListRule);
      read_list(top, kNoParent);
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(table_);
  }

 private:
  void read_list(const JobFields& fields, std::int32_t parent) {
    const JobNode* const list = fields.find("tenants");
    if (list == nullptr) return;
    if (list->kind != JobTree::Kind::list) return fields.reject("tenants", kListRule);
    for (const JobNode* item : tree_.children(*list)) {
      if (mistakes_.full()) return;
      if (table_.tenants.size() == kMostTenants) {
        return fields.note(*item, "tenants", "more", fmt::format("at most {}", kMostTenants));
      }
      const JobFields tenant{tree_, *item, kTenantKeys, mistakes_, "tenant"};
      if (tenant.is_usable()) read_tenant(tenant, *item, parent);
    }
  }

  void read_tenant(const JobFields& fields, const JobNode& node, std::int32_t parent) {
    Tenant tenant;
    tenant.parent = parent;
    tenant.name = read_name(fields, node);
    tenant.weight = fields.integer("weight", 1, kLargestWeight).value_or(1);
    const auto guaranteed = read_gpus(fields, "guaranteed");
    const auto maximum = read_gpus(fields, "maximum");
    if (guaranteed) check_guarantees(fields, *guaranteed, parent);
    if (guaranteed && maximum) tenant.quotas = quotas_of(fields, *guaranteed, *maximum);
    const auto index = static_cast<std::int32_t>(table_.tenants.size());
    table_.tenants.push_back(std::move(tenant));
    left_.push_back(std::nullopt);
    if (guaranteed) {
      left_.back().emplace();
      for (const auto& [pool, given] : *guaranteed) (*left_.back())[pool] = given.gpus;
    }
    read_list(fields, index);
  }

  std::string read_name(const JobFields& fields, const JobNode& node) {
    const auto parse = [](std::string_view text) -> std::optional<std::string_view> {
      return is_tenant_name(text) ? std::optional{text} : std::nullopt;
    };
    const auto name = fields.get("name", JobTree::is_text, kTenantRule, parse);
    if (!fields.has("name")) fields.reject("name", kTenantRule);
    if (!name) return {};
    const auto [at, is_new] = line_of_name_.emplace(*name, node.line);
    if (!is_new)
      fields.reject("name", fmt::format("another name: line {} has this one", at->second));
    return std::string{*name};
  }

  // Nothing when something is wrong, which is noted.
  std::optional<GpusByPool> read_gpus(const JobFields& fields, std::string_view key) {
    const JobNode* const node = fields.find(key);
    if (node == nullptr) return GpusByPool{};
    if (node->kind == JobTree::Kind::map) return read_gpus_by_pool(fields, key, *node);
    if (gpus_.size() != 1) {
      fields.reject(key, fmt::format("GPUs by pool: {}", pool_names()));
      return std::nullopt;
    }
    const PoolIndex pool = gpus_.begin()->first;
    const auto gpus = fields.integer(key, 0, most(key, pool));
    if (!gpus) return std::nullopt;
    return GpusByPool{{pool, {*gpus, node}}};
  }

  std::optional<GpusByPool> read_gpus_by_pool(const JobFields& fields, std::string_view key,
                                              const JobNode& map) {
    GpusByPool found;
    const std::size_t mistakes_before = mistakes_.total();
    for (const JobNode* node : tree_.children(map)) {
      const auto pool = pool_named(node->key);
      if (!pool) {
        fields.note(*node, std::string{key}, node->key.empty() ? "no name" : shortened(node->key),
                    fmt::format("a pool with GPUs: {}", pool_names()));
        continue;
      }
      const std::string field = fmt::format("{}.{}", key, node->key);
      const auto gpus = JobTree::is_number(*node) ? parse_count(node->text) : std::nullopt;
      if (!gpus || *gpus > most(key, *pool)) {
        fields.note(*node, field, JobTree::describe(*node),
                    fmt::format("an integer from 0 to {}", most(key, *pool)));
      } else if (!found.emplace(*pool, GivenGpus{*gpus, node}).second) {
        fields.note(*node, field, "given twice", "one value");
      }
    }
    if (mistakes_.total() > mistakes_before) return std::nullopt;
    return found;
  }

  // Together the tenants of a group have no more than it has.
  void check_guarantees(const JobFields& fields, const GpusByPool& guaranteed,
                        std::int32_t parent) {
    auto& left = parent == kNoParent ? left_on_top_ : left_[static_cast<std::size_t>(parent)];
    if (!left) return;  // nobody knows what the group has
    for (const auto& [pool, given] : guaranteed) {
      std::int64_t& rest = (*left)[pool];
      if (given.gpus > rest) {
        fields.note(*given.node, "guaranteed", fmt::format("{}", given.gpus),
                    fmt::format("at most {}: {}", rest, what_has_no_more(parent, pool)));
      }
      rest = std::max<std::int64_t>(0, rest - given.gpus);
    }
  }

  std::string what_has_no_more(std::int32_t parent, PoolIndex pool) const {
    const std::string& name = cluster_.pools[pool.value].name;
    if (parent == kNoParent) {
      return fmt::format("pool {} has {} GPUs, and the tenants before have the others", name,
                         gpus_.at(pool));
    }
    const Tenant& group = table_.tenants[static_cast<std::size_t>(parent)];
    return fmt::format("{} is guaranteed {} of pool {}, and its tenants before have the others",
                       group.name, group.quota_in(pool).guaranteed, name);
  }

  static std::vector<TenantQuota> quotas_of(const JobFields& fields, const GpusByPool& guaranteed,
                                            const GpusByPool& maximum) {
    std::map<PoolIndex, TenantQuota> quotas;
    for (const auto& [pool, given] : guaranteed) {
      if (given.gpus == 0) continue;
      quotas[pool] = {pool, static_cast<std::int32_t>(given.gpus), kNoMaximum};
    }
    for (const auto& [pool, given] : maximum) {
      TenantQuota& quota = quotas.try_emplace(pool, TenantQuota{pool, 0, kNoMaximum}).first->second;
      quota.maximum = static_cast<std::int32_t>(given.gpus);
      if (given.gpus < quota.guaranteed) {
        fields.note(*given.node, "maximum", fmt::format("{}", given.gpus),
                    fmt::format("at least the {} that are guaranteed", quota.guaranteed));
      }
    }
    std::vector<TenantQuota> list;
    for (const auto& [pool, quota] : quotas) list.push_back(quota);
    return list;
  }

  std::int64_t most(std::string_view key, PoolIndex pool) const {
    return key == "guaranteed" ? gpus_.at(pool) : kMostTenantGpus;
  }
  std::optional<PoolIndex> pool_named(std::string_view name) const {
    for (const auto& [pool, gpus] : gpus_) {
      if (cluster_.pools[pool.value].name == name) return pool;
    }
    return std::nullopt;
  }
  std::string pool_names() const {
    std::vector<std::string_view> names;
    for (const auto& [pool, gpus] : gpus_) names.push_back(cluster_.pools[pool.value].name);
    return names.empty() ? "there is none" : fmt::format("{}", fmt::join(names, ", "));
  }

  const JobTree& tree_;
  const Cluster& cluster_;
  Diagnostics mistakes_;
  TenantTable table_;
  std::map<PoolIndex, std::int64_t> gpus_;  // of pools that have some
  // What a group can still guarantee; nothing when that is not known. By tenant.
  std::vector<std::optional<std::map<PoolIndex, std::int64_t>>> left_;
  std::optional<std::map<PoolIndex, std::int64_t>> left_on_top_;
  std::unordered_map<std::string_view, std::uint64_t> line_of_name_;
};

nlohmann::ordered_json json_of(const Tenant& tenant, const Cluster& cluster) {
  nlohmann::ordered_json json{{"name", tenant.name}};
  for (const TenantQuota& quota : tenant.quotas) {
    const std::string& pool = cluster.pools[quota.pool.value].name;
    if (quota.guaranteed != 0) json["guaranteed"][pool] = quota.guaranteed;
    if (quota.maximum != kNoMaximum) json["maximum"][pool] = quota.maximum;
  }
  if (tenant.weight != 1) json["weight"] = tenant.weight;
  return json;
}

nlohmann::ordered_json tenants_below(const TenantTable& table, std::int32_t parent,
                                     const Cluster& cluster) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = static_cast<std::size_t>(parent + 1); i < table.tenants.size(); ++i) {
    if (table.tenants[i].parent != parent) continue;
    auto json = json_of(table.tenants[i], cluster);
    auto below = tenants_below(table, static_cast<std::int32_t>(i), cluster);
    if (!below.empty()) json["tenants"] = std::move(below);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Result<TenantTable> read_tenants_yaml(InputFile input, const Cluster& cluster) {
  const auto document = YamlDocument::read(std::move(input), kMaxDepth);
  if (!document) return tl::unexpected(document.error());
  const JobTree tree = JobTree::from_yaml(*document);
  return TenantsReader{tree, cluster}.read();
}

Result<TenantTable> read_tenants_yaml(const std::filesystem::path& path, const Cluster& cluster) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_tenants_yaml(std::move(*input), cluster);
}

Result<TenantTable> read_tenants_json(std::string_view text, std::string source_name,
                                      const Cluster& cluster) {
  const auto tree = JobTree::from_json(text, std::move(source_name), kMaxDepth);
  if (!tree) return tl::unexpected(tree.error());
  return TenantsReader{*tree, cluster}.read();
}

std::string write_tenants_json(const TenantTable& table, const Cluster& cluster) {
  const nlohmann::ordered_json json{{"half_life", format_duration(table.half_life)},
                                    {"lease", format_duration(table.lease)},
                                    {"tenants", tenants_below(table, kNoParent, cluster)}};
  return json.dump();
}

}  // namespace weir::formats
