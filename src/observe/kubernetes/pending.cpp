// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/pending.h"

#include <algorithm>
#include <map>

namespace weir::observe {
namespace {

using Found = std::map<ObjectName, PendingWorkload>;

template <class Object>
std::shared_ptr<const Object> find_in(const ObjectMap<Object>& objects, const std::string& name) {
  const auto at = objects.find(name);
  return at != objects.end() ? at->second : nullptr;
}

std::string group_of(const Pod& pod) {
  for (const auto key : {kCoschedulingGroup, kKueueGroup}) {
    if (const auto* name = pod.meta.labels.find(key)) return *name;
  }
  const auto* name = pod.meta.annotations.find(kVolcanoGroup);
  return name != nullptr ? *name : "";
}

// Kueue's Workload of a job (owned by it) or of a pod group (of its name).
std::shared_ptr<const Workload> kueue_workload_of(const ObjectName& name,
                                                  const ClusterObjects& objects) {
  for (const auto& [key, workload] : objects.kueue_workloads) {
    if (workload->meta.ns != name.ns) continue;
    const auto& owner = workload->meta.owner;
    if (owner && owner->kind == name.kind && owner->name == name.name) return workload;
    if (!owner && workload->meta.name == name.name) return workload;
  }
  return nullptr;
}

void add_waiting_pods(Found& found, const ClusterObjects& objects) {
  for (const auto& [key, pod] : objects.pods) {
    if (!is_waiting(*pod, objects)) continue;
    const auto name = workload_of(*pod, objects);
    auto& workload = found[name];
    if (workload.pods.empty()) {
      workload.name = name;
      workload.since = pod->meta.created;
    }
    workload.since = std::min(workload.since, pod->meta.created);
    workload.priority = std::max(workload.priority, pod->priority);
    workload.pods.push_back(pod);
  }
}

void add_running_pods(Found& found, const ClusterObjects& objects) {
  for (const auto& [key, pod] : objects.pods) {
    if (!pod->holds_resources() || is_waiting(*pod, objects)) continue;
    const auto at = found.find(workload_of(*pod, objects));
    if (at != found.end()) at->second.running.push_back(pod);
  }
}

// Pods a job still wants beside those there are.
std::int32_t pods_not_made(const Workload& job) {
  auto wanted = job.parallelism;
  if (job.completions) wanted = std::min(wanted, *job.completions - job.succeeded);
  return std::max(0, wanted - job.active);
}

// A job that is not suspended gets its pods within a moment, unless something refuses them.
constexpr Duration kTimeToMakePods = std::chrono::seconds{3};

void add_jobs_without_pods(Found& found, const ClusterObjects& objects) {
  for (const auto* kind : {&objects.jobs, &objects.job_sets}) {
    for (const auto& [key, job] : *kind) {
      if (job->is_over || job->meta.deleted) continue;
      const ObjectName name{job->kind == WorkloadKind::job ? "Job" : "JobSet", job->meta.ns,
                            job->meta.name};
      const bool belongs_to_set = job->meta.owner && job->meta.owner->kind == "JobSet";
      if (job->is_suspended ? belongs_to_set : job->kind != WorkloadKind::job) continue;
      const auto missing = pods_not_made(*job);
      if (missing == 0 || (!job->is_suspended && objects.at - job->meta.created < kTimeToMakePods))
        continue;
      if (found.contains(name) && !job->is_suspended) continue;
      auto& workload = found[name];
      if (workload.pods.empty()) workload.since = job->meta.created;
      workload.name = name;
      workload.missing_pods = missing;
    }
  }
}

void add_kueue_workloads(Found& found, const ClusterObjects& objects) {
  for (const auto& [key, workload] : objects.kueue_workloads) {
    const auto& known = workload;  // clang 14 lets no lambda use a structured binding
    if (workload->is_admitted || workload->is_over || workload->meta.deleted) continue;
    const auto& owner = workload->meta.owner;
    const ObjectName name = owner ? ObjectName{owner->kind, workload->meta.ns, owner->name}
                                  : ObjectName{"Workload", workload->meta.ns, workload->meta.name};
    const bool is_known = std::ranges::any_of(found, [&](const auto& entry) {
      return entry.first == name || entry.second.kueue == known;
    });
    if (is_known) continue;
    auto& added = found[name];
    added.name = name;
    added.since = workload->meta.created;
    added.kueue = workload;
  }
}

void add_relations(PendingWorkload& workload, const ClusterObjects& objects) {
  const auto& name = workload.name;
  if (name.kind == "Job") workload.job = find_in(objects.jobs, name.full_name());
  if (name.kind == "JobSet") workload.job = find_in(objects.job_sets, name.full_name());
  if (!workload.pods.empty()) {
    const auto group = group_of(*workload.pods.front());
    if (!group.empty()) workload.group = find_in(objects.pod_groups, name.ns + "/" + group);
  }
  if (!workload.kueue) workload.kueue = kueue_workload_of(name, objects);
  for (const auto& pod : workload.pods) workload.gpus += gpus_in(pod->requests);
  if (workload.pods.empty() && workload.job) {
    workload.gpus = gpus_in(workload.job->pod_requests) * workload.missing_pods;
  }
}

}  // namespace

bool is_waiting(const Pod& pod, const ClusterObjects& objects) {
  if (pod.is_over() || pod.meta.deleted || pod.phase != PodPhase::pending) return false;
  return pod.node.empty() || !objects.nodes.contains(pod.node);
}

ObjectName workload_of(const Pod& pod, const ClusterObjects& objects) {
  const auto group = group_of(pod);
  if (!group.empty()) return {"PodGroup", pod.meta.ns, group};
  if (!pod.meta.owner) return {"Pod", pod.meta.ns, pod.meta.name};
  const auto& owner = *pod.meta.owner;
  if (owner.kind == "Job") {
    const auto job = find_in(objects.jobs, pod.meta.ns + "/" + owner.name);
    if (job && job->meta.owner && job->meta.owner->kind == "JobSet") {
      return {"JobSet", pod.meta.ns, job->meta.owner->name};
    }
  }
  return {owner.kind, pod.meta.ns, owner.name};
}

std::vector<PendingWorkload> pending_workloads(const ClusterObjects& objects) {
  Found found;
  add_waiting_pods(found, objects);
  add_running_pods(found, objects);
  add_jobs_without_pods(found, objects);
  for (auto& [name, workload] : found) add_relations(workload, objects);
  add_kueue_workloads(found, objects);
  std::vector<PendingWorkload> all;
  all.reserve(found.size());
  for (auto& [name, workload] : found) all.push_back(std::move(workload));
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    return std::tie(a.since, a.name) < std::tie(b.since, b.name);
  });
  return all;
}

std::set<std::string, std::less<>> known_schedulers(const ClusterObjects& objects) {
  std::set<std::string, std::less<>> known{"default-scheduler"};
  for (const auto& [key, pod] : objects.pods) {
    const bool was_placed = objects.nodes.contains(pod->node);
    if (was_placed || !pod->unschedulable.empty()) known.insert(pod->scheduler);
  }
  return known;
}

}  // namespace weir::observe
