// SPDX-License-Identifier: Apache-2.0
#include "cli/planning_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "cli/output_files.h"
#include "domain/whole_numbers.h"
#include "formats/data_dir.h"
#include "formats/op_profile_csv.h"
#include "formats/quantity_text.h"
#include "predict/training/model_ops.h"

namespace weir::cli {
namespace {

using predict::CostModel;
using predict::IterationCosts;

Diagnostic wrong_option(std::string name, std::string found, std::string expected) {
  return {{}, 0, std::move(name), std::move(found), std::move(expected)};
}

Result<std::filesystem::path> profile_folder(const std::string& given) {
  if (!given.empty()) return std::filesystem::path{given};
  if (const auto data = formats::data_dir()) {
    std::error_code ignored;
    if (std::filesystem::is_directory(*data / "aceso", ignored)) return *data / "aceso";
  }
  return bad_input(wrong_option("--profiles", {},
                                "a folder with ops.csv, collectives.csv and p2p.csv (or aceso in "
                                "the folder that WEIR_DATA names)"));
}

// The only database that has the model.
Result<std::string> only_database(const std::filesystem::path& folder, const ModelName& name) {
  const auto profiles = formats::list_op_profiles(folder);
  if (!profiles) return tl::unexpected(profiles.error());
  const std::string size = predict::known_size(name.model, name.size).profile;
  std::vector<std::string> with_model;
  std::set<std::string> models;
  std::set<std::string> sizes;
  for (const formats::ProfileName& profile : *profiles) {
    models.insert(profile.model);
    if (profile.model != name.model) continue;
    sizes.insert(profile.size);
    if (profile.size == size) with_model.push_back(profile.database);
  }
  if (with_model.size() == 1) return with_model.front();
  if (!with_model.empty()) {
    return bad_input(wrong_option("--db", {},
                                  fmt::format("one of {}, which all have {} {}",
                                              fmt::join(with_model, ", "), name.model, name.size)));
  }
  return bad_input(
      sizes.empty()
          ? wrong_option("--model", name.model, fmt::format("one of {}", fmt::join(models, ", ")))
          : wrong_option("--size", name.size,
                         fmt::format("one of {} for {}", fmt::join(sizes, ", "), name.model)));
}

std::string title_of(const IterationCosts& costs) {
  const OpProfile& profile = costs.profile();
  return fmt::format("db {}, model {}, size {}", profile.database, profile.model, profile.size);
}

// Whether some layout of a stage was measured at the microbatch.
bool is_measured(const IterationCosts& costs, const std::vector<int>& allowed, int microbatch) {
  for (int dp = 1; dp <= microbatch; dp *= 2) {
    const int replica = microbatch / dp;
    if (microbatch % dp != 0 || std::ranges::find(allowed, replica) == allowed.end()) continue;
    for (int tp = 1; tp <= costs.cluster().gpus_per_node; tp *= 2) {
      if (costs.has(replica, tp, 0) || costs.has(replica, tp, 1)) return true;
    }
  }
  return false;
}

std::vector<int> microbatches(const OptionValues& options, const IterationCosts& costs) {
  std::vector<int> sizes;
  if (options.has("microbatches")) {
    for (const std::int64_t size : options.integers("microbatches"))
      sizes.push_back(static_cast<int>(size));
  } else if (costs.options().model == CostModel::published) {
    sizes = predict::published_microbatches(costs.ops().family);
  } else {
    sizes = costs.microbatches();
  }
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

void check_microbatches(const OptionValues& options, const IterationCosts& costs,
                        std::vector<int>& sizes, Diagnostics& mistakes) {
  std::vector<int> measured;
  for (const int size : sizes) {
    if (is_measured(costs, sizes, size)) {
      measured.push_back(size);
    } else if (options.has("microbatches")) {
      mistakes.add(wrong_option(
          "--microbatches", std::to_string(size),
          fmt::format("sizes that were measured, such as {}: there is no row with {}, mbs {}",
                      fmt::join(costs.microbatches(), ", "), title_of(costs), size)));
    }
  }
  if (measured.empty() && !options.has("microbatches")) {
    mistakes.add({"ops.csv",
                  0,
                  "row",
                  {},
                  fmt::format("one with {}, mbs {}, tp up to {}", title_of(costs),
                              fmt::join(sizes, " or "), costs.cluster().gpus_per_node)});
  }
  sizes = std::move(measured);
  const auto batch = options.integer("batch");
  const bool divides_none =
      std::ranges::none_of(sizes, [&](int size) { return batch % size == 0; });
  if (!sizes.empty() && divides_none) {
    mistakes.add(
        wrong_option("--batch", std::to_string(batch),
                     fmt::format("a multiple of a microbatch size: {}", fmt::join(sizes, ", "))));
  }
}

void check_links(const IterationCosts& costs, Diagnostics& mistakes) {
  if (costs.cluster().nodes == 1 || !costs.profile().between_nodes.empty()) return;
  mistakes.add(
      {"p2p.csv",
       0,
       "row",
       {},
       fmt::format("one with db {}, scope inter: how fast nodes exchange data (or --nodes 1)",
                   costs.profile().database)});
}

void check_stages(const OptionValues& options, const PlanCluster& cluster, Diagnostics& mistakes) {
  if (!options.has("stages")) return;
  const auto stages = options.integer("stages");
  if (stages > cluster.gpus()) {
    mistakes.add(wrong_option("--stages", std::to_string(stages),
                              fmt::format("at most the GPUs, {}", cluster.gpus())));
  } else if (stages < cluster.nodes && !options.flag("straddle")) {
    mistakes.add(wrong_option(
        "--stages", std::to_string(stages),
        fmt::format("at least the nodes, {}: a stage lies on one node unless --straddle is given",
                    cluster.nodes)));
  }
}

bool is_alleviation(const OptionValues& options) {
  return options.text("search") == "alleviation";
}

void check_model_options(const OptionValues& options, Diagnostics& mistakes) {
  const std::string& model = options.text("model");
  if (options.has("layers") && model == "resnet") {
    mistakes.add(wrong_option("--layers", std::to_string(options.integer("layers")),
                              "none: the measurements of resnet list every operator"));
  }
  if (options.has("layouts") && options.text("layouts") == "mixed" && model == "t5") {
    mistakes.add(wrong_option("--layouts", "mixed",
                              "uniform: what moves between layouts is not known for t5"));
  }
  if (options.has("layouts") && options.text("layouts") == "mixed" && is_alleviation(options)) {
    mistakes.add(wrong_option("--layouts", "mixed",
                              "uniform: --search alleviation splits operators of a stage alike"));
  }
}

PlanCluster read_cluster(const OptionValues& options, Diagnostics& mistakes) {
  PlanCluster cluster{.nodes = static_cast<int>(options.integer("nodes")),
                      .gpus_per_node = static_cast<int>(options.integer("gpus-per-node")),
                      .memory_mib = 0};
  check_gpus_per_node(cluster.gpus_per_node, mistakes);
  const auto memory = memory_mib(options, "memory", mistakes);
  const auto margin = memory_mib(options, "margin", mistakes);
  if (memory && *memory <= 0) {
    mistakes.add(wrong_option("--memory", options.text("memory"), "more than 0"));
  } else if (memory && margin && *margin >= *memory) {
    mistakes.add(wrong_option("--margin", options.text("margin"),
                              fmt::format("less than --memory, {}", options.text("memory"))));
  }
  cluster.memory_mib = memory.value_or(0) - margin.value_or(0);
  return cluster;
}

void check_budget(const OptionValues& options, Diagnostics& mistakes) {
  const auto budget = formats::parse_duration(options.text("budget"));
  if (!budget || *budget <= Duration{0}) {
    mistakes.add(
        wrong_option("--budget", options.text("budget"), "a time above 0, such as 2s or 1m30s"));
  }
}

plan::PlanRequest plan_request(const OptionValues& options) {
  plan::PlanRequest request;
  request.batch = static_cast<int>(options.integer("batch"));
  request.recompute =
      options.text("recompute") == "own" ? plan::RecomputeRule::own : plan::RecomputeRule::derived;
  request.mixes_layouts = options.has("layouts")
                              ? options.text("layouts") == "mixed"
                              : options.text("model") == "resnet" && !is_alleviation(options);
  request.stages_may_straddle_nodes = options.flag("straddle");
  if (options.has("stages")) request.stages = static_cast<int>(options.integer("stages"));
  return request;
}

}  // namespace

ModelName model_name(const OptionValues& options) {
  const auto text = [&](const char* name) {
    return options.has(name) ? options.text(name) : std::string{};
  };
  ModelName name{text("profiles"), text("db"), text("model"), text("size"), std::nullopt};
  if (options.has("layers")) name.layers = static_cast<int>(options.integer("layers"));
  return name;
}

Result<IterationCosts> PlannedModel::costs(const PlanCluster& cluster,
                                           const predict::CostOptions& options) const {
  return IterationCosts::make(profile, layers, cluster, options);
}

Result<PlannedModel> read_model(const ModelName& name) {
  auto folder = profile_folder(name.profiles);
  if (!folder) return tl::unexpected(folder.error());
  auto database =
      name.database.empty() ? only_database(*folder, name) : Result<std::string>{name.database};
  if (!database) return tl::unexpected(database.error());
  const predict::KnownSize known = predict::known_size(name.model, name.size);
  auto profile = formats::read_op_profile(*folder, {*database, name.model, known.profile});
  if (!profile) return tl::unexpected(profile.error());
  return PlannedModel{std::move(*folder), std::move(*profile), name.size,
                      name.layers.value_or(known.layers)};
}

CostModel cost_model(const std::string& text) {
  return text == "published" ? CostModel::published : CostModel::full;
}

std::string to_string(CostModel model) {
  return model == CostModel::published ? "published" : "full";
}

predict::CostOptions cost_options(const OptionValues& options, CostModel model) {
  predict::CostOptions result;
  result.model = model;
  result.one_measurement_at_tp1 = options.has("tp1-measurements")
                                      ? options.text("tp1-measurements") == "one"
                                      : model == CostModel::full;
  result.hides_transfers = options.flag("overlap-transfers");
  return result;
}

std::optional<double> memory_mib(const OptionValues& options, const char* name,
                                 Diagnostics& mistakes) {
  const auto memory = formats::parse_memory(options.text(name));
  if (memory) return static_cast<double>(memory->value);
  mistakes.add(wrong_option(fmt::format("--{}", name), options.text(name),
                            "a whole number of MiB with its unit: 12000MiB, 28GiB"));
  return std::nullopt;
}

void check_gpus_per_node(int gpus, Diagnostics& mistakes) {
  if (is_power_of_two(gpus)) return;
  mistakes.add(wrong_option("--gpus-per-node", std::to_string(gpus), "a power of two"));
}

void check_plan_outputs(const OptionValues& options, Diagnostics& mistakes) {
  std::vector<std::filesystem::path> taken;
  if (options.has("plan")) taken.emplace_back(options.text("plan"));
  check_outputs(options, {"out", "timeline", "report"}, taken, mistakes);
}

Result<PlanSetup> read_plan_setup(const OptionValues& options) {
  Diagnostics mistakes;
  PlanSetup setup;
  setup.cluster = read_cluster(options, mistakes);
  setup.cost_options = cost_options(options, cost_model(options.text("cost-model")));
  setup.request = plan_request(options);
  check_stages(options, setup.cluster, mistakes);
  check_model_options(options, mistakes);
  check_budget(options, mistakes);
  check_plan_outputs(options, mistakes);
  auto model = read_model(model_name(options));
  if (!model) {
    mistakes.append(model.error().details);
    return bad_input(std::move(mistakes));
  }
  setup.model = std::move(*model);
  const auto costs = setup.model.costs(setup.cluster, setup.cost_options);
  if (!costs) {
    mistakes.append(costs.error().details);
    return bad_input(std::move(mistakes));
  }
  setup.request.microbatches = microbatches(options, *costs);
  check_microbatches(options, *costs, setup.request.microbatches, mistakes);
  check_links(*costs, mistakes);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return setup;
}

}  // namespace weir::cli
