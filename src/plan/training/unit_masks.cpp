// SPDX-License-Identifier: Apache-2.0
#include "plan/training/unit_masks.h"

#include <algorithm>

#include "plan/training/container_index.h"

namespace weir::plan {

using predict::IterationCosts;
using predict::ModelOps;
using predict::ModelUnit;

namespace {

bool has_bit(std::uint64_t mask, int bit) {
  return ((mask >> bit) & 1U) != 0;
}

}  // namespace

UnitMasks::UnitMasks(const IterationCosts& costs, const OpMeasure* rows, int first, int end)
    : costs_{costs}, rows_{rows}, first_{first}, end_{end} {
  const ModelOps& ops = costs.ops();
  const int last_unit = ops.unit_of[at(end - 1)];
  for (int unit = ops.unit_of[at(first)]; unit <= last_unit; ++unit) {
    const ModelUnit& it = ops.units[at(unit)];
    const int from = std::max(0, first - it.first);
    const int to = std::min(it.size, end - it.first);
    if (!runs_.empty()) {
      MaskRun& before = runs_.back();
      if (ops.units[at(before.first_unit)].kind == it.kind && before.from == from &&
          before.to == to) {
        ++before.end_unit;
        continue;
      }
    }
    runs_.push_back({unit, unit + 1, from, to, 0});
  }
}

void UnitMasks::split(std::size_t run, int units) {
  if (units <= 0 || units >= runs_[run].count()) return;
  MaskRun rest = runs_[run];
  runs_[run].end_unit = runs_[run].first_unit + units;
  rest.first_unit = runs_[run].end_unit;
  runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(run) + 1, rest);
}

void UnitMasks::set(int first_unit, int end_unit, int offset) {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].end_unit <= first_unit) continue;
    if (runs_[i].first_unit >= end_unit) break;
    if (runs_[i].first_unit < first_unit) {
      split(i, first_unit - runs_[i].first_unit);
      continue;
    }
    if (offset < runs_[i].from || offset >= runs_[i].to || has_bit(runs_[i].mask, offset)) continue;
    split(i, end_unit - runs_[i].first_unit);
    runs_[i].mask |= std::uint64_t{1} << offset;
  }
}

void UnitMasks::assign(int first_unit, int end_unit, std::uint64_t mask) {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].end_unit <= first_unit) continue;
    if (runs_[i].first_unit >= end_unit) break;
    if (runs_[i].first_unit < first_unit) {
      split(i, first_unit - runs_[i].first_unit);
      continue;
    }
    split(i, end_unit - runs_[i].first_unit);
    runs_[i].mask = mask;
  }
}

// Is the first operator after this copy of the run's unit computed again?
bool UnitMasks::bit_after(std::size_t run, int copy) const {
  if (copy + 1 < runs_[run].count()) return has_bit(runs_[run].mask, runs_[run].from);
  return run + 1 < runs_.size() && has_bit(runs_[run + 1].mask, runs_[run + 1].from);
}

UnitMasks::Sums UnitMasks::sums() const {
  Sums sums;
  double open = 0;  // activations of the run of recomputed operators under way
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const MaskRun& run = runs_[i];
    for (int copy = 0; copy < run.count(); ++copy) {
      const int begin = costs_.ops().units[at(run.first_unit + copy)].first;
      const double open_before = open;
      double saved = 0;
      const bool after = bit_after(i, copy);
      for (int offset = run.from; offset < run.to; ++offset) {
        const int op = begin + offset;
        if (op + 1 == end_) break;
        const bool next = offset + 1 < run.to ? has_bit(run.mask, offset + 1) : after;
        bool ends = true;
        if (has_bit(run.mask, offset) && next) {
          const double activation = costs_.measure(rows_, op).activation_mib;
          saved += costs_.saved_mib(op, activation);
          open += costs_.kept_mib(op, activation);
          const bool can_end = costs_.ops().traits_of(op).activation_factor == 1;
          ends = can_end && (costs_.ops().traits_of(op + 1).starts_block || op + 2 == end_);
        }
        if (!ends) continue;
        sums.peak = std::max(sums.peak, open);
        open = 0;
      }
      sums.saved += saved;
      // All copies but the last, which sees another successor, go on like this one.
      const int alike = run.count() - 2 - copy;
      if (open == open_before && alike > 0) {
        sums.saved += saved * alike;
        copy += alike;
      }
    }
  }
  if (costs_.options().model != predict::CostModel::published)
    sums.peak = std::max(sums.peak, open);
  return sums;
}

double UnitMasks::saved_mib() const {
  return sums().saved;
}

double UnitMasks::peak_mib() const {
  return sums().peak;
}

double UnitMasks::recompute_us() const {
  double us = 0;
  for (const MaskRun& run : runs_) {
    double unit = 0;
    const int begin = costs_.ops().units[at(run.first_unit)].first;
    for (int offset = run.from; offset < run.to; ++offset) {
      if (has_bit(run.mask, offset)) unit += costs_.measure(rows_, begin + offset).forward_us;
    }
    us += unit * run.count();
  }
  return us;
}

void UnitMasks::write(std::span<PlanOp> ops) const {
  for (const MaskRun& run : runs_) {
    for (int unit = run.first_unit; unit < run.end_unit; ++unit) {
      const int begin = costs_.ops().units[at(unit)].first;
      for (int offset = run.from; offset < run.to; ++offset) {
        ops[at(begin + offset - first_)].recompute = has_bit(run.mask, offset);
      }
    }
  }
}

namespace {

// The operators of one row in a stage: units [first_unit, end_unit) at one offset. (A row stands at one place of one kind of unit.)
struct RowGroup {
  int row = 0;
  int offset = 0;
  int first_unit = 0;
  int end_unit = 0;
  double size = 0;  // of one operator's activations in flight
  bool is_used = false;
  int count() const { return end_unit - first_unit; }
  double total() const { return size * count(); }
};

std::vector<RowGroup> row_groups(const IterationCosts& costs, const OpMeasure* rows,
                                 const UnitMasks& masks, int in_flight) {
  const ModelOps& ops = costs.ops();
  std::vector<RowGroup> groups;
  for (const MaskRun& run : masks.runs()) {
    const int begin = ops.units[at(run.first_unit)].first;
    for (int offset = run.from; offset < run.to; ++offset) {
      const int row = ops.rows[at(begin + offset)];
      const auto known = std::ranges::find(groups, row, &RowGroup::row);
      if (known != groups.end()) {
        known->end_unit = run.end_unit;
        continue;
      }
      groups.push_back(
          {row, offset, run.first_unit, run.end_unit, rows[row].activation_mib * in_flight, false});
    }
  }
  return groups;
}

// How many of the group's first operators cover what is missing.
int needed_of(const RowGroup& group, double missing) {
  if (group.total() < missing) return group.count();
  double saved = 0;
  int taken = 0;
  while (saved <= missing && taken < group.count()) {
    saved += group.size;
    ++taken;
  }
  return taken;
}

}  // namespace

bool derive_masks(const IterationCosts& costs, const OpMeasure* rows, UnitMasks& masks, int end,
                  int stages_behind, double missing) {
  const ModelOps& ops = costs.ops();
  const int in_flight = stages_behind + 1;
  std::vector<RowGroup> groups = row_groups(costs, rows, masks, in_flight);
  double saved = 0;
  double peak = 0;
  while (missing > 0) {
    RowGroup* group = nullptr;
    for (RowGroup& one : groups) {
      if (one.is_used || ops.traits[at(one.row)].leads_no_group || one.total() <= 0) continue;
      if (group == nullptr || one.total() > group->total()) group = &one;
    }
    if (group == nullptr) return false;
    group->is_used = true;
    const int next = ops.units[at(group->first_unit)].first + group->offset + 1;
    if (next >= end) return false;
    std::ranges::find(groups, ops.rows[at(next)], &RowGroup::row)->is_used = true;
    const int taken = needed_of(*group, missing);
    const int end_unit = group->first_unit + taken;
    masks.set(group->first_unit, end_unit, group->offset);
    if (group->offset + 1 < ops.units[at(group->first_unit)].size) {
      masks.set(group->first_unit, end_unit, group->offset + 1);
    } else {
      masks.set(group->first_unit + 1, end_unit + 1, 0);
    }
    const double saved_now = masks.saved_mib();
    const double peak_now = masks.peak_mib();
    missing += (peak_now - peak) - (saved_now - saved) * in_flight;
    saved = saved_now;
    peak = peak_now;
  }
  return true;
}

}  // namespace weir::plan
