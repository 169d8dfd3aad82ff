// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/observed_values.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "domain/shape.h"

namespace weir::observe {
namespace {

constexpr std::string_view kShareMemory = "aliyun.com/gpu-mem";
constexpr std::string_view kShareCount = "aliyun.com/gpu-count";
constexpr std::string_view kShareIndex = "ALIYUN_COM_GPU_MEM_IDX";
constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
constexpr std::array<std::string_view, 3> kWholeGpus = {kNvidiaGpu, "amd.com/gpu",
                                                        "gpu.intel.com/i915"};
constexpr std::int64_t kMebibyte = 1 << 20;

std::int64_t amount_of(const Resources& resources, std::string_view name) {
  const Quantity* found = resources.find(name);
  return found == nullptr ? 0 : found->units_rounded_down();
}

std::int64_t whole_gpus_in(const Resources& resources) {
  std::int64_t count = 0;
  for (const std::string_view name : kWholeGpus) count += amount_of(resources, name);
  return count;
}

// Slices of GPUs, each of which a pod holds alone.
std::int64_t slices_in(const Resources& resources) {
  std::int64_t count = 0;
  for (const auto& [name, quantity] : resources) {
    if (name.starts_with(kMigPrefix)) count += quantity.units_rounded_down();
  }
  return count;
}

std::int32_t as_gpu_count(std::int64_t count) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(count, 0, kMaxGpusPerNode));
}

std::string label_of(const Node& node, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const std::string* value = node.meta.labels.find(name); value != nullptr && !value->empty())
      return *value;
  }
  return {};
}

MilliCpu cpu_in(const Resources& resources) {
  const Quantity* cpu = resources.find("cpu");
  return MilliCpu{cpu == nullptr ? 0 : cpu->milli_rounded_up()};
}

Mebibytes memory_in(const Resources& resources) {
  const Quantity* memory = resources.find("memory");
  const std::int64_t bytes = memory == nullptr ? 0 : memory->units_rounded_up();
  return Mebibytes{bytes / kMebibyte + (bytes % kMebibyte != 0 ? 1 : 0)};
}

ObservedPhase phase_of(const Pod& pod) {
  if (pod.phase == PodPhase::succeeded) return ObservedPhase::finished;
  if (pod.phase == PodPhase::failed) return ObservedPhase::failed;
  return pod.node.empty() ? ObservedPhase::waiting : ObservedPhase::running;
}

GpuMask named_gpus(const Pod& pod) {
  GpuMask gpus;
  const std::string* index = pod.meta.annotations.find(kShareIndex);
  if (index == nullptr || index->empty() || index->size() > 2 ||
      !std::all_of(index->begin(), index->end(), [](char c) { return c >= '0' && c <= '9'; }))
    return gpus;
  const int gpu = std::stoi(*index);
  if (gpu < kMaxGpusPerNode) gpus.insert(gpu);
  return gpus;
}

void count_gpus(const Pod& pod, std::int64_t share_units, ObservedTask& task) {
  const std::int64_t whole = whole_gpus_in(pod.requests) + slices_in(pod.requests);
  const std::int64_t share = amount_of(pod.requests, kShareMemory);
  if (whole > 0) {
    task.gpu_count = as_gpu_count(whole);
    task.gpu_share = kWholeGpu;
  } else if (share > 0 && share_units > 0) {
    task.gpu_count = 1;
    task.gpu_share = MilliGpu{std::clamp<std::int64_t>(
        (share * kWholeGpu.value + share_units - 1) / share_units, 1, kWholeGpu.value)};
    task.gpus = named_gpus(pod);
  }
}

std::string detail_of(const Pod& pod, std::string_view workload, const ObservedTask& task) {
  nlohmann::ordered_json json;
  json["uid"] = pod.meta.uid;
  json["namespace"] = pod.meta.ns;
  json["pod"] = pod.meta.name;
  if (!workload.empty()) json["workload"] = workload;
  json["gpus"] = static_cast<double>(task.gpu_count) * static_cast<double>(task.gpu_share.value) /
                 static_cast<double>(kWholeGpu.value);
  json["cpu_milli"] = task.cpu.value;
  json["memory_mib"] = task.memory.value;
  for (const auto& [name, quantity] : pod.requests)
    json["requests"][name] = to_string(quantity, name == "memory");
  json["priority"] = pod.priority;
  if (!pod.priority_class.empty()) json["priority_class"] = pod.priority_class;
  json["scheduler"] = pod.scheduler;
  if (!pod.unschedulable.empty()) json["said"] = pod.unschedulable;
  if (pod.meta.deleted) json["is_ending"] = true;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

std::string gpu_model_of(const Node& node) {
  std::string model = label_of(node, {"nvidia.com/gpu.product", "amd.com/gpu.product-name",
                                      "aliyun.accelerator/nvidia_name", "gpu-model"});
  constexpr std::string_view kMaker = "NVIDIA-";
  if (model.starts_with(kMaker)) model.erase(0, kMaker.size());
  return model.empty() ? "GPU" : model;
}

std::int64_t share_units_of(const Node& node) {
  const std::int64_t devices = amount_of(node.allocatable, kShareCount);
  return devices > 0 ? amount_of(node.allocatable, kShareMemory) / devices : 0;
}

std::int32_t gpu_count_of(const Node& node) {
  const std::int64_t whole = whole_gpus_in(node.allocatable) + slices_in(node.allocatable);
  return as_gpu_count(std::max(whole, amount_of(node.allocatable, kShareCount)));
}

ObservedNode observed_node(const Node& node) {
  ObservedNode seen;
  seen.name = node.meta.name;
  seen.gpu_count = gpu_count_of(node);
  if (seen.gpu_count > 0) seen.model = gpu_model_of(node);
  seen.pool = label_of(node, {"node.kubernetes.io/instance-type", "cloud.google.com/gke-nodepool",
                              "eks.amazonaws.com/nodegroup", "agentpool"});
  seen.rack =
      label_of(node, {"topology.kubernetes.io/rack", "rack", "topology.kubernetes.io/zone"});
  if (seen.pool.empty()) seen.pool = seen.gpu_count > 0 ? seen.model : "no GPUs";
  const Quantity* cpu = node.allocatable.find("cpu");
  const Quantity* memory = node.allocatable.find("memory");
  seen.cpu = MilliCpu{cpu == nullptr ? 0 : cpu->milli_rounded_down()};
  seen.memory = Mebibytes{memory == nullptr ? 0 : memory->units_rounded_down() / kMebibyte};
  seen.is_up = node.is_ready && !node.is_unschedulable;
  return seen;
}

bool is_shown(const Pod& pod) {
  if (pod.meta.owner && (pod.meta.owner->kind == "DaemonSet" || pod.meta.owner->kind == "Node"))
    return false;
  return pod.meta.ns != "kube-system";
}

ObservedTask observed_task(const Pod& pod, std::string_view workload, std::int64_t share_units) {
  ObservedTask task;
  task.uid = pod.meta.uid;
  task.name = pod.meta.full_name();
  task.cpu = cpu_in(pod.requests);
  task.memory = memory_in(pod.requests);
  count_gpus(pod, share_units, task);
  task.node = pod.node;
  task.phase = phase_of(pod);
  task.created = pod.meta.created;
  task.started = pod.scheduled ? pod.scheduled : pod.started;
  task.ended = pod.ended;
  task.is_shown = is_shown(pod);
  task.detail = detail_of(pod, workload, task);
  return task;
}

}  // namespace weir::observe
