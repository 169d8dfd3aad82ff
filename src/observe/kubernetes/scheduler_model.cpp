// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/scheduler_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "observe/kubernetes/filters.h"
#include "observe/kubernetes/matching.h"

namespace weir::observe {
namespace {

// What scores count for a pod that asks for nothing.
constexpr Amount kDefaultCpu = 100;
constexpr Amount kDefaultMemory = Amount{200} * 1024 * 1024;

std::string terms_text(const std::vector<NodeTerm>& terms) {
  std::string text;
  for (const auto& term : terms) text += to_string(term) + "|";
  return text;
}

// 0..100 of the largest, as kube-scheduler normalises.
std::int64_t normalised(std::int64_t value, std::int64_t largest) {
  return largest == 0 ? 0 : value * 100 / largest;
}

std::int64_t preference(const Pod& pod, const Node& node) {
  std::int64_t sum = 0;
  for (const auto& entry : pod.preferred_nodes) {
    if (matches(entry.term, node)) sum += entry.weight;
  }
  return sum;
}

std::int64_t disliked_taints(const Pod& pod, const Node& node) {
  return std::ranges::count_if(node.taints, [&](const Taint& taint) {
    return taint.effect == TaintEffect::prefer_no_schedule && !tolerates(pod.tolerations, taint);
  });
}

double backoff(int tries, double longest) {
  return std::min(longest, std::ldexp(1.0, std::max(0, tries - 1)));
}

std::int64_t balance(Amount cpu, Amount memory, const Amount* offered) {
  if (offered[0] == 0 || offered[1] == 0) return 100;
  const double cpu_share =
      std::min(1.0, static_cast<double>(cpu) / static_cast<double>(offered[0]));
  const double memory_share =
      std::min(1.0, static_cast<double>(memory) / static_cast<double>(offered[1]));
  return static_cast<std::int64_t>((1 - std::abs(cpu_share - memory_share) / 2) * 100);
}

std::int64_t least_allocated(Amount taken, Amount offered) {
  if (offered == 0 || taken > offered) return 0;
  return static_cast<std::int64_t>(static_cast<__int128>(offered - taken) * 100 / offered);
}

}  // namespace

std::string shape_key(const Pod& pod) {
  std::string key = fmt::format("{};", pod.priority);
  for (const auto& [name, quantity] : pod.requests) key += name + "=" + to_string(quantity) + ",";
  key += ";";
  for (const auto& [name, value] : pod.node_selector) key += name + "=" + value + ",";
  if (pod.node_affinity) key += ";" + terms_text(*pod.node_affinity);
  for (const auto& entry : pod.preferred_nodes)
    key += fmt::format(";{}:{}", entry.weight, to_string(entry.term));
  for (const auto& one : pod.tolerations) {
    key += fmt::format(";{}{}{}{}", one.key, one.exists ? "!" : "=", one.value,
                       one.effect ? static_cast<int>(*one.effect) : 9);
  }
  for (const auto& claim : pod.claims) key += ";claim " + pod.meta.ns + "/" + claim;
  return key;
}

SchedulerModel::SchedulerModel(const ClusterModel& cluster)
    : cluster_{cluster}, columns_{kCpu, kMemory, kPods} {}

std::uint16_t SchedulerModel::column_of(ResourceId id) {
  const auto at = std::ranges::find(columns_, id);
  if (at != columns_.end()) return static_cast<std::uint16_t>(at - columns_.begin());
  columns_.push_back(id);
  return static_cast<std::uint16_t>(columns_.size() - 1);
}

ShapeId SchedulerModel::shape_of(const Pod& pod) {
  const auto [at, is_new] =
      by_key_.try_emplace(shape_key(pod), static_cast<ShapeId>(shapes_.size()));
  if (!is_new) return at->second;
  Shape shape;
  shape.priority = pod.priority;
  shape.scored[0] = kDefaultCpu;
  shape.scored[1] = kDefaultMemory;
  for (const auto& [id, amount] : cluster_.amounts_of(pod)) {
    shape.needs.emplace_back(column_of(id), amount);
    if (id == kCpu || id == kMemory) shape.scored[id] = amount;
  }
  shapes_.push_back(std::move(shape));
  return at->second;
}

void SchedulerModel::make_placeable(ShapeId id, const Pod& pod) {
  auto& shape = shapes_[id];
  if (shape.is_placeable) return;
  shape.is_placeable = true;
  shape.takes.assign(cluster_.node_count(), 0);
  Pod alone = pod;
  alone.node.clear();
  alone.pod_affinity.clear();
  alone.pod_anti_affinity.clear();
  alone.spread.clear();
  const PodFilters filters{cluster_, alone};
  std::vector<std::int64_t> liked;
  std::vector<std::int64_t> disliked;
  for (NodeIndex i = 0; i < cluster_.node_count(); ++i) {
    const auto failing = filters.failing(i);
    const bool is_open =
        std::ranges::none_of(kStaticFilters, [&](Filter one) { return failing.has(one); });
    if (!is_open || !filters.too_small_in(i).empty()) continue;
    shape.takes[i] = 1;
    shape.nodes.push_back(i);
    liked.push_back(preference(pod, *cluster_.node(i).object));
    disliked.push_back(disliked_taints(pod, *cluster_.node(i).object));
  }
  if (shape.nodes.empty()) return;
  const auto most_liked = std::ranges::max(liked);
  const auto most_disliked = std::ranges::max(disliked);
  if (most_liked == 0 && most_disliked == 0) return;
  for (std::size_t i = 0; i < liked.size(); ++i) {
    shape.static_scores.push_back(static_cast<std::int32_t>(
        2 * normalised(liked[i], most_liked) + 3 * (100 - normalised(disliked[i], most_disliked))));
  }
}

SchedulerPlay::SchedulerPlay(const SchedulerModel& model, SeededRng rng)
    : model_{&model}, columns_{model.columns_.size()}, rng_{rng} {
  const auto& cluster = model.cluster_;
  const auto nodes = cluster.node_count();
  free_.resize(nodes * columns_);
  scored_.resize(nodes * 2);
  offered_.resize(nodes * 2);
  for (NodeIndex i = 0; i < nodes; ++i) {
    const auto& node = cluster.node(i);
    for (std::size_t c = 0; c < columns_; ++c)
      free_[i * columns_ + c] = node.free_of(model.columns_[c]);
    for (const auto id : {kCpu, kMemory}) offered_[i * 2 + id] = node.offered_of(id);
    for (const auto& pod : node.pods) {
      Amount taken[2] = {kDefaultCpu, kDefaultMemory};
      for (const auto& [id, amount] : cluster.amounts_of(*pod)) {
        if (id == kCpu || id == kMemory) taken[id] = amount;
      }
      for (const auto id : {kCpu, kMemory}) scored_[i * 2 + id] += taken[id];
    }
  }
  is_blocked_.resize(model.shapes_.size());
  old_.resize(model.shapes_.size());
  enough_nodes_ = nodes;
  if (nodes >= 100) {
    const auto percent = std::max<std::int64_t>(5, 50 - static_cast<std::int64_t>(nodes) / 125);
    enough_nodes_ = std::max<std::size_t>(100, nodes * static_cast<std::size_t>(percent) / 100);
  }
}

bool SchedulerPlay::fits(ShapeId id, NodeIndex node) const {
  const Amount* free = &free_[node * columns_];
  for (const auto& [column, amount] : model_->shapes_[id].needs) {
    if (amount > free[column]) return false;
  }
  return true;
}

std::int64_t SchedulerPlay::score(const SchedulerModel::Shape& shape, NodeIndex node) const {
  const Amount* taken = &scored_[node * 2];
  const Amount* offered = &offered_[node * 2];
  const Amount cpu = taken[0] + shape.scored[0];
  const Amount memory = taken[1] + shape.scored[1];
  const auto least = (least_allocated(cpu, offered[0]) + least_allocated(memory, offered[1])) / 2;
  const auto balanced =
      50 + (50 + balance(cpu, memory, offered) - balance(taken[0], taken[1], offered)) / 2;
  return least + balanced;
}

std::optional<NodeIndex> SchedulerPlay::find_node(ShapeId id) {
  const auto& shape = model_->shapes_[id];
  std::optional<NodeIndex> best;
  std::int64_t best_score = 0;
  std::uint64_t equals = 0;
  std::size_t found = 0;
  const auto count = shape.nodes.size();
  for (std::size_t step = 0; step < count && found < enough_nodes_; ++step) {
    const auto at = (next_start_ + step) % count;
    const auto node = shape.nodes[at];
    if (!fits(id, node)) continue;
    ++found;
    const auto points =
        score(shape, node) + (shape.static_scores.empty() ? 0 : shape.static_scores[at]);
    if (!best || points > best_score) {
      best = node;
      best_score = points;
      equals = 1;
    } else if (points == best_score && rng_.below(++equals) == 0) {
      best = node;
    }
  }
  next_start_ += count;
  return best;
}

void SchedulerPlay::take(ShapeId id, NodeIndex node, int sign) {
  const auto& shape = model_->shapes_[id];
  for (const auto& [column, amount] : shape.needs) free_[node * columns_ + column] -= sign * amount;
  for (int i = 0; i < 2; ++i)
    scored_[node * 2 + static_cast<std::size_t>(i)] += sign * shape.scored[i];
}

std::optional<NodeIndex> SchedulerPlay::submit(ItemId item, ShapeId shape, double now,
                                               int was_tried) {
  if (is_blocked_[shape] == 0) {
    if (const auto node = find_node(shape)) {
      take(shape, *node, 1);
      return node;
    }
    is_blocked_[shape] = 1;
    blocked_.push_back(shape);
  }
  ++waiting_;
  const Waiting waiting{item, shape, was_tried + 1, now, ++numbers_};
  if (waiting.tries < kTriesUntilOld) {
    young_.push_back(waiting);
  } else {
    if (old_[shape].empty()) old_shapes_.push_back(shape);
    old_[shape].push_back(waiting);
  }
  return std::nullopt;
}

// Everybody that waits was tried once more.
void SchedulerPlay::grow_old(double now) {
  std::size_t kept = 0;
  for (auto& one : young_) {
    ++one.tries;
    one.last_try = now;
    if (one.tries < kTriesUntilOld) {
      young_[kept++] = one;
      continue;
    }
    if (old_[one.shape].empty()) old_shapes_.push_back(one.shape);
    old_[one.shape].push_back(one);
  }
  young_.resize(kept);
  last_wake_ = now;
}

// The next to be tried, of those that fit.
struct SchedulerPlay::Best {
  using Key = std::tuple<bool, double, std::int64_t, double, std::uint64_t>;
  Key key;
  bool is_found = false;
  bool is_old = false;
  std::size_t index = 0;

  void offer(const Waiting& one, double last_try, double longest_backoff, std::int32_t priority,
             double now, bool old, std::size_t at) {
    const double ready = last_try + backoff(one.tries, longest_backoff);
    const bool is_backing_off = ready > now;
    const Key other{is_backing_off, is_backing_off ? std::floor(ready) : 0, -std::int64_t{priority},
                    last_try, one.number};
    if (is_found && !(other < key)) return;
    *this = {other, true, old, at};
  }
};

void SchedulerPlay::release(ShapeId shape, NodeIndex node, double now, std::vector<Start>& starts) {
  take(shape, node, -1);
  for (;;) {
    Best best;
    for (std::size_t i = 0; i < young_.size(); ++i) {
      const auto& one = young_[i];
      if (model_->shapes_[one.shape].takes[node] != 0 && fits(one.shape, node)) {
        best.offer(one, one.last_try, longest_backoff_, model_->shapes_[one.shape].priority, now,
                   false, i);
      }
    }
    for (std::size_t i = 0; i < old_shapes_.size(); ++i) {
      const auto id = old_shapes_[i];
      if (model_->shapes_[id].takes[node] == 0 || !fits(id, node)) continue;
      const auto& one = old_[id].front();
      best.offer(one, std::max(one.last_try, last_wake_), longest_backoff_,
                 model_->shapes_[id].priority, now, true, i);
    }
    if (!best.is_found) break;
    Waiting one;
    if (best.is_old) {
      auto& queue = old_[old_shapes_[best.index]];
      one = queue.front();
      queue.pop_front();
      if (queue.empty())
        old_shapes_.erase(old_shapes_.begin() + static_cast<std::ptrdiff_t>(best.index));
    } else {
      one = young_[best.index];
      young_.erase(young_.begin() + static_cast<std::ptrdiff_t>(best.index));
    }
    take(one.shape, node, 1);
    --waiting_;
    starts.push_back({one.item, one.shape, node});
  }
  std::erase_if(blocked_, [&](ShapeId id) {
    const bool is_free_again = model_->shapes_[id].takes[node] != 0 && fits(id, node);
    if (is_free_again) is_blocked_[id] = 0;
    return is_free_again;
  });
  grow_old(now);
}

}  // namespace weir::observe
