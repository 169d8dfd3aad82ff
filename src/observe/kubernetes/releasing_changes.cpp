// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "observe/kubernetes/change_candidates.h"
#include "observe/kubernetes/pending.h"
#include "observe/kubernetes/quota_check.h"

namespace weir::observe {
namespace {

void no_edit(Trial&, std::vector<PodPointer>&) {}

Candidate releasing(std::string kind, double cost, std::string text) {
  return {ChangeRank::mends_a_slip, cost, std::move(kind), {std::move(text), {}, {}}, no_edit};
}

void add_in_place(Change& change, Edit edit) {
  change.commands.push_back(command_in_place(edit));
  change.edits.push_back(std::move(edit));
}

// Gates may be removed from a pod as it is.
void remove_gates(const Wait& wait, std::vector<Candidate>& all) {
  std::string names;
  auto opened = releasing("gate", 0, "");
  for (const auto& pod : wait.workload.pods) {
    if (pod->gates.empty()) continue;
    if (names.empty()) {
      for (const auto& gate : pod->gates) names += (names.empty() ? "" : ", ") + gate;
    }
    std::vector<PatchStep> steps;
    for (std::size_t i = pod->gates.size(); i-- > 0;) {
      steps.push_back({"remove", fmt::format("/spec/schedulingGates/{}", i), ""});
    }
    add_in_place(opened.change, patch_of({"Pod", pod->meta.ns, pod->meta.name}, steps));
  }
  if (names.empty()) return;
  opened.change.text = fmt::format("Remove the scheduling gate {} from {}.", names,
                                   opened.change.edits.size() == 1 ? "the pod" : "its pods");
  opened.apply = [](Trial&, std::vector<PodPointer>& pods) {
    edit_pods(pods, [](Pod& pod) { pod.gates.clear(); });
  };
  all.push_back(std::move(opened));
}

void name_the_scheduler(const Wait& wait, std::vector<Candidate>& all) {
  if (wait.workload.pods.empty()) return;
  const auto wrong = wait.workload.pods.front()->scheduler;
  if (wrong == "default-scheduler" || wait.schedulers.contains(wrong)) return;
  auto named = releasing(
      "scheduler", 0,
      fmt::format("Set schedulerName to default-scheduler in {} {}, or start a scheduler named {}.",
                  wait.workload.name.kind, wait.workload.name.full_name(), wrong));
  patch_specs(named.change, wait, {{"replace", "/schedulerName", json_text("default-scheduler")}});
  // A job's template may leave it out: then it must be set, not replaced.
  for (auto& edit : named.change.edits)
    edit.json.replace(edit.json.find("\"replace\""), 9, "\"add\"");
  named.apply = [](Trial&, std::vector<PodPointer>& pods) {
    edit_pods(pods, [](Pod& pod) { pod.scheduler = "default-scheduler"; });
  };
  all.push_back(std::move(named));
}

bool is_kueues(const PendingWorkload& workload) {
  return workload.kueue && !workload.kueue->is_admitted;
}

void unsuspend(const Wait& wait, std::vector<Candidate>& all) {
  const auto& job = wait.workload.job;
  if (!job || !job->is_suspended || is_kueues(wait.workload)) return;
  auto resumed = releasing(
      "suspend", 0,
      fmt::format("Resume {} {}.", wait.workload.name.kind, wait.workload.name.full_name()));
  add_in_place(resumed.change,
               patch_of(wait.workload.name, {{"replace", "/spec/suspend", "false"}}));
  all.push_back(std::move(resumed));
}

// An admitted workload of the same queue ended, or the job taken out of its queue.
void get_past_kueue(const Wait& wait, std::vector<Candidate>& all) {
  if (!is_kueues(wait.workload)) return;
  double cost = 0;
  for (const auto& [key, other] : wait.objects.kueue_workloads) {
    const bool holds_quota =
        other->is_admitted && !other->is_over && other->queue == wait.workload.kueue->queue;
    if (!holds_quota || !other->meta.owner || cost >= 2) continue;
    const ObjectName owner{other->meta.owner->kind, other->meta.ns, other->meta.owner->name};
    auto ended = releasing("kueue", cost++,
                           fmt::format("Wait for {} {}, admitted in the same queue {}, or end it.",
                                       owner.kind, owner.full_name(), other->queue));
    ended.rank = ChangeRank::ends_a_pod;
    ended.change.edits.push_back(removal_of(owner));
    ended.change.commands.push_back(command_for(ended.change.edits.back()));
    ended.apply = [owner, &objects = wait.objects](Trial& trial, std::vector<PodPointer>&) {
      for (const auto& [name, pod] : objects.pods) {
        if (workload_of(*pod, objects) == owner) trial.remove(pod);
      }
    };
    all.push_back(std::move(ended));
  }
  const auto& job = wait.workload.job;
  if (!job || job->kind != WorkloadKind::job) return;
  auto taken_out =
      releasing("kueue", 10,
                fmt::format("Take Job {} out of Kueue's queue {} and resume it, past the quota.",
                            job->meta.full_name(), wait.workload.kueue->queue));
  taken_out.rank = ChangeRank::ends_a_pod;
  std::vector<PatchStep> steps;
  if (job->meta.labels.contains(kKueueQueue)) {
    steps.push_back({"remove", "/metadata/labels/" + path_step(kKueueQueue), ""});
  }
  steps.push_back({"replace", "/spec/suspend", "false"});
  add_in_place(taken_out.change, patch_of(wait.workload.name, steps));
  all.push_back(std::move(taken_out));
}

void raise_quota(const Wait& wait, std::vector<Candidate>& all) {
  const auto exceeded = exceeded_quotas(wait.workload, wait.objects);
  if (exceeded.empty()) return;
  auto raised = releasing("quota", 0, "");
  for (const auto& one : exceeded) {
    const auto value = to_string(one.needed, one.resource.ends_with("memory"));
    raised.change.text += fmt::format("{}aise {} of ResourceQuota {} from {} to {}",
                                      raised.change.text.empty() ? "R" : " and r", one.resource,
                                      one.quota.full_name(),
                                      to_string(one.hard, one.resource.ends_with("memory")), value);
    append_edits(raised.change.edits,
                 {patch_of(one.quota, {{"replace", "/spec/hard/" + path_step(one.resource),
                                        json_text(value)}})});
  }
  raised.change.text += ".";
  for (const auto& edit : raised.change.edits)
    raised.change.commands.push_back(command_in_place(edit));
  all.push_back(std::move(raised));
}

}  // namespace

std::vector<Candidate> releasing_changes(const Wait& wait) {
  std::vector<Candidate> all;
  remove_gates(wait, all);
  name_the_scheduler(wait, all);
  unsuspend(wait, all);
  get_past_kueue(wait, all);
  raise_quota(wait, all);
  return all;
}

}  // namespace weir::observe
