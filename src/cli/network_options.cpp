// SPDX-License-Identifier: Apache-2.0
#include "cli/network_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "domain/network_terms.h"
#include "formats/fabric_yaml.h"
#include "formats/traffic_yaml.h"
#include "simulate/usual_traffic.h"

namespace weir::cli {
namespace {

constexpr std::string_view kIdeal = "ideal";

struct NamedFabric {
  std::string text;  // as given
  FabricSpec spec;
};

struct GpuPool {
  PoolIndex index;
  std::string name;
  std::int32_t nodes = 0;
  std::int32_t most_gpus = 0;  // on a node
};

std::vector<std::string> placement_choices() {
  std::vector<std::string> names{std::begin(kNetworkPlacementNames),
                                 std::end(kNetworkPlacementNames)};
  names.emplace_back(kIdeal);
  return names;
}

std::vector<GpuPool> pools_on_a_fabric(const Cluster& cluster) {
  std::map<PoolIndex, GpuPool> pools;
  for (const Node& node : cluster.nodes) {
    if (node.gpu_count == 0) continue;
    GpuPool& pool = pools[node.pool];
    pool.index = node.pool;
    pool.name = cluster.pools[node.pool.value].name;
    ++pool.nodes;
    pool.most_gpus = std::max(pool.most_gpus, node.gpu_count);
  }
  std::vector<GpuPool> found;
  for (auto& [index, pool] : pools) found.push_back(std::move(pool));
  return found;
}

// What the scheduler cannot work with, whatever the cluster is.
void check_fabric(const NamedFabric& fabric, Diagnostics& mistakes) {
  const FabricSpec& spec = fabric.spec;
  const auto must = [&](const char* field, std::string found, std::string expected) {
    mistakes.add({fabric.text, 0, field, std::move(found), std::move(expected)});
  };
  if (spec.kind != FabricKind::leaf_spine && spec.kind != FabricKind::optical)
    return must("kind", "another", "leaf-spine or optical: jobs are placed on leaves and spines");
  if (spec.uplink != spec.nic)
    must("uplink", fmt::format("{:g} times the rate of nic", spec.uplink.value / spec.nic.value),
         "the rate of nic; give more or fewer spines or parallel_links instead");
  if (spec.leaves > kMostLeaves)
    must("leaves", fmt::format("{}", spec.leaves), fmt::format("at most {}", kMostLeaves));
  const std::int64_t uplinks = std::int64_t{spec.spines} * spec.parallel_links;
  if (uplinks > kMostUplinks)
    must("spines", fmt::format("{} uplinks of a leaf", uplinks),
         fmt::format("at most {}", kMostUplinks));
  if (spec.spines < 1) must("spines", fmt::format("{}", spec.spines), "1 or more");
  if (spec.kind != FabricKind::optical) return;
  if (spec.optical_switches != spec.gpus_per_leaf)
    must("optical_switches", fmt::format("{}", spec.optical_switches),
         fmt::format("{}: one for each GPU under a leaf", spec.gpus_per_leaf));
  if (!spec.circuits.empty())
    must("circuits", fmt::format("{}", spec.circuits.size()),
         "to be left out: weir makes them for its jobs");
}

std::optional<PoolFabric> fabric_around(const GpuPool& pool, const NamedFabric& fabric,
                                        Diagnostics& mistakes) {
  const FabricSpec& spec = fabric.spec;
  const auto must = [&](const char* field, std::string found, std::string expected) {
    mistakes.add({fabric.text, 0, field, std::move(found), std::move(expected)});
    return std::nullopt;
  };
  // A row of GPUs has a power of two for each node.
  std::int32_t slots = 1;
  while (slots < pool.most_gpus) slots *= 2;
  if (spec.gpus_per_node > 1 && spec.gpus_per_node != pool.most_gpus)
    return must("gpus_per_node", fmt::format("{}", spec.gpus_per_node),
                fmt::format("{}, as the nodes of pool {} have", pool.most_gpus, pool.name));
  if (spec.gpus_per_leaf % pool.most_gpus != 0)
    return must("gpus_per_leaf", fmt::format("{}", spec.gpus_per_leaf),
                fmt::format("a multiple of {}: whole nodes of pool {}", pool.most_gpus, pool.name));
  PoolFabric around{pool.index,
                    spec.leaves,
                    spec.gpus_per_leaf / pool.most_gpus,
                    spec.spines,
                    spec.kind == FabricKind::optical ? 1 : spec.parallel_links,
                    spec.kind == FabricKind::optical ? spec.spine_ports : 0};
  const std::int64_t room = std::int64_t{around.leaves} * around.nodes_per_leaf;
  if (room < pool.nodes)
    return must("leaves", fmt::format("{} x {} nodes", around.leaves, around.nodes_per_leaf),
                fmt::format("room for the {} nodes of pool {}", pool.nodes, pool.name));
  if (around.nodes_per_leaf * slots > kMostUplinks && spec.kind == FabricKind::optical)
    return must("gpus_per_leaf", fmt::format("{}", spec.gpus_per_leaf),
                fmt::format("at most {}", kMostUplinks));
  return around;
}

// A rigid job that no fabric could hold would wait for ever.
void check_jobs(const TrainingSetup& setup, const std::vector<NamedFabric>& fabrics,
                Diagnostics& mistakes) {
  std::int64_t most = 0;
  for (const NamedFabric& fabric : fabrics)
    most = std::max(most, std::int64_t{fabric.spec.leaves} * fabric.spec.gpus_per_leaf);
  for (std::size_t i = 0; i < setup.workloads.size(); ++i) {
    for (const TrainingArrival& job : setup.workloads[i].jobs) {
      if (mistakes.full()) return;
      if (!job.spec.is_rigid || job.spec.asked_gpus <= most) continue;
      mistakes.add({setup.jobs_files[i], 0, fmt::format("gpus of {}", job.spec.name),
                    fmt::format("{}", job.spec.asked_gpus),
                    fmt::format("at most {}: all GPUs of the fabric", most)});
    }
  }
}

std::vector<std::string> chosen_placements(const OptionValues& options,
                                           const std::vector<NamedFabric>& fabrics) {
  if (options.is_given("placement")) return options.texts("placement");
  const bool is_optical = fabrics.front().spec.kind == FabricKind::optical;
  return {is_optical ? "isolated-optical" : "isolated"};
}

NetworkPlacement placement_named(const std::string& name) {
  const auto* const found =
      std::find(std::begin(kNetworkPlacementNames), std::end(kNetworkPlacementNames), name);
  return static_cast<NetworkPlacement>(found - std::begin(kNetworkPlacementNames));
}

}  // namespace

std::vector<OptionSpec> network_options() {
  return {
      {.name = "fabric",
       .type = OptionType::text_list,
       .help = "With --jobs: the network that joins the nodes, as leaf-spine:16x16x16 (leaves, "
               "GPUs per leaf, spines) or a fabric file with kind leaf-spine or optical. Nodes "
               "fill leaf after leaf as the cluster lists them; each pool has one of its own. "
               "Jobs then run as contention lets them. Two fabrics, one of each kind, to "
               "compare placements on both."},
      {.name = "placement",
       .type = OptionType::text_list,
       .choices = placement_choices(),
       .help = "Whether jobs share the links between leaves, under any policy; several are "
               "compared. shared: they do, and take turns where they meet. isolated: each has "
               "links of its own, or waits. isolated-optical: circuits are made for it. "
               "isolate-where-worth: links of its own where sharing costs more. ideal: a "
               "network without limits. Default: isolated, or isolated-optical where the fabric "
               "is. Only with --fabric."},
      {.name = "traffic",
       .type = OptionType::file,
       .help = "What jobs exchange, by model (YAML), in place of the usual: parts of an "
               "iteration. Only with --fabric."}};
}

void check_network(const OptionValues& options, Diagnostics& mistakes) {
  if (options.has("fabric")) return;
  for (const char* option : {"placement", "traffic"}) {
    if (options.is_given(option))
      mistakes.add({{}, 0, fmt::format("--{}", option), "given", "--fabric beside it"});
  }
}

Result<std::vector<simulate::NetworkSetup>> read_networks(const OptionValues& options,
                                                          const TrainingSetup& setup) {
  std::vector<simulate::NetworkSetup> networks;
  if (!options.has("fabric")) return networks;
  std::vector<NamedFabric> fabrics;
  Diagnostics mistakes;
  for (const std::string& text : options.texts("fabric")) {
    auto spec = formats::read_fabric_or_word(text, "--fabric");
    if (!spec) {
      mistakes.append(spec.error().details);
      continue;
    }
    fabrics.push_back({text, std::move(*spec)});
    check_fabric(fabrics.back(), mistakes);
  }
  std::vector<KindTraffic> kinds = simulate::usual_traffic();
  if (options.has("traffic")) {
    auto input = formats::InputFile::open(options.text("traffic"));
    if (!input) return tl::unexpected(std::move(input.error()));
    auto given = formats::read_traffic_yaml(std::move(*input));
    if (given) {
      kinds = simulate::usual_traffic_but(std::move(*given));
    } else {
      mistakes.append(given.error().details);
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  check_jobs(setup, fabrics, mistakes);
  const auto of_kind = [&](FabricKind kind) -> const NamedFabric* {
    const auto found = std::find_if(fabrics.begin(), fabrics.end(), [&](const NamedFabric& fabric) {
      return fabric.spec.kind == kind;
    });
    return found == fabrics.end() ? nullptr : &*found;
  };
  const std::vector<std::string> placements = chosen_placements(options, fabrics);
  std::set<const NamedFabric*> used;
  const std::vector<GpuPool> pools = pools_on_a_fabric(setup.cluster);
  for (const std::string& name : placements) {
    simulate::NetworkSetup network;
    network.placement = name;
    if (name != kIdeal) {
      network.terms.placement = placement_named(name);
      network.terms.kinds = kinds;
      const bool wants_circuits = network.terms.placement == NetworkPlacement::isolated_optical;
      const NamedFabric* fabric =
          of_kind(wants_circuits ? FabricKind::optical : FabricKind::leaf_spine);
      if (fabric == nullptr) {
        mistakes.add({{},
                      0,
                      fmt::format("--fabric (which --placement {} needs)", name),
                      fmt::format("{}", fmt::join(options.texts("fabric"), ",")),
                      wants_circuits ? "one of kind optical" : "one of kind leaf-spine"});
        continue;
      }
      const bool is_new = used.insert(fabric).second;
      for (const GpuPool& pool : pools) {
        Diagnostics here;
        if (const auto around = fabric_around(pool, *fabric, here))
          network.terms.fabrics.push_back(*around);
        if (is_new) mistakes.append(here);
      }
    }
    networks.push_back(std::move(network));
  }
  for (const NamedFabric& fabric : fabrics) {
    if (used.contains(&fabric) || !mistakes.empty()) continue;
    if (placements == std::vector<std::string>{std::string{kIdeal}}) continue;
    mistakes.add({{}, 0, "--fabric", fabric.text, "one that a --placement uses; leave it out"});
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return networks;
}

}  // namespace weir::cli
