// SPDX-License-Identifier: Apache-2.0
#include "predict/training/derived_recompute.h"

#include <vector>

namespace weir::predict {

namespace {

struct Group {  // the operators of one row of the profile
  int row = 0;
  std::vector<std::size_t> members;
  std::vector<double> sizes;  // of the activations in flight
  double total = 0;
  bool is_used = false;
};

// In order of first appearance; `of` says by operator which group it is in.
std::vector<Group> group_by_row(const IterationCosts& costs, int first, std::span<const PlanOp> ops,
                                int microbatch, int in_flight, std::vector<std::size_t>& of) {
  std::vector<Group> groups;
  std::vector<int> group_of_row(costs.ops().traits.size(), -1);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const int op = first + static_cast<int>(i);
    const int row = costs.ops().rows[static_cast<std::size_t>(op)];
    int& group = group_of_row[static_cast<std::size_t>(row)];
    if (group < 0) {
      group = static_cast<int>(groups.size());
      groups.push_back({.row = row, .members = {}, .sizes = {}});
    }
    Group& mine = groups[static_cast<std::size_t>(group)];
    const OpMeasure* rows = costs.rows({microbatch / ops[i].dp, ops[i].tp, ops[i].dim});
    const double size = costs.measure(rows, op).activation_mib * in_flight;
    mine.members.push_back(i);
    mine.sizes.push_back(size);
    mine.total += size;
    of.push_back(static_cast<std::size_t>(group));
  }
  return groups;
}

// The unused group with most to save that may lead, or null.
Group* heaviest(const ModelOps& model, std::vector<Group>& groups) {
  Group* best = nullptr;
  double most = 0;
  for (Group& group : groups) {
    if (group.is_used || model.traits[static_cast<std::size_t>(group.row)].leads_no_group) continue;
    if (group.total > most) {
      most = group.total;
      best = &group;
    }
  }
  return best;
}

void take(Group& group, std::span<PlanOp> ops, double missing) {
  double saved = 0;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    if (group.total >= missing && saved > missing) break;
    saved += group.sizes[i];
    const std::size_t at = group.members[i];
    ops[at].recompute = true;
    if (at + 1 < ops.size()) ops[at + 1].recompute = true;
  }
}

}  // namespace

bool derive_recompute(const IterationCosts& costs, int first, std::span<PlanOp> ops, int microbatch,
                      StagePlace place, double limit_mib) {
  for (PlanOp& op : ops) op.recompute = false;
  double missing = costs.stage(first, ops, microbatch, place).memory.total() - limit_mib;
  if (missing <= 0) return true;
  const int in_flight = place.stages_behind + 1;
  std::vector<std::size_t> group_of;
  std::vector<Group> groups = group_by_row(costs, first, ops, microbatch, in_flight, group_of);
  double saved = 0;
  double peak = 0;
  while (missing > 0) {
    Group* group = heaviest(costs.ops(), groups);
    if (group == nullptr) return false;
    group->is_used = true;
    const std::size_t next = group->members.front() + 1;
    if (next >= ops.size()) return false;
    groups[group_of[next]].is_used = true;
    take(*group, ops, missing);
    const double saved_now = costs.saved_by_recomputing_mib(first, ops, microbatch);
    const double peak_now = costs.peak_recomputed_mib(first, ops, microbatch);
    missing += (peak_now - peak) - (saved_now - saved) * in_flight;
    saved = saved_now;
    peak = peak_now;
  }
  return true;
}

}  // namespace weir::predict
