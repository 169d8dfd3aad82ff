// SPDX-License-Identifier: Apache-2.0
#include "report/transformer_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "report/plan_tables.h"
#include "report/transformer_accuracy.h"

namespace weir::report {
namespace {

using plan::TransformerAlternative;
using plan::TransformerChoice;
using predict::ParallelMode;
using predict::TransformerPlan;

constexpr double kGigabyte = 1024.0 * 1024 * 1024;

constexpr double kNotedShare = 0.05;  // of computing, beyond what was measured

double computing_seconds(const predict::TransformerTime& time) {
  return time.linear + time.attention - time.ring_waiting + time.again + time.head + time.update;
}

// "1 head", "4 heads"
std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "8 layers on each stage", "8 layers on 5 stages, 7 on 3"
std::string stage_words(const TransformerModel& model, const TransformerPlan& plan) {
  const std::int64_t longest = predict::longest_stage(model, plan);
  const std::int64_t shorter = longest * plan.stages - model.layers;
  if (shorter == 0) return counted(longest, "layer") + " on each stage";
  return fmt::format("{} on {}, {} on {}", counted(longest, "layer"),
                     counted(plan.stages - shorter, "stage"), longest - 1, shorter);
}

std::string ms_text(double seconds) {
  return with_commas(seconds * 1000, 1);
}

std::string ratio_text(double seconds, double chosen) {
  return fmt::format("{:.3f}", seconds / chosen);
}

// So many decimals, or more where those would leave nothing of a small amount.
std::string amount_text(double amount, int decimals) {
  constexpr int kDigits = 3;
  constexpr int kMostDecimals = 15;
  const int needed =
      amount > 0 ? kDigits - 1 - static_cast<int>(std::floor(std::log10(amount))) : decimals;
  return fmt::format("{:.{}f}", amount, std::clamp(needed, decimals, kMostDecimals));
}

std::vector<std::string> choice_row(std::string name, const TransformerChoice& choice,
                                    double chosen) {
  return {std::move(name), ms_text(choice.time.iteration),
          ratio_text(choice.time.iteration, chosen),
          fmt::format("{:.1f}", choice.memory.needed / kGigabyte), plan_words(choice.plan)};
}

Table choice_table(std::string title, std::string heading) {
  return {std::move(title),
          {{std::move(heading), Align::left},
           {"iteration ms"},
           {"times as long"},
           {"GiB"},
           {"plan", Align::left}},
          {}};
}

Table alternative_table(std::string title, std::string heading,
                        const std::vector<TransformerAlternative>& alternatives, double chosen) {
  Table table = choice_table(std::move(title), std::move(heading));
  for (const TransformerAlternative& other : alternatives) {
    table.rows.push_back(
        other.best ? choice_row(other.change, *other.best, chosen)
                   : std::vector<std::string>{other.change, "-", "-", "-", "no such plan fits"});
  }
  return table;
}

std::string split_words(const TransformerPlan& plan) {
  if (plan.split() == 1) return "no split";
  if (plan.mode != ParallelMode::isp)
    return fmt::format("{} tp {}", to_string(plan.mode), plan.split());
  std::string text = fmt::format("isp hp {} x cp {}", plan.grid.head, plan.grid.context);
  if (plan.grid.context > 1) text += fmt::format(" (w {})", plan.grid.window);
  if (plan.grid.head > 1 && plan.grid.context > 1)
    text += plan.grid.is_head_first ? " head-first" : " context-first";
  return text;
}

std::string source_words(const TransformerView& view) {
  const predict::TransformerTask& task = view.request.task;
  std::string text = compute_times_words(task);
  if (!task.compute) return text;
  const double computing = computing_seconds(view.chosen().time);
  const double share = view.chosen().time.beyond / computing;
  if (share > kNotedShare)
    text += fmt::format(
        "\n{:.0f} % of computing is by kernels beyond what was measured: "
        "compare with --times analytic.",
        100 * share);
  return text;
}

std::string price_words(const TransformerView& view) {
  if (view.price_per_hour <= 0) return "";
  return fmt::format("; one iteration costs {} at {:.2f} per GPU hour",
                     amount_text(view.cost(view.chosen().time.iteration, view.request.gpus), 4),
                     view.price_per_hour);
}

// "2 samples at a time, 8 times", "1 sample at a time, once"
std::string microbatch_words(const TransformerPlan& plan) {
  return fmt::format("{} at a time, {}", counted(plan.micro_batch, "sample"),
                     plan.micro_count == 1 ? "once" : counted(plan.micro_count, "time"));
}

std::string attention_meaning(const TransformerView& view) {
  const TransformerPlan& plan = view.chosen().plan;
  if (plan.split() == 1) return "each sequence on one GPU";
  if (plan.mode != ParallelMode::isp) return "heads split with the weights";
  std::string text = fmt::format("{} and 1/{} of the tokens of a sequence on each GPU",
                                 counted(view.request.task.model.heads / plan.grid.head, "head"),
                                 plan.grid.context);
  if (plan.grid.head > view.request.task.model.kv_heads)
    text += fmt::format(", KV heads {} times", plan.grid.head / view.request.task.model.kv_heads);
  if (plan.grid.context > 1) {
    const predict::TransformerTime& time = view.chosen().time;
    const double beside = time.ring_waiting - time.ring_home;
    text += beside > 1e-3 * time.iteration
                ? fmt::format(", the ring waits {} ms", ms_text(time.ring_waiting))
                : fmt::format(", the ring is hidden but for {} ms, when gradients come home",
                              ms_text(time.ring_waiting));
  }
  return text;
}

}  // namespace

std::string parameter_words(double parameters) {
  constexpr std::array<std::string_view, 5> kUnits{"", " thousand", " million", " billion",
                                                   " trillion"};
  std::size_t unit = 0;
  for (; parameters >= 999.5 && unit + 1 < kUnits.size(); ++unit) parameters /= 1000;
  return fmt::format("{:.3g}{} parameters", parameters, kUnits[unit]);
}

std::string model_words(const std::string& title, const predict::TransformerTask& task) {
  return fmt::format("{}: {}, sequences of {} tokens, batch {}.", title,
                     parameter_words(static_cast<double>(task.model.elements())), task.sequence,
                     task.batch);
}

std::string plan_words(const TransformerPlan& plan) {
  std::string text = split_words(plan);
  text += fmt::format(", dp {}", plan.replicas);
  if (plan.stages > 1) text += fmt::format(", pp {}", plan.stages);
  if (plan.interleave > 1) text += fmt::format(" x {}", plan.interleave);
  text += fmt::format(", shards {}/{}/{}, {} x {}", plan.weight_shards, plan.gradient_shards,
                      plan.optimizer_shards, plan.micro_batch, plan.micro_count);
  if (plan.recompute != predict::Recompute::none)
    text += fmt::format(", recompute {}", to_string(plan.recompute));
  if (plan.gradient_shards > 1 && !plan.hides_weights) text += ", no overlap";
  if (plan.has_memory_pool) text += ", pool";
  return text;
}

std::string transformer_headline(const TransformerView& view) {
  const TransformerChoice& chosen = view.chosen();
  const predict::TransformerTask& task = view.request.task;
  const double seconds = chosen.time.iteration;
  return fmt::format(
      "{}\nAn iteration takes {} ms: {:.4g} samples/s, {:.0f} tokens/s on each of {} {} {}, {:.1f} "
      "% "
      "of {} rate.\n{}\nBest of {} structures{}.",
      model_words(view.title, task), ms_text(seconds), static_cast<double>(task.batch) / seconds,
      predict::tokens_per_gpu_second(task, chosen.plan, seconds), view.request.gpus, task.gpu.name,
      view.request.gpus == 1 ? "GPU" : "GPUs",
      100 * predict::model_flops_utilization(task, chosen.plan, seconds),
      view.request.gpus == 1 ? "its" : "their", source_words(view),
      with_commas(static_cast<double>(view.answer.structures), 0), price_words(view));
}

Table cost_table(const TransformerView& view) {
  const bool has_price = view.price_per_hour > 0;
  Table table{"What an iteration costs: fewer GPUs accumulate more",
              {{"GPUs"},
               {"accumulate"},
               {"iteration ms"},
               {"GPU seconds"},
               {"cost"},
               {"times as much"},
               {"plan", Align::left}},
              {}};
  const double chosen = view.chosen().time.iteration * view.request.gpus;
  for (const plan::PlannedSize& size : view.sizes) {
    if (!size.best) {
      table.rows.push_back({std::to_string(size.gpus), "-", "-", "-", "-", "-",
                            why_no_plan_on(view.of_whole_nodes(), size)});
      continue;
    }
    const double seconds = size.best->time.iteration;
    table.rows.push_back({std::to_string(size.gpus), std::to_string(size.best->plan.micro_count),
                          ms_text(seconds), amount_text(seconds * size.gpus, 1),
                          has_price ? amount_text(view.cost(seconds, size.gpus), 4) : "-",
                          ratio_text(seconds * size.gpus, chosen), plan_words(size.best->plan)});
  }
  return table;
}

Table degree_table(const TransformerView& view) {
  const TransformerPlan& plan = view.chosen().plan;
  Table table{
      "The plan", {{"what", Align::left}, {"degree", Align::left}, {"here", Align::left}}, {}};
  const auto add = [&](std::string what, std::string degree, std::string here) {
    table.rows.push_back({std::move(what), std::move(degree), std::move(here)});
  };
  const bool is_isp = plan.mode == ParallelMode::isp;
  if (plan.split() > 1)
    add("mode", std::string{to_string(plan.mode)},
        is_isp ? "weights whole, tokens split" : "weights split");
  add("attention",
      is_isp
          ? fmt::format("hp {} x cp {}, window {}, {}", plan.grid.head, plan.grid.context,
                        plan.grid.window, plan.grid.is_head_first ? "head-first" : "context-first")
          : fmt::format("tp {}", plan.split()),
      attention_meaning(view));
  add("replicas", fmt::format("dp {}", plan.replicas), microbatch_words(plan));
  add("pipeline", fmt::format("pp {} x {}", plan.stages, plan.interleave),
      plan.stages == 1 ? "none" : stage_words(view.request.task.model, plan));
  add("shards",
      fmt::format("{} / {} / {}", plan.weight_shards, plan.gradient_shards, plan.optimizer_shards),
      "of weights / gradients / optimizer state");
  add("recompute", std::string{to_string(plan.recompute)},
      plan.recompute == predict::Recompute::none ? "everything is kept"
                                                 : "in the backward pass, to save memory");
  if (plan.gradient_shards > 1)
    add("overlap", plan.overlaps() ? "on" : "off",
        plan.overlaps() ? "what is gathered or scattered moves behind linear layers"
                        : "one layer gathered at a time, to save memory");
  if (plan.weight_shards > 1 && is_isp)
    add("memory pool", plan.has_memory_pool ? "on" : "off",
        plan.has_memory_pool ? "for gathered weights and their gradients: less is wasted"
                             : "weights are gathered into ordinary memory");
  return table;
}

Table transformer_time_table(const TransformerView& view) {
  const predict::TransformerTime& time = view.chosen().time;
  Table table{"Where an iteration's time goes",
              {{"part", Align::left}, {"ms"}, {"%"}, {"hidden ms"}, {"behind", Align::left}},
              {}};
  const auto add = [&](const char* part, double seconds, double hidden = 0,
                       const char* behind = "") {
    table.rows.push_back({part, ms_text(seconds),
                          fmt::format("{:.1f}", 100 * seconds / time.iteration),
                          hidden > 0 ? ms_text(hidden) : "", hidden > 0 ? behind : ""});
  };
  add("linear layers", time.linear);
  add("attention", time.attention);
  add("computed again", time.again);
  add("exchange along the sequence", time.sequence);
  add("weights gathered", time.weights, time.weights_hidden, "linear layers");
  add("head", time.head);
  add("pipeline bubble", time.bubble);
  add("between stages", time.transfers);
  add("gradients", time.gradients, time.gradients_hidden, "the last backward pass");
  add("update", time.update);
  if (time.launching > 0) add("waiting for the CPU's launches", time.launching);
  return table;
}

Table transformer_memory_table(const TransformerView& view) {
  const predict::TransformerMemory& memory = view.chosen().memory;
  const bool is_backward = memory.at_backward() + memory.recomputed >= memory.at_update();
  Table table{fmt::format("Memory of a GPU at its fullest, {}, limit {:.1f} GiB",
                          is_backward ? "in the backward pass" : "in the update",
                          view.request.memory_bytes / kGigabyte),
              {{"part", Align::left}, {"GiB"}},
              {}};
  // In tenths, so that what is printed adds up; the last row takes what rounding leaves.
  const auto tenths = [](double bytes) { return std::llround(10 * bytes / kGigabyte); };
  const auto add = [&](const char* part, long long amount) {
    table.rows.push_back({part, fmt::format("{:.1f}", static_cast<double>(amount) / 10)});
  };
  long long left = tenths(memory.needed);
  const auto add_part = [&](const char* part, double bytes) {
    add(part, tenths(bytes));
    left -= tenths(bytes);
  };
  add_part("weights", memory.weights);
  add_part("gradients", memory.gradients);
  add_part("optimizer state", memory.optimizer);
  if (is_backward) {
    add_part("activations kept", memory.activations);
    add_part("a layer computed again", memory.recomputed);
    add_part("working space", memory.working);
    add_part("gathered weights", memory.pool);
  } else {
    add_part("the optimizer's temporaries",
             memory.at_update() - memory.weights - memory.gradients - memory.optimizer);
  }
  add("CUDA, NCCL, gradient buckets, the allocator's waste", left);
  add("needed", tenths(memory.needed));
  return table;
}

Table family_table(const TransformerView& view) {
  return alternative_table("The best with other attention", "attention", view.families,
                           view.chosen().time.iteration);
}

Table other_degree_table(const TransformerView& view) {
  return alternative_table("Why these degrees: the best with another one", "with", view.others,
                           view.chosen().time.iteration);
}

Table runner_up_table(const TransformerView& view) {
  Table table = choice_table("Runner-ups", "place");
  const double chosen = view.chosen().time.iteration;
  for (std::size_t i = 1; i < view.answer.best.size(); ++i)
    table.rows.push_back(choice_row(std::to_string(i + 1), view.answer.best[i], chosen));
  return table;
}

}  // namespace weir::report
