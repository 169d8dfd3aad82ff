// SPDX-License-Identifier: Apache-2.0
#include "cli/training_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/curve_planner.h"
#include "cli/gpu_file.h"
#include "formats/cluster_shorthand.h"
#include "formats/curves.h"
#include "formats/models_of_jobs.h"
#include "formats/training_inputs.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

// What a cluster shorthand calls GPUs whose model it does not say.
constexpr std::string_view kUnnamedModel = "GPU";

std::vector<CurveBook> no_curves(const Cluster& cluster) {
  std::vector<CurveBook> books;
  for (const PoolGpus& pool : pools_with_gpus(cluster)) books.push_back({pool.gpu, {}});
  return books;
}

// A job may run where any pool has a curve for it.
CurveBook all_of(const std::vector<CurveBook>& books) {
  CurveBook all;
  for (const CurveBook& book : books) all.curves.insert(book.curves.begin(), book.curves.end());
  return all;
}

}  // namespace

Result<std::vector<CurveBook>> read_pool_curves(const std::string& path, const Cluster& cluster) {
  if (path.empty()) return no_curves(cluster);
  const std::vector<PoolGpus> pools = pools_with_gpus(cluster);
  std::vector<std::string> models;
  for (const PoolGpus& pool : pools) {
    if (std::find(models.begin(), models.end(), pool.gpu) == models.end())
      models.push_back(pool.gpu);
  }
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  if (is_folder && models.size() > 1) {
    return bad_input(Diagnostic{
        path, 0, "curves", "one kind of GPU",
        fmt::format("curves of all of {}: a JSON file with each kind", fmt::join(models, ", "))});
  }
  std::vector<CurveBook> books;
  for (const PoolGpus& pool : pools) {
    const bool needs_name = !is_folder && pool.gpu != kUnnamedModel;
    auto book = formats::read_curves(path, needs_name ? std::optional{pool.gpu} : std::nullopt);
    if (!book) return tl::unexpected(std::move(book.error()));
    books.push_back(std::move(*book));
  }
  return books;
}

std::vector<fs::path> training_input_paths(const OptionValues& options) {
  std::vector<fs::path> paths;
  for (const char* option : {"cluster", "curves", "from-log", "tenants", "gpu-file"}) {
    if (options.has(option)) paths.emplace_back(options.text(option));
  }
  if (options.has("jobs"))
    paths.insert(paths.end(), options.texts("jobs").begin(), options.texts("jobs").end());
  return paths;
}

Result<Cluster> read_training_cluster(const std::string& text) {
  auto cluster = formats::read_cluster_or_shorthand(text);
  if (!cluster || cluster->gpu_count() > 0) return cluster;
  return bad_input(Diagnostic{text, 0, "number of GPUs", "0", "a cluster with at least one GPU"});
}

Result<TrainingWorkload> read_training_jobs(const std::string& file,
                                            const std::vector<CurveBook>& curves,
                                            const formats::PlanForJobs& plan) {
  return formats::read_training(file, all_of(curves), plan);
}

void check_need_of_curves(const OptionValues& options, Diagnostics& mistakes) {
  if (options.has("curves")) return;
  bool has_planned = false;
  bool has_mistakes = false;
  if (options.has("jobs")) {
    for (const std::string& file : options.texts("jobs")) {
      const auto models = formats::models_of_jobs(file);
      if (!models) mistakes.append(models.error().details);
      has_mistakes = has_mistakes || !models;
      has_planned = has_planned || (models && *models == formats::ModelsOfJobs::planned);
    }
  }
  if (has_planned || has_mistakes) return;
  mistakes.add({{},
                0,
                "--curves",
                {},
                "the throughput of the models in --jobs: a folder of tables or a JSON file"});
}

Result<TrainingSetup> read_training_setup(const OptionValues& options) {
  if (options.has("from-log")) {
    auto history = simulate::read_live_history(options.text("from-log"));
    if (!history) return tl::unexpected(std::move(history.error()));
    TrainingSetup live{
        history->cluster, history->curves, {history->workload}, {options.text("from-log")}, {}, {}};
    live.history = std::move(*history);
    return live;
  }
  // The mistakes of all files, not only of the first. The kind of error is that of the first.
  Error error;
  const auto keep = [&](Error found) {
    if (error.details.empty()) error.code = found.code;
    error.details.append(found.details);
  };
  auto cluster = read_training_cluster(options.text("cluster"));
  if (!cluster) return tl::unexpected(std::move(cluster.error()));
  auto curves =
      read_pool_curves(options.has("curves") ? options.text("curves") : std::string{}, *cluster);
  if (!curves) return tl::unexpected(std::move(curves.error()));
  TrainingSetup setup{std::move(*cluster), std::move(*curves), {}, {}, {}, {}};
  const auto gpus = read_gpu_file(options);
  if (!gpus) return tl::unexpected(gpus.error());
  const std::vector<CurveBook> tables = setup.curves;
  const auto plan = plan_into(setup.cluster, setup.curves, gpus->catalogue, setup.notes);
  for (const std::string& file : options.texts("jobs")) {
    auto workload = read_training_jobs(file, tables, plan);
    if (!workload) {
      keep(std::move(workload.error()));
      continue;
    }
    setup.workloads.push_back(std::move(*workload));
    setup.jobs_files.push_back(file);
  }
  if (!error.details.empty()) return tl::unexpected(std::move(error));
  return setup;
}

}  // namespace weir::cli
