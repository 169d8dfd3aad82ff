// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/stranded.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "domain/target_workload.h"
#include "observe/kubernetes/cluster_model.h"
#include "observe/kubernetes/filters.h"
#include "observe/kubernetes/matching.h"
#include "observe/kubernetes/placing.h"
#include "schedule/place/fragmentation.h"

namespace weir::observe {
namespace {

struct NodeGpus {
  double total = 0;
  double used = 0;
  double free() const { return std::max(0.0, total - used); }
};

double amount_in(const Resources& resources, std::string_view name) {
  const auto* quantity = resources.find(name);
  return quantity != nullptr ? static_cast<double>(quantity->units_rounded_up()) : 0;
}

// Shares of memory count as parts of the node's devices.
NodeGpus gpus_of(const ModelNode& node) {
  NodeGpus gpus{gpus_in(node.object->allocatable), 0};
  const double memory = amount_in(node.object->allocatable, kShareOfMemory);
  for (const auto& pod : node.pods) {
    gpus.used += gpus_in(pod->requests);
    if (memory > 0) gpus.used += gpus.total * amount_in(pod->requests, kShareOfMemory) / memory;
  }
  return gpus;
}

bool asks_for_gpus(const Pod& pod) {
  return std::ranges::any_of(pod.requests, [](const auto& entry) {
    return is_gpu(entry.first) && !entry.second.is_zero();
  });
}

// The GPU pods that run or wait: what the cluster is expected to be asked for.
std::vector<PodPointer> gpu_pods(const ClusterModel& model,
                                 const std::vector<PendingWorkload>& pending) {
  std::vector<PodPointer> pods;
  for (const auto& node : model.nodes()) {
    std::ranges::copy_if(node.pods, std::back_inserter(pods),
                         [](const auto& pod) { return asks_for_gpus(*pod); });
  }
  for (const auto& workload : pending) {
    std::ranges::copy_if(workload.pods, std::back_inserter(pods),
                         [](const auto& pod) { return asks_for_gpus(*pod); });
  }
  return pods;
}

// The least that any GPU pod asks for of a resource.
class LeastAsked {
 public:
  LeastAsked(const ClusterModel& model, const std::vector<PodPointer>& pods) {
    for (const auto& pod : pods) {
      std::map<ResourceId, Amount> asked{{kCpu, 0}, {kMemory, 0}};
      for (const auto& [id, amount] : model.amounts_of(*pod)) asked[id] = amount;
      for (const auto id : {kCpu, kMemory}) {
        auto& least = least_.try_emplace(id, asked[id]).first->second;
        least = std::min(least, asked[id]);
      }
      const auto share = static_cast<Amount>(amount_in(pod->requests, kShareOfMemory));
      if (share > 0) least_share_ = std::min(least_share_, share);
    }
  }
  bool is_short(const ModelNode& node, ResourceId id) const {
    const auto at = least_.find(id);
    return node.free_of(id) <= 0 || (at != least_.end() && node.free_of(id) < at->second);
  }
  bool is_split(const ModelNode& node) const {
    const auto shares = free_device_shares(node);
    return !shares.empty() &&
           std::ranges::all_of(shares, [&](Amount left) { return left < least_share_; });
  }

 private:
  std::map<ResourceId, Amount> least_;
  Amount least_share_ = std::numeric_limits<Amount>::max();
};

// Why the free GPUs of a node are of no use; empty: they are.
std::string cause_on(const ModelNode& node, const std::vector<PodPointer>& pods,
                     const LeastAsked& least) {
  const auto& object = *node.object;
  if (object.is_unschedulable) return "cordoned";
  if (!object.is_ready || std::ranges::any_of(object.taints, means_not_ready)) return "not_ready";
  const auto is_welcome = [&](const PodPointer& pod) {
    return first_untolerated(*pod, object) == nullptr;
  };
  const bool is_tainted = std::ranges::any_of(object.taints, [](const Taint& taint) {
    return taint.effect != TaintEffect::prefer_no_schedule;
  });
  if (is_tainted && std::ranges::none_of(pods, is_welcome)) return "tainted";
  if (node.free_of(kPods) <= 0) return "pod_count";
  if (least.is_short(node, kCpu)) return "cpu";
  if (least.is_short(node, kMemory)) return "memory";
  return least.is_split(node) ? "shares" : "";
}

Shape shape_of(const Pod& pod) {
  Shape shape;
  const auto* cpu = pod.requests.find("cpu");
  shape.cpu = MilliCpu{cpu != nullptr ? cpu->milli_rounded_up() : 0};
  shape.gpu_count = std::min(kMaxGpusPerNode, static_cast<std::int32_t>(gpus_in(pod.requests)));
  shape.gpu_share = shape.gpu_count > 0 ? kWholeGpu : MilliGpu{0};
  return shape;
}

schedule::NodeState state_of(const ModelNode& node, const NodeGpus& gpus, GpuModelId model) {
  schedule::NodeState state;
  state.free_cpu = MilliCpu{std::max<Amount>(0, node.free_of(kCpu))};
  state.gpu_count = static_cast<std::uint8_t>(std::min<double>(kMaxGpusPerNode, gpus.total));
  state.model = state.gpu_count > 0 ? model : kNoGpuModel;
  double left = std::min<double>(gpus.free(), state.gpu_count);
  for (std::size_t i = 0; i < state.gpu_count && left > 0; ++i, left -= 1) {
    state.free_gpu[i] = static_cast<std::int16_t>(std::min(1.0, left) * 1000);
  }
  return state;
}

// FGD's measure over all nodes: what the expected GPU pods could not use of what is free.
double fragmented_gpus(const ClusterModel& model, const std::vector<PodPointer>& pods) {
  std::map<Shape, std::int64_t> counts;
  for (const auto& pod : pods) {
    if (gpus_in(pod->requests) > 0) ++counts[shape_of(*pod)];
  }
  if (counts.empty()) return 0;
  std::vector<ExpectedShape> expected;
  for (const auto& [shape, count] : counts) expected.push_back({expected_shape(shape), count});
  const schedule::Fragmentation fragmentation{make_target_workload(expected, 100)};
  GpuModels models;
  const auto any_model = models.intern("gpu").value_or(kNoGpuModel);
  double sum = 0;
  for (const auto& node : model.nodes()) {
    const auto gpus = gpus_of(node);
    if (gpus.free() <= 0) continue;
    const auto state = state_of(node, gpus, any_model);
    sum += static_cast<double>(fragmentation.weighted(state)) /
           static_cast<double>(fragmentation.total_weight()) / 1000;
  }
  return sum;
}

bool may_move(const Pod& pod) {
  return !pod.meta.deleted && !pod.meta.ns.starts_with("kube-") &&
         !(pod.meta.owner && pod.meta.owner->kind == "DaemonSet");
}

double wholly_free_gpus(const ClusterModel& model) {
  double sum = 0;
  for (const auto& node : model.nodes()) {
    const auto gpus = gpus_of(node);
    if (gpus.used <= 0 && !node.object->is_unschedulable) sum += gpus.total;
  }
  return sum;
}

constexpr std::size_t kNodesEmptied = 64;  // nodes tried; enough to tell whether it pays

// Empties the nodes with the fewest GPUs in use, one after the other, into nodes that are in use anyway.
Defragmentation defragment(ClusterModel& model, const std::vector<PendingWorkload>& pending) {
  Defragmentation result;
  std::set<const PendingWorkload*> fit_before;
  for (const auto& workload : pending) {
    if (!workload.pods.empty() && count_that_fit(model, workload.pods) == workload.pods.size())
      fit_before.insert(&workload);
  }
  const double before = wholly_free_gpus(model);
  std::vector<std::pair<double, NodeIndex>> by_use;
  for (NodeIndex i = 0; i < model.node_count(); ++i) {
    const auto gpus = gpus_of(model.node(i));
    if (gpus.used > 0 && gpus.free() > 0) by_use.emplace_back(gpus.used, i);
  }
  std::ranges::sort(by_use);
  if (by_use.size() > kNodesEmptied) by_use.resize(kNodesEmptied);
  Trial kept{model};
  std::set<NodeIndex> emptied;
  for (const auto& [used, source] : by_use) {
    std::vector<std::pair<PodPointer, NodeIndex>> moves;
    const auto pods = model.node(source).pods;
    bool all_fit = true;
    for (const auto& pod : pods) {
      if (!asks_for_gpus(*pod)) continue;
      auto fresh = std::make_shared<Pod>(*pod);
      fresh->node.clear();
      const PodFilters filters{model, *fresh};
      std::optional<NodeIndex> target;
      for (NodeIndex i = 0; i < model.node_count() && !target; ++i) {
        const bool is_in_use =
            i != source && !emptied.contains(i) && gpus_of(model.node(i)).used > 0;
        if (is_in_use && filters.passes(i)) target = i;
      }
      if (!may_move(*pod) || !target) {
        all_fit = false;
        break;
      }
      model.remove(*pod, source);
      model.place(pod, *target);
      moves.emplace_back(pod, *target);
    }
    for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
      model.remove(*move->first, move->second);
      model.place(move->first, source);
    }
    if (!all_fit || moves.empty()) continue;
    for (const auto& [pod, target] : moves) {
      kept.remove(pod, source);
      kept.place(pod, target);
    }
    emptied.insert(source);
    result.moves += moves.size();
  }
  result.gpus_freed = std::max(0.0, wholly_free_gpus(model) - before);
  for (const auto& workload : pending) {
    if (workload.pods.empty() || fit_before.contains(&workload)) continue;
    if (count_that_fit(model, workload.pods) == workload.pods.size())
      result.would_start.push_back(workload.name.full_name());
  }
  return result;
}

}  // namespace

ClusterSummary summarize(const ClusterObjects& objects,
                         const std::vector<PendingWorkload>& pending) {
  ClusterModel model{objects};
  ClusterSummary summary;
  summary.nodes = model.node_count();
  const auto pods = gpu_pods(model, pending);
  const LeastAsked least{model, pods};
  std::map<std::string, StrandedGpus> stranded;
  for (const auto& node : model.nodes()) {
    const auto gpus = gpus_of(node);
    summary.gpus += gpus.total;
    summary.gpus_used += gpus.used;
    summary.gpus_free += gpus.free();
    if (gpus.free() <= 0) continue;
    const auto cause = cause_on(node, pods, least);
    if (cause.empty()) continue;
    auto& entry = stranded[cause];
    entry.cause = cause;
    entry.gpus += gpus.free();
    ++entry.nodes;
  }
  for (auto& [cause, entry] : stranded) summary.stranded.push_back(std::move(entry));
  std::ranges::stable_sort(summary.stranded,
                           [](const auto& a, const auto& b) { return a.gpus > b.gpus; });
  summary.gpus_fragmented = fragmented_gpus(model, pods);
  summary.defragmentation = defragment(model, pending);
  return summary;
}

}  // namespace weir::observe
