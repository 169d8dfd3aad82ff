// SPDX-License-Identifier: Apache-2.0
#include "plan/transformer/transformer_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

namespace weir::plan {
namespace {

using predict::ParallelMode;
using predict::Recompute;
using predict::TransformerPlan;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr int kMostTimesAsManyNodes = 64;
constexpr int kEachNumberOfNodes =
    16;  // up to there each is tried, beyond only twice, four times ... as many

// The pins that are whole numbers, by the name they are written with and what a plan has there.
struct NumberPin {
  const char* name;
  std::optional<int> TransformerPins::*member;
  int (*value)(const TransformerPlan&);
};

constexpr std::array<NumberPin, 12> kNumberPins{{
    {"tp", &TransformerPins::tp,
     [](const TransformerPlan& p) { return p.mode == ParallelMode::isp ? 1 : p.split(); }},
    {"sp", &TransformerPins::sp,
     [](const TransformerPlan& p) { return p.mode == ParallelMode::isp ? p.split() : 1; }},
    {"hp", &TransformerPins::hp,
     [](const TransformerPlan& p) { return p.mode == ParallelMode::isp ? p.grid.head : 1; }},
    {"cp", &TransformerPins::cp, [](const TransformerPlan& p) { return p.grid.context; }},
    {"window", &TransformerPins::window, [](const TransformerPlan& p) { return p.grid.window; }},
    {"dp", &TransformerPins::dp, [](const TransformerPlan& p) { return p.replicas; }},
    {"pp", &TransformerPins::pp, [](const TransformerPlan& p) { return p.stages; }},
    {"interleave", &TransformerPins::interleave,
     [](const TransformerPlan& p) { return p.interleave; }},
    {"wp", &TransformerPins::wp, [](const TransformerPlan& p) { return p.weight_shards; }},
    {"zp", &TransformerPins::zp, [](const TransformerPlan& p) { return p.zero_degree(); }},
    {"micro-batch", &TransformerPins::micro_batch,
     [](const TransformerPlan& p) { return p.micro_batch; }},
    {"accumulate", &TransformerPins::micro_count,
     [](const TransformerPlan& p) { return p.micro_count; }},
}};

std::optional<TransformerChoice> best_of(const TransformerRequest& request) {
  auto answer = search_transformer(request);
  if (answer.best.empty()) return std::nullopt;
  return std::move(answer.best.front());
}

bool has_any_plan(const TransformerRequest& request) {
  for (const TransformerPlan& structure : structures(request)) {
    for (const TransformerPlan& plan : sharded(request, structure)) {
      if (!request.can_run || request.can_run(plan)) return true;
    }
  }
  return false;
}

TransformerRequest with_pins(const TransformerRequest& request, TransformerPins pins) {
  TransformerRequest other = request;
  other.pins = pins;
  return other;
}

std::string switch_text(std::string_view name, bool is_on) {
  return fmt::format("{}={}", name, is_on ? "on" : "off");
}

// Each pin alone, as text and as pins; and all pins without it.
struct OnePin {
  std::string text;
  TransformerPins alone;
  TransformerPins without;
  const NumberPin* number = nullptr;
};

template <class Member>
void add_pin(const TransformerPins& pins, Member member, std::string text, const NumberPin* number,
             std::vector<OnePin>& list) {
  if (!(pins.*member)) return;
  OnePin pin{std::move(text), {}, pins, number};
  pin.alone.*member = pins.*member;
  (pin.without.*member).reset();
  list.push_back(std::move(pin));
}

std::vector<OnePin> pin_list(const TransformerPins& pins) {
  std::vector<OnePin> list;
  if (pins.mode)
    add_pin(pins, &TransformerPins::mode, fmt::format("mode={}", to_string(*pins.mode)), nullptr,
            list);
  for (const NumberPin& pin : kNumberPins) {
    if (pins.*pin.member)
      add_pin(pins, pin.member, fmt::format("{}={}", pin.name, *(pins.*pin.member)), &pin, list);
  }
  if (pins.is_head_first)
    add_pin(pins, &TransformerPins::is_head_first,
            fmt::format("placement={}", *pins.is_head_first ? "head-first" : "context-first"),
            nullptr, list);
  if (pins.recompute)
    add_pin(pins, &TransformerPins::recompute,
            fmt::format("recompute={}", to_string(*pins.recompute)), nullptr, list);
  if (pins.overlaps)
    add_pin(pins, &TransformerPins::overlaps, switch_text("overlap", *pins.overlaps), nullptr,
            list);
  if (pins.has_memory_pool)
    add_pin(pins, &TransformerPins::has_memory_pool, switch_text("pool", *pins.has_memory_pool),
            nullptr, list);
  return list;
}

// What the degree may be when nothing else is pinned.
std::string possible_values(const TransformerRequest& request, const OnePin& pin) {
  if (pin.number == nullptr) return "another value: no plan here has it";
  if (!request.task.runtime.has_flash && pin.number->member == &TransformerPins::cp)
    return "cp=1: a ring needs flash attention, which this --runtime has not";
  std::set<int> values;
  for (const TransformerPlan& structure : structures(with_pins(request, {}))) {
    for (const TransformerPlan& plan : sharded(with_pins(request, {}), structure)) {
      if (!request.can_run || request.can_run(plan)) values.insert(pin.number->value(plan));
    }
  }
  return fmt::format("{}= one of {}", pin.number->name, fmt::join(values, ", "));
}

bool mixes_modes(const TransformerPins& pins) {
  return pins.tp.value_or(1) > 1 &&
         (pins.sp.value_or(1) > 1 || pins.hp.value_or(1) > 1 || pins.cp.value_or(1) > 1);
}

void explain_pins(const TransformerRequest& request, Diagnostics& reasons) {
  const std::vector<OnePin> pins = pin_list(request.pins);
  for (const OnePin& pin : pins) {
    if (has_any_plan(with_pins(request, pin.alone))) continue;
    reasons.add({{}, 0, "--pin", pin.text, possible_values(request, pin)});
  }
  if (!reasons.empty()) return;
  std::vector<std::string> all;
  std::vector<std::string> helps;
  for (const OnePin& pin : pins) {
    all.push_back(pin.text);
    if (has_any_plan(with_pins(request, pin.without))) helps.push_back(pin.text);
  }
  std::string expected = helps.empty()
                             ? "fewer pins: they contradict each other on these GPUs"
                             : fmt::format("all of them but {}: together they fit no plan",
                                           fmt::join(helps, ", or but "));
  if (mixes_modes(request.pins))
    expected +=
        "; a sequence is split by tensor parallelism (tp) or by all-to-alls and rings (sp, hp, "
        "cp), not by both";
  reasons.add({{}, 0, "--pin", fmt::format("{}", fmt::join(all, ",")), std::move(expected)});
}

// The fewest nodes on which there is a plan. A curve has twice, four times ... as many GPUs.
std::optional<int> enough_gpus(const TransformerRequest& request,
                               std::optional<int> node_of_a_curve) {
  const int step = node_of_a_curve ? request.gpus : request.task.fabric.gpus_per_node;
  const int now = request.gpus / step;
  for (int nodes = now + 1; nodes <= now * kMostTimesAsManyNodes; ++nodes) {
    const bool is_times =
        nodes % now == 0 && std::has_single_bit(static_cast<unsigned>(nodes / now));
    if (!is_times && (node_of_a_curve || nodes > kEachNumberOfNodes)) continue;
    TransformerRequest more = on_gpus(request, step * nodes);
    if (node_of_a_curve) more.task.fabric.gpus_per_node = std::min(*node_of_a_curve, more.gpus);
    if (!search_transformer(more).best.empty()) return more.gpus;
  }
  return std::nullopt;
}

// The smallest longer sequence that all GPUs can share, where this one cannot be shared and that one fits.
std::optional<std::int64_t> divisible_sequence(TransformerRequest request) {
  const std::int64_t chunks = 2LL * request.gpus;
  if (request.task.sequence % chunks == 0) return std::nullopt;
  request.task.sequence += chunks - request.task.sequence % chunks;
  if (!best_of(request)) return std::nullopt;
  return request.task.sequence;
}

void explain_memory(const TransformerRequest& request, double least,
                    std::optional<int> node_of_a_curve, Diagnostics& reasons) {
  std::vector<std::string> others;
  for (const OnePin& pin : pin_list(request.pins)) {
    if (best_of(with_pins(request, pin.without))) others.push_back("without --pin " + pin.text);
  }
  if (const auto sequence = divisible_sequence(request)) {
    others.push_back(
        fmt::format("--sequence {}, which {} GPUs can share", *sequence, request.gpus));
  }
  const int node = request.task.fabric.gpus_per_node;
  if (const auto gpus = enough_gpus(request, node_of_a_curve)) {
    others.push_back(node_of_a_curve ? fmt::format("a --curve up to {} GPUs", *gpus)
                     : *gpus <= node ? fmt::format("{} GPUs", *gpus)
                                     : fmt::format("--nodes {}", *gpus / node));
  }
  for (const predict::GpuType& gpu : predict::gpu_types()) {
    if (gpu.memory_gib * kGiB < least) continue;
    others.push_back(fmt::format("--gpu {}", gpu.name));
    break;
  }
  std::string expected = fmt::format("{:.0f}GiB for the smallest plan", std::ceil(least / kGiB));
  if (!others.empty()) expected += fmt::format(" (or {})", fmt::join(others, ", or "));
  reasons.add({{}, 0, "--memory", fmt::format("{:.0f}GiB", request.memory_bytes / kGiB), expected});
}

}  // namespace

std::vector<TransformerAlternative> attention_families(const TransformerRequest& request) {
  std::vector<TransformerAlternative> list;
  for (const auto& [family, name] : {std::pair{AttentionFamily::ulysses, "heads only (Ulysses)"},
                                     {AttentionFamily::ring, "one ring only (Megatron-CP)"},
                                     {AttentionFamily::usp, "heads x one ring (USP)"}}) {
    TransformerRequest other = request;
    other.family = family;
    list.push_back({name, best_of(other)});
  }
  return list;
}

std::vector<TransformerAlternative> other_degrees(const TransformerRequest& request,
                                                  const TransformerPlan& chosen) {
  std::vector<TransformerAlternative> list;
  const auto add = [&](std::string change, const TransformerPins& pins) {
    const TransformerRequest other = with_pins(request, pins);
    if (has_any_plan(other)) list.push_back({std::move(change), best_of(other)});
  };
  for (const NumberPin& pin : kNumberPins) {
    if (request.pins.*pin.member) continue;
    const int value = pin.value(chosen);
    for (const int other : {value / 2, value * 2}) {
      if (other < 1) continue;
      TransformerPins pins = request.pins;
      pins.*pin.member = other;
      add(fmt::format("{}={}", pin.name, other), pins);
    }
  }
  if (!request.pins.is_head_first && chosen.grid.head > 1 && chosen.grid.context > 1) {
    TransformerPins pins = request.pins;
    pins.is_head_first = !chosen.grid.is_head_first;
    add(*pins.is_head_first ? "placement=head-first" : "placement=context-first", pins);
  }
  for (const Recompute recompute :
       {Recompute::none, Recompute::selective, Recompute::full, Recompute::plus}) {
    if (request.pins.recompute || recompute == chosen.recompute) continue;
    TransformerPins pins = request.pins;
    pins.recompute = recompute;
    add(fmt::format("recompute={}", to_string(recompute)), pins);
  }
  if (!request.pins.overlaps) {
    TransformerPins pins = request.pins;
    pins.overlaps = !chosen.overlaps();
    add(switch_text("overlap", *pins.overlaps), pins);
  }
  if (!request.pins.has_memory_pool) {
    TransformerPins pins = request.pins;
    pins.has_memory_pool = !chosen.has_memory_pool;
    add(switch_text("pool", *pins.has_memory_pool), pins);
  }
  return list;
}

std::optional<std::int64_t> dividable_batch(const TransformerRequest& request) {
  TransformerRequest other = with_pins(request, {});
  const std::int64_t first = request.task.batch + 1;
  for (std::int64_t batch = first; batch <= first + request.gpus; ++batch) {
    other.task.batch = batch;
    if (has_any_plan(other)) return batch;
  }
  return std::nullopt;
}

NoTransformerPlan why_no_plan(const TransformerRequest& request,
                              std::optional<int> node_of_a_curve) {
  NoTransformerPlan why;
  const TransformerAnswer answer = search_transformer(request);
  if (answer.least_memory > 0) {
    why.is_memory = true;
    explain_memory(request, answer.least_memory, node_of_a_curve, why.reasons);
    return why;
  }
  TransformerRequest any_trainer = request;
  any_trainer.can_run = nullptr;
  why.is_trainer = request.can_run && has_any_plan(any_trainer);
  if (!pin_list(request.pins).empty() && has_any_plan(with_pins(request, {}))) {
    explain_pins(request, why.reasons);
    return why;
  }
  if (why.is_trainer) return why;
  const auto batch = dividable_batch(request);
  why.reasons.add(
      {{},
       0,
       "--batch",
       std::to_string(request.task.batch),
       batch ? fmt::format("{}, which can be divided among {} GPUs", *batch, request.gpus)
             : fmt::format("a batch and a sequence that {} GPUs can divide", request.gpus)});
  return why;
}

TransformerRequest on_gpus(const TransformerRequest& request, int gpus) {
  TransformerRequest other = request;
  other.gpus = gpus;
  other.task.fabric.gpus_per_node = std::min(gpus, request.task.fabric.gpus_per_node);
  return other;
}

std::vector<int> usual_sizes(int gpus_per_node, int gpus) {
  std::vector<int> sizes;
  for (int size = 1; size < std::min(gpus_per_node, gpus); size *= 2) sizes.push_back(size);
  for (int nodes = 1; nodes * gpus_per_node <= gpus; ++nodes) {
    if (nodes <= 16 || std::has_single_bit(static_cast<unsigned>(nodes)))
      sizes.push_back(nodes * gpus_per_node);
  }
  if (sizes.empty() || sizes.back() != gpus) sizes.push_back(gpus);
  return sizes;
}

std::vector<std::string> pin_texts(const TransformerPins& pins) {
  std::vector<std::string> texts;
  for (const OnePin& pin : pin_list(pins)) texts.push_back(pin.text);
  return texts;
}

}  // namespace weir::plan
