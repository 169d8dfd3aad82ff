// SPDX-License-Identifier: Apache-2.0
#include "report/transformer_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/rounded_number.h"
#include "report/transformer_accuracy.h"

namespace weir::report {
namespace {

using formats::six_digits;
using formats::thousandths;
using plan::TransformerChoice;

constexpr double kMiBytes = 1024.0 * 1024;

nlohmann::ordered_json model_json(const TransformerModel& model) {
  return {{"name", model.name},
          {"layers", model.layers},
          {"hidden", model.hidden},
          {"heads", model.heads},
          {"kv_heads", model.kv_heads},
          {"head_dim", model.head_dim},
          {"ffn", model.ffn},
          {"gated", model.is_gated},
          {"vocab", model.vocab},
          {"tied_embeddings", model.has_tied_embeddings},
          {"experts", model.experts},
          {"experts_per_token", model.experts_per_token},
          {"parameters", model.elements()}};
}

nlohmann::ordered_json degrees_json(const predict::TransformerPlan& plan) {
  return {{"mode", to_string(plan.mode)},
          {"split", plan.split()},
          {"hp", plan.mode == predict::ParallelMode::isp ? plan.grid.head : 1},
          {"cp", plan.grid.context},
          {"window", plan.grid.window},
          {"placement", plan.grid.is_head_first ? "head-first" : "context-first"},
          {"dp", plan.replicas},
          {"pp", plan.stages},
          {"interleave", plan.interleave},
          {"wp", plan.weight_shards},
          {"gradient_shards", plan.gradient_shards},
          {"optimizer_shards", plan.optimizer_shards},
          {"zp", plan.zero_degree()},
          {"recompute", to_string(plan.recompute)},
          {"micro_batch", plan.micro_batch},
          {"accumulate", plan.micro_count},
          {"overlap", plan.overlaps()},
          {"memory_pool", plan.has_memory_pool}};
}

nlohmann::ordered_json time_json(const predict::TransformerTime& time) {
  const auto ms = [](double seconds) { return thousandths(seconds * 1000); };
  return {{"linear", ms(time.linear)},
          {"attention", ms(time.attention)},
          {"ring_waiting", ms(time.ring_waiting)},
          {"ring_home", ms(time.ring_home)},
          {"recompute", ms(time.again)},
          {"sequence", ms(time.sequence)},
          {"weights", ms(time.weights)},
          {"head", ms(time.head)},
          {"bubble", ms(time.bubble)},
          {"transfers", ms(time.transfers)},
          {"gradients", ms(time.gradients)},
          {"update", ms(time.update)},
          {"launching", ms(time.launching)}};
}

nlohmann::ordered_json alternatives_json(
    const std::vector<plan::TransformerAlternative>& alternatives) {
  auto list = nlohmann::ordered_json::array();
  for (const plan::TransformerAlternative& other : alternatives) {
    nlohmann::ordered_json entry{{"change", other.change}};
    if (other.best) {
      entry["predicted_ms"] = thousandths(other.best->time.iteration * 1000);
      entry["plan"] = degrees_json(other.best->plan);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::ordered_json sizes_json(const TransformerView& view) {
  constexpr double kMillion = 1e6;
  auto list = nlohmann::ordered_json::array();
  const plan::TransformerRequest whole_nodes = view.of_whole_nodes();
  for (const plan::PlannedSize& size : view.sizes) {
    nlohmann::ordered_json entry{{"gpus", size.gpus}};
    if (size.best) {
      const double seconds = size.best->time.iteration;
      entry["predicted_ms"] = thousandths(seconds * 1000);
      entry["gpu_s"] = six_digits(seconds * size.gpus);
      if (view.price_per_hour > 0)
        entry["cost_per_million_iterations"] = six_digits(kMillion * view.cost(seconds, size.gpus));
      entry["plan"] = degrees_json(size.best->plan);
    } else {
      entry["reason"] = why_no_plan_on(whole_nodes, size);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string why_no_plan_on(const plan::TransformerRequest& request, const plan::PlannedSize& size) {
  if (size.least_memory > 0)
    return fmt::format("too little memory: the smallest plan needs {:.0f} GiB on each GPU",
                       std::ceil(size.least_memory / kMiBytes / 1024));
  plan::TransformerRequest unpinned = plan::on_gpus(request, size.gpus);
  const bool has_pins = !plan::pin_texts(request.pins).empty();
  unpinned.pins = {};
  if (has_pins && !plan::structures(unpinned).empty())
    return fmt::format("no plan with --pin {}", fmt::join(plan::pin_texts(request.pins), ","));
  const auto batches = plan::dividable_batches(unpinned);
  const std::string other =
      batches.empty() ? "" : fmt::format(", but {} can", fmt::join(batches, " or "));
  return fmt::format("batch {} cannot be divided among {} GPUs{}", request.task.batch, size.gpus,
                     other);
}

nlohmann::ordered_json transformer_plan_json(const predict::TransformerTask& task,
                                             const predict::TransformerPlan& plan) {
  return {{"model", model_json(task.model)},
          {"gpu", std::string{task.gpu.name}},
          {"gpus", plan.gpus()},
          {"sequence", task.sequence},
          {"batch", task.batch},
          {"plan", degrees_json(plan)}};
}

nlohmann::ordered_json transformer_answer_json(const TransformerView& view) {
  const TransformerChoice& chosen = view.chosen();
  const predict::TransformerTask& task = view.request.task;
  const double seconds = chosen.time.iteration;
  nlohmann::ordered_json json{{"predicted_ms", thousandths(seconds * 1000)}};
  json["samples_per_s"] = thousandths(static_cast<double>(task.batch) / seconds);
  json["tokens_per_gpu_s"] =
      thousandths(predict::tokens_per_gpu_second(task, chosen.plan, seconds));
  json["mfu"] = thousandths(predict::model_flops_utilization(task, chosen.plan, seconds));
  json["max_memory_mib"] = thousandths(chosen.memory.needed / kMiBytes);
  if (view.price_per_hour > 0)
    json["cost_per_iteration"] = six_digits(view.cost(seconds, view.request.gpus));
  json["compute_times"] = predict::compute_source(task);
  json["accuracy"] = transformer_accuracy(task);
  json["notes"] = view.notes;
  if (task.compute) json["beyond_measured_ms"] = thousandths(chosen.time.beyond * 1000);
  json["cpu_ms"] = thousandths(chosen.time.cpu * 1000);
  json["structures"] = view.answer.structures;
  json["evaluations"] = view.answer.looked_at;
  json.update(transformer_plan_json(task, chosen.plan));
  json["time_ms"] = time_json(chosen.time);
  json["runner_ups"] = nlohmann::ordered_json::array();
  for (std::size_t i = 1; i < view.answer.best.size(); ++i) {
    json["runner_ups"].push_back(
        {{"predicted_ms", thousandths(view.answer.best[i].time.iteration * 1000)},
         {"plan", degrees_json(view.answer.best[i].plan)}});
  }
  json["attention"] = alternatives_json(view.families);
  json["other_degrees"] = alternatives_json(view.others);
  if (!view.sizes.empty()) json["sizes"] = sizes_json(view);
  return json;
}

}  // namespace weir::report
