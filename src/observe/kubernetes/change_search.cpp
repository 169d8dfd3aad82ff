// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/change_search.h"

#include <algorithm>
#include <map>
#include <set>

#include "observe/kubernetes/placing.h"
#include "observe/kubernetes/quota_check.h"

namespace weir::observe {
namespace {

// Held by something that no node can change.
bool is_released(const std::vector<PodPointer>& pods,
                 const std::set<std::string, std::less<>>& schedulers) {
  return std::ranges::all_of(pods, [&](const PodPointer& pod) {
    return pod->gates.empty() && pod->resource_claims.empty() &&
           schedulers.contains(pod->scheduler);
  });
}

void move_to(std::vector<Candidate>& all, std::vector<Candidate> more) {
  std::ranges::move(more, std::back_inserter(all));
}

Change joined(const Candidate& one, const Candidate& other) {
  Change both = one.change;
  both.text += " " + other.change.text;
  append_edits(both.edits, other.change.edits);
  both.commands.clear();
  if (both.edits.size() == one.change.edits.size() + other.change.edits.size()) {
    both.commands = one.change.commands;
    both.commands.insert(both.commands.end(), other.change.commands.begin(),
                         other.change.commands.end());
    return both;
  }
  for (const auto& edit : both.edits) both.commands.push_back(command_for(edit));
  return both;
}

// Two of a kind at most, so that people see real alternatives.
class Chosen {
 public:
  bool is_full() const { return changes_.size() >= kMostChanges; }
  bool wants(const std::string& kind) const {
    const auto at = kinds_.find(kind);
    return !is_full() && (at == kinds_.end() || at->second < 2);
  }
  void add(const std::string& kind, Change change) {
    ++kinds_[kind];
    changes_.push_back(std::move(change));
  }
  std::vector<Change> take() { return std::move(changes_); }
  bool empty() const { return changes_.empty(); }

 private:
  std::vector<Change> changes_;
  std::map<std::string, int> kinds_;
};

// What must be done whatever else is: a gate, a scheduler's name, suspension. Two at most are joined.
bool is_releasing(const Candidate& candidate) {
  static const std::set<std::string> kKinds{"gate",  "scheduler", "suspend",
                                            "quota", "kueue",     "resource_claim"};
  return kKinds.contains(candidate.kind);
}

void try_singles(const Wait& wait, const std::vector<Candidate>& all, Chosen& chosen) {
  for (const auto& candidate : all) {
    if (chosen.wants(candidate.kind) && would_start(wait, {&candidate}))
      chosen.add(candidate.kind, candidate.change);
  }
}

constexpr std::size_t kPairsTried = 200;

void try_pairs(const Wait& wait, const std::vector<Candidate>& all, Chosen& chosen) {
  std::size_t tried = 0;
  for (std::size_t sum = 1; sum < 2 * all.size(); ++sum) {
    for (std::size_t i = sum >= all.size() ? sum - all.size() + 1 : 0; i < sum - i; ++i) {
      const auto& one = all[i];
      const auto& other = all[sum - i];
      if (one.kind == other.kind || !chosen.wants(one.kind + "+" + other.kind)) continue;
      if (++tried > kPairsTried) return;
      if (would_start(wait, {&one, &other}))
        chosen.add(one.kind + "+" + other.kind, joined(one, other));
    }
  }
}

}  // namespace

bool would_start(const Wait& wait, const std::vector<const Candidate*>& candidates) {
  Trial trial{wait.model};
  auto pods = wait.pods;
  bool releases = false;
  for (const auto* candidate : candidates) {
    candidate->apply(trial, pods);
    releases = releases || is_releasing(*candidate);
  }
  const auto& workload = wait.workload;
  const bool is_held = (workload.job && workload.job->is_suspended) ||
                       (workload.kueue && !workload.kueue->is_admitted) ||
                       !exceeded_quotas(workload, wait.objects).empty();
  if (is_held && !releases) return false;
  if (!is_released(pods, wait.schedulers)) return false;
  return place_in_order(wait.model, trial, pods) == pods.size();
}

std::vector<Change> smallest_changes(const Wait& wait) {
  const PodFilters filters{wait.model, *wait.pods.front()};
  std::vector<Candidate> all = releasing_changes(wait);
  move_to(all, own_changes(wait, filters));
  move_to(all, node_changes(wait, filters));
  move_to(all, ending_changes(wait, filters));
  std::ranges::stable_sort(all, [](const Candidate& a, const Candidate& b) {
    return std::pair{a.rank, a.cost} < std::pair{b.rank, b.cost};
  });
  Chosen chosen;
  try_singles(wait, all, chosen);
  if (chosen.empty()) try_pairs(wait, all, chosen);
  return chosen.take();
}

}  // namespace weir::observe
