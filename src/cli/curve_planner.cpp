// SPDX-License-Identifier: Apache-2.0
#include "cli/curve_planner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "cli/transformer_times.h"
#include "plan/transformer/transformer_curve.h"

namespace weir::cli {
namespace {

constexpr double kBytesOfGiB = 1024.0 * 1024 * 1024;
constexpr double kSecondsOfDay = 86'400;
constexpr double kSlowestStep = 1e6;  // seconds: curves count millionths of a step per second

plan::TransformerRequest request_for(const PlannedModel& model, std::int64_t batch,
                                     const predict::GpuType& gpu, const PoolGpus& pool) {
  plan::TransformerRequest request;
  request.task.model = model.dimensions;
  request.task.sequence = model.sequence;
  request.task.batch = batch;
  request.task.gpu = gpu;
  request.task.fabric = predict::usual_fabric(gpu, pool.gpus_per_node);
  request.task.runtime = predict::modern_runtime();
  request.task.compute = times_of_kernels_inside(gpu, request.task.runtime);
  request.gpus = pool.largest;
  request.memory_bytes = gpu.memory_gib * kBytesOfGiB;
  return request;
}

Result<void> check_gpu(const predict::GpuCatalogue& catalogue, const PlannedModel& model) {
  if (model.gpu.empty() || catalogue.match(model.gpu) != nullptr) return {};
  return bad_input(
      Diagnostic{"", 0, "model.gpu", model.gpu, fmt::format("one of {}", catalogue.names())});
}

// Collects why no pool will do, in the order of the pools.
class PlanForPools {
 public:
  PlanForPools(const predict::GpuCatalogue& catalogue, const PlannedModel& model,
               std::int64_t batch)
      : catalogue_{catalogue}, model_{model}, batch_{batch} {}

  Result<std::vector<Curve>> plan(std::span<const PoolGpus> pools) {
    if (auto known = check_gpu(catalogue_, model_); !known)
      return tl::unexpected<Error>(std::move(known.error()));
    std::vector<Curve> curves;
    for (const PoolGpus& pool : pools) curves.push_back(plan_one(pool));
    const bool has_any = std::any_of(curves.begin(), curves.end(),
                                     [](const Curve& curve) { return !curve.empty(); });
    if (!has_any) return bad_input(std::move(mistakes_));
    return curves;
  }

 private:
  Curve plan_one(const PoolGpus& pool) {
    const predict::GpuType* gpu = catalogue_.match(model_.gpu.empty() ? pool.gpu : model_.gpu);
    if (gpu == nullptr) {
      mistakes_.add({"", 0, "model.gpu", "",
                     fmt::format("the type to plan for, because nobody knows {}, the GPUs of pool "
                                 "{}: one of {}",
                                 pool.gpu, pool.name, catalogue_.names())});
      return {};
    }
    const auto request = request_for(model_, batch_, *gpu, pool);
    const auto planned =
        plan::plan_sizes(request, plan::sizes_of_a_pool(pool.gpus_per_node, pool.largest));
    Curve curve = plan::planned_curve(planned);
    if (curve.empty()) note_misfit(pool, request, planned);
    return curve;
  }

  void note_misfit(const PoolGpus& pool, const plan::TransformerRequest& request,
                   const std::vector<plan::PlannedSize>& planned) {
    const std::string found = fmt::format("{} with batch {} and sequences of {}",
                                          model_.dimensions.name, batch_, model_.sequence);
    std::optional<double> fastest;
    for (const plan::PlannedSize& size : planned) {
      if (size.best)
        fastest = std::min(fastest.value_or(size.best->time.iteration), size.best->time.iteration);
    }
    if (fastest) {
      mistakes_.add(
          {"", 0, "model", found,
           fmt::format("one that makes a step in at most {:.0f} days: the best plan for pool {} "
                       "needs {:.0f}. A smaller model or batch, a shorter sequence, or more GPUs",
                       std::floor(kSlowestStep / kSecondsOfDay), pool.name,
                       std::ceil(*fastest / kSecondsOfDay))});
      return;
    }
    const double least = plan::search_transformer(request).least_memory;
    const std::string_view gpu = request.task.gpu.name;
    if (least > request.memory_bytes) {
      mistakes_.add(
          {"", 0, "model", found,
           fmt::format("one that fits pool {}: it needs {:.0f}GiB on each of {} GPUs, and "
                       "{} has {:.0f}GiB. A smaller model, a shorter sequence, or more "
                       "GPUs",
                       pool.name, std::ceil(least / kBytesOfGiB), request.gpus, gpu,
                       request.memory_bytes / kBytesOfGiB)});
      return;
    }
    mistakes_.add(
        {"", 0, "model", found,
         fmt::format("a batch and a sequence that 1, 2, 4, ... GPUs of pool {} can divide",
                     pool.name)});
  }

  const predict::GpuCatalogue& catalogue_;
  const PlannedModel& model_;
  std::int64_t batch_;
  Diagnostics mistakes_;
};

}  // namespace

CurvePlanner curve_planner(predict::GpuCatalogue catalogue) {
  return [catalogue = std::move(catalogue)](const PlannedModel& model, std::int64_t batch,
                                            std::span<const PoolGpus> pools) {
    return PlanForPools{catalogue, model, batch}.plan(pools);
  };
}

std::optional<std::string> note_on_choice(const std::string& gpu,
                                          const predict::GpuCatalogue& catalogue) {
  const predict::GpuType* taken = catalogue.match(gpu);
  if (taken == nullptr || catalogue.find(gpu) != nullptr) return std::nullopt;
  std::vector<std::string_view> others;
  for (const predict::GpuType& type : predict::gpu_types()) {
    if (predict::is_chip_of(gpu, type) && type.name != taken->name) others.push_back(type.name);
  }
  if (others.empty()) return std::nullopt;
  return fmt::format(
      "{} is taken to be {}, the one with the least memory; write {} if that is meant", gpu,
      taken->name, fmt::join(others, " or "));
}

formats::PlanForJobs plan_into(const Cluster& cluster, std::vector<CurveBook>& books,
                               predict::GpuCatalogue catalogue, std::set<std::string>& notes) {
  return [pools = pools_with_gpus(cluster), &books, &notes, catalogue,
          planner = curve_planner(catalogue), known = std::map<CurveKey, PlannedModel>{}](
             const CurveKey& key, const PlannedModel& model) mutable -> Result<Curve> {
    if (model.dimensions.layers == 0) {
      const auto checked = check_gpu(catalogue, model);
      return checked ? Result<Curve>{} : tl::unexpected<Error>(checked.error());
    }
    if (books.size() != pools.size()) {
      return bad_input(
          Diagnostic{"", 0, "curves", fmt::format("those of {} pools", books.size()),
                     fmt::format("one book for each of the {} pools with GPUs", pools.size())});
    }
    const auto before = known.find(key);
    if (before != known.end() && before->second != model) {
      return bad_input(Diagnostic{"", 0, "model.name", key.model,
                                  "another name: another model to plan has this one"});
    }
    if (before == known.end()) {
      const auto curves = planner(model, key.global_batch, pools);
      if (!curves) return tl::unexpected<Error>(curves.error());
      for (std::size_t i = 0; i < books.size(); ++i) {
        if (!(*curves)[i].empty()) books[i].curves[key] = (*curves)[i];
      }
      known.emplace(key, model);
      for (const PoolGpus& pool : pools) {
        if (auto note = note_on_choice(model.gpu.empty() ? pool.gpu : model.gpu, catalogue))
          notes.insert(std::move(*note));
      }
    }
    const auto any = std::find_if(books.begin(), books.end(),
                                  [&](const CurveBook& book) { return book.find(key) != nullptr; });
    return any == books.end() ? Curve{} : *any->find(key);
  };
}

std::vector<std::string> planned_models(const std::vector<CurveBook>& books,
                                        const TrainingWorkload& jobs) {
  std::set<std::string> models;
  for (const TrainingArrival& job : jobs.jobs) {
    for (const CurveBook& book : books) {
      const Curve* curve = book.find(job.spec.curve);
      if (curve != nullptr && curve->origin() == CurveOrigin::planned)
        models.insert(job.spec.curve.model);
    }
  }
  return {models.begin(), models.end()};
}

std::string note_on_planned(const std::vector<std::string>& models) {
  if (models.empty()) return "";
  return fmt::format("Note: throughput from plans, which nobody has measured: {}.\n",
                     fmt::join(models, ", "));
}

}  // namespace weir::cli
