// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/read_workload.h"

#include <algorithm>
#include <limits>

#include "engine/kubernetes/read_meta.h"

namespace weir::engine::kubernetes {
namespace {

using observe::Workload;
using observe::WorkloadKind;

constexpr std::string_view kQueueLabel = "kueue.x-k8s.io/queue-name";

std::int32_t count(const JsonFields& from, std::string_view key, std::int32_t otherwise = 0) {
  return from.integer<std::int32_t>(key).value_or(otherwise);
}

std::int32_t as_count(std::int64_t number) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(number, 0, std::numeric_limits<std::int32_t>::max()));
}

// The first of those conditions that holds ends it.
void read_end(const std::vector<Condition>& conditions,
              std::initializer_list<std::string_view> types, Workload& workload) {
  for (const std::string_view type : types) {
    const Condition* condition = find_condition(conditions, type);
    if (condition == nullptr || !condition->is_true) continue;
    workload.is_over = true;
    if (!workload.ended) workload.ended = condition->since;
    return;
  }
}

// The message of the first condition that is as given.
void read_message(const std::vector<Condition>& conditions,
                  std::initializer_list<std::pair<std::string_view, bool>> wanted,
                  Workload& workload) {
  for (const auto& [type, is_true] : wanted) {
    const Condition* condition = find_condition(conditions, type);
    if (condition == nullptr || condition->is_true != is_true) continue;
    workload.message = std::string{condition->message};
    return;
  }
}

Workload begin(WorkloadKind kind, const JsonFields& object) {
  Workload workload;
  workload.kind = kind;
  workload.meta = read_meta(object);
  if (const std::string* queue = workload.meta.labels.find(kQueueLabel)) workload.queue = *queue;
  return workload;
}

}  // namespace

Workload read_job(const JsonFields& object) {
  Workload job = begin(WorkloadKind::job, object);
  const JsonFields spec = object.object("spec");
  job.is_suspended = spec.flag("suspend");
  job.parallelism = count(spec, "parallelism", 1);
  job.completions = spec.integer<std::int32_t>("completions");
  job.pod_requests = effective_requests(spec.object("template").object("spec"));
  const JsonFields status = object.object("status");
  job.active = count(status, "active");
  job.succeeded = count(status, "succeeded");
  job.failed = count(status, "failed");
  job.started = status.time("startTime");
  job.ended = status.time("completionTime");
  const std::vector<Condition> conditions = read_conditions(status);
  read_end(conditions, {"Complete", "Failed"}, job);
  read_message(conditions, {{"Failed", true}, {"Suspended", true}}, job);
  return job;
}

Workload read_job_set(const JsonFields& object) {
  Workload set = begin(WorkloadKind::job_set, object);
  const JsonFields spec = object.object("spec");
  set.is_suspended = spec.flag("suspend");
  std::int64_t pods = 0;
  for (const JsonFields& job : spec.objects("replicatedJobs")) {
    const JsonFields job_spec = job.object("template").object("spec");
    pods += std::int64_t{count(job, "replicas", 1)} * count(job_spec, "parallelism", 1);
    if (set.pod_requests.empty()) {
      set.pod_requests = effective_requests(job_spec.object("template").object("spec"));
    }
  }
  set.parallelism = as_count(pods);
  const JsonFields status = object.object("status");
  std::int64_t active = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  for (const JsonFields& job : status.objects("replicatedJobsStatus")) {
    active += count(job, "active");
    succeeded += count(job, "succeeded");
    failed += count(job, "failed");
  }
  set.active = as_count(active);
  set.succeeded = as_count(succeeded);
  set.failed = as_count(failed);
  const std::vector<Condition> conditions = read_conditions(status);
  read_end(conditions, {"Completed", "Failed"}, set);
  read_message(conditions, {{"Failed", true}, {"Suspended", true}}, set);
  return set;
}

Workload read_pod_group(const JsonFields& object) {
  Workload group = begin(WorkloadKind::pod_group, object);
  const JsonFields spec = object.object("spec");
  group.min_member = count(spec, "minMember");
  group.parallelism = group.min_member;
  if (spec.has("queue")) group.queue = spec.text("queue");
  const JsonFields status = object.object("status");
  group.active = count(status, "running");
  group.succeeded = count(status, "succeeded");
  group.failed = count(status, "failed");
  group.started = status.time("scheduleStartTime");
  const std::string_view phase = status.view("phase");
  group.is_over = phase == "Finished" || phase == "Failed" || phase == "Completed";
  read_message(read_conditions(status), {{"Unschedulable", true}}, group);
  return group;
}

Workload read_kueue_workload(const JsonFields& object) {
  Workload workload = begin(WorkloadKind::kueue_workload, object);
  const JsonFields spec = object.object("spec");
  if (spec.has("queueName")) workload.queue = spec.text("queueName");
  workload.is_suspended = spec.has("active") && !spec.flag("active");
  std::int64_t pods = 0;
  for (const JsonFields& set : spec.objects("podSets")) {
    pods += count(set, "count", 1);
    if (workload.pod_requests.empty()) {
      workload.pod_requests = effective_requests(set.object("template").object("spec"));
    }
  }
  workload.parallelism = as_count(pods);
  const std::vector<Condition> conditions = read_conditions(object.object("status"));
  if (const Condition* admitted = find_condition(conditions, "Admitted")) {
    workload.is_admitted = admitted->is_true;
    if (admitted->is_true) workload.started = admitted->since;
  }
  read_end(conditions, {"Finished"}, workload);
  read_message(conditions, {{"QuotaReserved", false}, {"Admitted", false}, {"Evicted", true}},
               workload);
  return workload;
}

}  // namespace weir::engine::kubernetes
