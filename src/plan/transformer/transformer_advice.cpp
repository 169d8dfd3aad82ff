// SPDX-License-Identifier: Apache-2.0
#include "plan/transformer/transformer_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
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
// Up to there each is tried. Beyond: twice, four times ... as many, then those below the first that is enough.
constexpr int kEachNumberOfNodes = 16;
// Of those below: each costs a search, so that an answer takes less than a second.
constexpr std::uint64_t kMostStructuresBelow = 500'000;
// Batches that GPUs can divide, below and above the one that was asked for: the nearest need not fit.
constexpr std::size_t kBatchesEachWay = 3;

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

TransformerRequest for_any_trainer(const TransformerRequest& request) {
  TransformerRequest other = request;
  other.can_run = nullptr;
  return other;
}

// The pins that are words, by the name they are written with and what a plan has there.
struct WordPin {
  const char* name;
  std::string (*value)(const TransformerPlan&);
};

std::string_view placement_word(bool is_head_first) {
  return is_head_first ? "head-first" : "context-first";
}

std::string_view switch_word(bool is_on) {
  return is_on ? "on" : "off";
}

constexpr WordPin kModePin{"mode",
                           [](const TransformerPlan& p) { return std::string{to_string(p.mode)}; }};
constexpr WordPin kPlacementPin{"placement", [](const TransformerPlan& p) {
                                  return std::string{placement_word(p.grid.is_head_first)};
                                }};
constexpr WordPin kRecomputePin{
    "recompute", [](const TransformerPlan& p) { return std::string{to_string(p.recompute)}; }};
constexpr WordPin kOverlapPin{
    "overlap", [](const TransformerPlan& p) { return std::string{switch_word(p.overlaps())}; }};
constexpr WordPin kPoolPin{
    "pool", [](const TransformerPlan& p) { return std::string{switch_word(p.has_memory_pool)}; }};

// Each pin alone, as text and as pins; and all pins without it. It is a number or a word.
struct OnePin {
  std::string text;
  TransformerPins alone;
  TransformerPins without;
  const NumberPin* number = nullptr;
  const WordPin* word = nullptr;
};

template <class Member>
OnePin one_pin(const TransformerPins& pins, Member member, std::string text) {
  OnePin pin{std::move(text), {}, pins};
  pin.alone.*member = pins.*member;
  (pin.without.*member).reset();
  return pin;
}

std::vector<OnePin> pin_list(const TransformerPins& pins) {
  std::vector<OnePin> list;
  const auto add_word = [&](const WordPin& word, auto member, std::string_view value) {
    list.push_back(one_pin(pins, member, fmt::format("{}={}", word.name, value)));
    list.back().word = &word;
  };
  if (pins.mode) add_word(kModePin, &TransformerPins::mode, to_string(*pins.mode));
  for (const NumberPin& pin : kNumberPins) {
    if (!(pins.*pin.member)) continue;
    list.push_back(one_pin(pins, pin.member, fmt::format("{}={}", pin.name, *(pins.*pin.member))));
    list.back().number = &pin;
  }
  if (pins.is_head_first)
    add_word(kPlacementPin, &TransformerPins::is_head_first, placement_word(*pins.is_head_first));
  if (pins.recompute)
    add_word(kRecomputePin, &TransformerPins::recompute, to_string(*pins.recompute));
  if (pins.overlaps) add_word(kOverlapPin, &TransformerPins::overlaps, switch_word(*pins.overlaps));
  if (pins.has_memory_pool)
    add_word(kPoolPin, &TransformerPins::has_memory_pool, switch_word(*pins.has_memory_pool));
  return list;
}

// What a plan may have there when nothing is pinned.
template <class Value>
auto values_of_plans(const TransformerRequest& request, Value value) {
  const TransformerRequest unpinned = with_pins(request, {});
  std::set<decltype(value(TransformerPlan{}))> values;
  for (const TransformerPlan& structure : structures(unpinned)) {
    for (const TransformerPlan& plan : sharded(unpinned, structure)) {
      if (!request.can_run || request.can_run(plan)) values.insert(value(plan));
    }
  }
  return values;
}

// Which recomputations there are depends on the runtime.
std::string recompute_hint(const TransformerRequest& request, const OnePin& pin) {
  const std::optional<Recompute> pinned = pin.alone.recompute;
  const bool has_flash = request.task.runtime.has_flash;
  if (pinned == Recompute::selective && has_flash)
    return "; selective needs a runtime without flash attention (--runtime megatron-2021)";
  if (pinned == Recompute::plus && !has_flash)
    return "; selective++ needs flash attention, which this --runtime has not";
  return "";
}

std::string possible_values(const TransformerRequest& request, const OnePin& pin) {
  if (pin.number == nullptr)
    return fmt::format("{}= one of {}{}", pin.word->name,
                       fmt::join(values_of_plans(request, pin.word->value), ", "),
                       recompute_hint(request, pin));
  if (!request.task.runtime.has_flash && pin.number->member == &TransformerPins::cp)
    return "cp=1: a ring needs flash attention, which this --runtime has not";
  return fmt::format("{}= one of {}", pin.number->name,
                     fmt::join(values_of_plans(request, pin.number->value), ", "));
}

bool mixes_modes(const TransformerPins& pins) {
  return pins.tp.value_or(1) > 1 &&
         (pins.sp.value_or(1) > 1 || pins.hp.value_or(1) > 1 || pins.cp.value_or(1) > 1);
}

void explain_pins(const TransformerRequest& request, Diagnostics& reasons) {
  const std::vector<OnePin> pins = pin_list(request.pins);
  bool is_one_alone = false;
  for (const OnePin& pin : pins) {
    if (has_any_plan(with_pins(request, pin.alone))) continue;
    reasons.add({{}, 0, "--pin", pin.text, possible_values(request, pin)});
    is_one_alone = true;
  }
  if (is_one_alone) return;
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

// The fewest nodes on which there is a plan, as far as they are tried. A curve has twice, four times ... as many GPUs.
std::optional<int> enough_gpus(const TransformerRequest& request,
                               std::optional<int> node_of_a_curve) {
  const int step = node_of_a_curve ? request.gpus : request.task.fabric.gpus_per_node;
  const int now = request.gpus / step;
  std::uint64_t structures_seen = 0;
  const auto is_enough = [&](int nodes) {
    TransformerRequest more = on_gpus(request, step * nodes);
    if (node_of_a_curve) more.task.fabric.gpus_per_node = std::min(*node_of_a_curve, more.gpus);
    const TransformerAnswer answer = search_transformer(more);
    structures_seen += answer.structures;
    return !answer.best.empty();
  };
  int too_few = now;
  for (int nodes = now + 1; nodes <= now * kMostTimesAsManyNodes; ++nodes) {
    const bool is_times =
        nodes % now == 0 && std::has_single_bit(static_cast<unsigned>(nodes / now));
    if (!is_times && (node_of_a_curve || nodes > kEachNumberOfNodes)) continue;
    if (!is_enough(nodes)) {
      too_few = nodes;
      continue;
    }
    if (node_of_a_curve) return step * nodes;
    structures_seen = 0;
    for (int fewer = too_few + 1; fewer < nodes && structures_seen < kMostStructuresBelow; ++fewer)
      if (is_enough(fewer)) return step * fewer;
    return step * nodes;
  }
  return std::nullopt;
}

// With the margin.
double whole_memory(const TransformerRequest& request) {
  return request.memory_bytes + request.margin_bytes;
}

// "80GiB", "81919MiB"
std::string memory_words(double bytes) {
  constexpr double kMiB = 1024.0 * 1024;
  return std::fmod(bytes, kGiB) == 0 ? fmt::format("{:.0f}GiB", bytes / kGiB)
                                     : fmt::format("{:.0f}MiB", bytes / kMiB);
}

// The first type of GPU with that much memory. Nothing where the memory is not the GPU's own but --memory's: another GPU
// does not change it.
std::optional<std::string_view> large_enough_gpu(const TransformerRequest& request,
                                                 const AskedFor& asked, double least) {
  const predict::GpuType& in_use = request.task.gpu;
  if (!asked.memory.empty() || whole_memory(request) != in_use.memory_gib * kGiB)
    return std::nullopt;
  for (const predict::GpuType& gpu : predict::gpu_types())
    if (gpu.memory_gib * kGiB >= least && gpu.name != in_use.name) return gpu.name;
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

void explain_memory(const TransformerRequest& request, double least_of_plan, const AskedFor& asked,
                    Diagnostics& reasons) {
  const double least = least_of_plan + request.margin_bytes;
  std::vector<std::string> others;
  for (const OnePin& pin : pin_list(request.pins)) {
    if (best_of(with_pins(request, pin.without))) others.push_back("without --pin " + pin.text);
  }
  if (const auto sequence = divisible_sequence(request)) {
    others.push_back(
        fmt::format("--sequence {}, which {} GPUs can share", *sequence, request.gpus));
  }
  const int node = request.task.fabric.gpus_per_node;
  if (const auto gpus = enough_gpus(request, asked.node_of_a_curve)) {
    others.push_back(asked.node_of_a_curve ? fmt::format("a --curve up to {} GPUs", *gpus)
                     : *gpus <= node       ? fmt::format("{} GPUs", *gpus)
                                           : fmt::format("--nodes {}", *gpus / node));
  }
  if (const auto gpu = large_enough_gpu(request, asked, least))
    others.push_back(fmt::format("--gpu {}", *gpu));
  if (request.can_run && best_of(for_any_trainer(request))) others.emplace_back("another --export");
  std::string expected = fmt::format("{:.0f}GiB for the smallest plan", std::ceil(least / kGiB));
  if (!others.empty()) expected += fmt::format(" (or {})", fmt::join(others, ", or "));
  const std::string found =
      asked.memory.empty() ? memory_words(whole_memory(request)) : asked.memory;
  reasons.add({{}, 0, "--memory", found, expected});
}

// Batches near the asked one that the GPUs can divide with these pins, whatever the trainer; the nearest first.
std::vector<std::int64_t> near_batches(const TransformerRequest& request) {
  TransformerRequest other = for_any_trainer(request);
  std::vector<std::int64_t> found;
  for (const int step : {-1, 1}) {
    const std::size_t before = found.size();
    for (std::int64_t away = 1; away <= request.gpus + 1; ++away) {
      other.task.batch = request.task.batch + step * away;
      if (other.task.batch < 1 || found.size() == before + kBatchesEachWay) break;
      if (has_any_plan(other)) found.push_back(other.task.batch);
    }
  }
  const auto distance = [&](std::int64_t batch) { return std::abs(batch - request.task.batch); };
  std::stable_sort(found.begin(), found.end(),
                   [&](std::int64_t a, std::int64_t b) { return distance(a) < distance(b); });
  return found;
}

// The nearest below and the nearest above, ascending.
std::vector<std::int64_t> ends_of(const std::vector<std::int64_t>& nearest, std::int64_t asked) {
  std::vector<std::int64_t> ends;
  const auto is_below = [&](std::int64_t batch) { return batch < asked; };
  if (const auto below = std::find_if(nearest.begin(), nearest.end(), is_below);
      below != nearest.end())
    ends.push_back(*below);
  if (const auto above = std::find_if_not(nearest.begin(), nearest.end(), is_below);
      above != nearest.end())
    ends.push_back(*above);
  return ends;
}

TransformerRequest with_batch(const TransformerRequest& request, std::int64_t batch) {
  TransformerRequest other = request;
  other.task.batch = batch;
  return other;
}

// What was asked for, and then less of it until other batches help.
std::vector<TransformerRequest> less_and_less(const TransformerRequest& request) {
  std::vector<TransformerRequest> list{request};
  const bool has_pins = !pin_list(request.pins).empty();
  if (has_pins) list.push_back(with_pins(request, {}));
  if (!request.can_run) return list;
  list.push_back(for_any_trainer(request));
  if (has_pins) list.push_back(for_any_trainer(with_pins(request, {})));
  return list;
}

// No plan, because the GPUs cannot divide the batch. What else stands in the way of the batch that is advised is told with
// it: memory, pins, the trainer.
void explain_batch(const TransformerRequest& request, const AskedFor& asked,
                   NoTransformerPlan& why) {
  const auto add = [&](std::string expected) {
    why.reasons.add({{}, 0, "--batch", std::to_string(request.task.batch), std::move(expected)});
  };
  const auto sequence = divisible_sequence(request);
  const std::string by_sequence =
      sequence ? fmt::format("--sequence {}, which {} GPUs can share", *sequence, request.gpus)
               : "";
  for (const TransformerRequest& less : less_and_less(request)) {
    std::vector<std::int64_t> dividing = near_batches(less);
    std::erase_if(dividing, [&](std::int64_t batch) {
      return less.can_run && !has_any_plan(with_batch(less, batch));
    });
    if (dividing.empty()) continue;
    std::vector<std::int64_t> fitting = dividing;
    std::erase_if(fitting, [&](std::int64_t batch) { return !best_of(with_batch(less, batch)); });
    if (fitting.empty() && sequence) break;
    const std::vector<std::int64_t>& advised = fitting.empty() ? dividing : fitting;
    add(fmt::format("{}, which can be divided among {} GPUs{}",
                    fmt::join(ends_of(advised, request.task.batch), " or "), request.gpus,
                    sequence ? fmt::format(" (or {})", by_sequence) : ""));
    const TransformerRequest helped = with_batch(request, advised.front());
    const bool keeps_pins = less.pins == request.pins;
    if (!keeps_pins) explain_pins(for_any_trainer(helped), why.reasons);
    if (request.can_run && !less.can_run) why.beyond_trainer = with_pins(helped, less.pins);
    if (fitting.empty() && keeps_pins) {
      const TransformerRequest smallest = with_batch(less, advised.front());
      explain_memory(smallest, search_transformer(smallest).least_memory, asked, why.reasons);
    }
    return;
  }
  add(sequence ? by_sequence
               : fmt::format("a batch and a sequence that {} GPUs can divide", request.gpus));
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
    add(fmt::format("placement={}", placement_word(*pins.is_head_first)), pins);
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
    add(fmt::format("overlap={}", switch_word(*pins.overlaps)), pins);
  }
  if (!request.pins.has_memory_pool) {
    TransformerPins pins = request.pins;
    pins.has_memory_pool = !chosen.has_memory_pool;
    add(fmt::format("pool={}", switch_word(*pins.has_memory_pool)), pins);
  }
  return list;
}

std::vector<std::int64_t> dividable_batches(const TransformerRequest& request) {
  return ends_of(near_batches(request), request.task.batch);
}

NoTransformerPlan why_no_plan(const TransformerRequest& request, const AskedFor& asked) {
  NoTransformerPlan why;
  const TransformerAnswer answer = search_transformer(request);
  if (answer.least_memory > 0) {
    why.is_memory = true;
    explain_memory(request, answer.least_memory, asked, why.reasons);
    return why;
  }
  if (request.can_run && has_any_plan(for_any_trainer(request))) why.beyond_trainer = request;
  if (!pin_list(request.pins).empty() && has_any_plan(with_pins(request, {}))) {
    explain_pins(request, why.reasons);
    return why;
  }
  if (!why.beyond_trainer) explain_batch(request, asked, why);
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
