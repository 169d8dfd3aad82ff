// SPDX-License-Identifier: Apache-2.0
#include "plan/training/pipeline_dp.h"

#include <algorithm>
#include <cmath>

#include "plan/training/container_index.h"

namespace weir::plan {

namespace {

// Without a limit to begin with: the work bound plus a little, then more and more.
constexpr double kFirstSlack = 0.02;
constexpr double kMoreSlack = 1.4;
constexpr double kMostSlack = 1e4;

}  // namespace

PipelineDp::PipelineDp(PipelineProblem problem, Costing costing, SearchBudget& budget)
    : problem_{std::move(problem)}, costing_{costing}, budget_{budget} {
  const auto& cuts = problem_.cuts;
  most_stages_ = std::min(problem_.cluster.gpus(), static_cast<int>(cuts.size()) - 1);
  if (problem_.stages) most_stages_ = std::min(most_stages_, *problem_.stages);
  tables_.resize(at(most_stages_ + 1) * at(problem_.cluster.gpus() + 1));
  for (const StageOption* option : problem_.options) {
    largest_option_ = std::max(largest_option_, option->gpus());
  }
  work_.push_back(0);
  fastest_.push_back(0);
  for (std::size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
    double work = 0;
    double fastest = 0;
    for (int op = cuts[cut]; op < cuts[cut + 1]; ++op) {
      double least_work = kImpossible;
      double least = kImpossible;
      for (const StageOption* option : problem_.options) {
        const double us = option->work_us(op, op + 1);
        least_work = std::min(least_work, us * option->gpus());
        least = std::min(least, us);
      }
      work += least_work;
      fastest += least;
    }
    work_.push_back(work_.back() + work);
    fastest_.push_back(fastest_.back() + fastest);
  }
}

PipelineDp::Table& PipelineDp::table(int stages, int gpus) {
  return tables_[at(stages) * at(problem_.cluster.gpus() + 1) + at(gpus)];
}
const PipelineDp::Table& PipelineDp::table(int stages, int gpus) const {
  return tables_[at(stages) * at(problem_.cluster.gpus() + 1) + at(gpus)];
}

predict::StagePlace PipelineDp::place_of(int gpus_behind, int gpus, int stages_behind) const {
  const int per_node = problem_.cluster.gpus_per_node;
  const int after = problem_.cluster.gpus() - gpus_behind;
  const int before = after - gpus;
  return {stages_behind, before > 0 && before % per_node == 0, after % per_node == 0};
}

double PipelineDp::work_bound() const {
  return work_.back() / problem_.cluster.gpus() * (problem_.microbatches - 1) + fastest_.back();
}

StageSpan PipelineDp::span_of(std::size_t option, int first, int end, int stages_behind,
                              int gpus_behind) const {
  StageOption& it = *problem_.options[option];
  const StageBase base = it.base(first, end, place_of(gpus_behind, it.gpus(), stages_behind));
  const double recompute = costing_ == Costing::chosen
                               ? it.recompute_us(first, end, stages_behind)
                               : it.least_recompute_us(first, end, stages_behind);
  return stage_span(base, recompute, problem_.microbatches, problem_.hides_transfers);
}

double& PipelineDp::head(int gpus, int cut) {
  return heads_[at(gpus) * problem_.cuts.size() + at(cut)];
}

void PipelineDp::find_heads(double limit) {
  const int all = problem_.cluster.gpus();
  const int per_node = problem_.cluster.gpus_per_node;
  const auto cuts = static_cast<int>(problem_.cuts.size());
  const int turns = problem_.microbatches - 1;
  const double most_work = turns > 0 ? limit / turns : kImpossible;
  heads_.assign(at(all + 1) * at(cuts), kImpossible);
  head(0, 0) = 0;
  for (int before = 0; before < all; ++before) {
    for (StageOption* option : problem_.options) {
      const int after = before + option->gpus();
      if (after > all) continue;
      const bool is_inside = before / per_node == (after - 1) / per_node;
      if (!is_inside && !problem_.stages_may_straddle_nodes) continue;
      const int behind = (all - after + largest_option_ - 1) / largest_option_;
      const predict::StagePlace place = place_of(all - after, option->gpus(), behind);
      for (int cut = 0; cut + 1 < cuts; ++cut) {
        const double so_far = head(before, cut);
        if (so_far > limit) continue;
        const int first = problem_.cuts[at(cut)];
        const bool may_be_empty = problem_.stages_may_be_empty && cut > 0;
        int next = after == all ? cuts - 1 : may_be_empty ? cut : cut + 1;
        for (; next < cuts; ++next) {
          const int end = problem_.cuts[at(next)];
          if (work_.back() - work_[at(next)] > most_work * (all - after)) continue;
          if (option->work_us(first, end) > most_work) break;
          double& best = head(after, next);
          if (best <= so_far) continue;
          if (!budget_.spend()) return;
          const StageBase base = option->base(first, end, place);
          StageSpan span = stage_span(base, 0, problem_.microbatches, problem_.hides_transfers);
          if (span.steady > limit || span.steady >= best) continue;
          const double recompute = option->least_recompute_us(first, end, behind);
          if (recompute == kImpossible) continue;
          if (recompute > 0) {
            span = stage_span(base, recompute, problem_.microbatches, problem_.hides_transfers);
          }
          if (span.steady <= limit) best = std::min(best, std::max(so_far, span.steady));
        }
      }
    }
  }
}

// Puts a stage under `option` in front of every tail.
template <PipelineDp::Goal goal>
void PipelineDp::extend(const Table& tail, Table& into, std::size_t option, int stages_behind,
                        int gpus_behind, double limit) {
  StageOption& it = *problem_.options[option];
  const int all = problem_.cluster.gpus();
  const int before = all - gpus_behind - it.gpus();
  const predict::StagePlace place = place_of(gpus_behind, it.gpus(), stages_behind);
  const int turns = problem_.microbatches - 1;
  const double most_work = turns > 0 ? limit / turns : kImpossible;
  const bool is_first_stage = before == 0;
  const int end_cut =
      is_first_stage ? 1 : std::min(tail.end, static_cast<int>(problem_.cuts.size()) - 1);
  for (int cut = 0; cut < end_cut; ++cut) {
    if (head(before, cut) > limit) continue;
    const int first = problem_.cuts[at(cut)];
    double best = into.value[at(cut)];
    const int nearest = problem_.stages_may_be_empty && cut > 0 ? cut : cut + 1;
    for (int next = std::max(nearest, tail.first); next < tail.end; ++next) {
      const double behind = tail.value[at(next)];
      if (behind >= best) continue;
      const int end = problem_.cuts[at(next)];
      if (it.work_us(first, end) > most_work) break;
      if (!budget_.spend()) return;
      const StageBase base = it.base(first, end, place);
      StageSpan span = stage_span(base, 0, problem_.microbatches, problem_.hides_transfers);
      const auto value_of = [&] {
        return goal == Goal::steady ? std::max(span.steady, behind) : span.traverse + behind;
      };
      if (span.steady > limit || value_of() >= best) continue;
      // The bound is quicker to have than the choice.
      const auto is_worth_it = [&](double recompute) {
        if (recompute == kImpossible) return false;
        if (recompute > 0)
          span = stage_span(base, recompute, problem_.microbatches, problem_.hides_transfers);
        return span.steady <= limit && value_of() < best;
      };
      if (!is_worth_it(it.least_recompute_us(first, end, stages_behind))) continue;
      if (costing_ == Costing::chosen && !is_worth_it(it.recompute_us(first, end, stages_behind))) {
        continue;
      }
      best = value_of();
      into.value[at(cut)] = best;
      into.from[at(cut)] = {next, static_cast<std::int32_t>(option)};
    }
  }
}

bool PipelineDp::is_in_band(int stages, int gpus) const {
  if (!problem_.band) return true;
  return std::abs(stages - gpus * problem_.band->stages_per_gpu) <= problem_.band->width;
}

void PipelineDp::find_quick_bound(double below) {
  const double traverse = fastest_.back();
  const double limit = below - traverse;
  lower_bound_ = work_bound();
  find_heads(limit);
  if (budget_.is_spent()) return;
  const double steady = head(problem_.cluster.gpus(), static_cast<int>(problem_.cuts.size()) - 1);
  lower_bound_ = std::max(lower_bound_, std::min(steady, limit) + traverse);
}

std::optional<Pipeline> PipelineDp::pass(Goal goal, double limit) {
  const int all = problem_.cluster.gpus();
  const int per_node = problem_.cluster.gpus_per_node;
  const auto cuts = static_cast<int>(problem_.cuts.size());
  for (Table& one : tables_) one.first = one.end = 0;
  const auto clear = [&](Table& one) {
    one.value.assign(at(cuts), kImpossible);
    one.from.assign(at(cuts), {});
  };
  Table& start = table(0, 0);
  clear(start);
  start.value[at(cuts - 1)] = 0;
  start.first = cuts - 1;
  start.end = cuts;
  for (int stages = 0; stages < most_stages_; ++stages) {
    for (int gpus = stages; gpus < all; ++gpus) {
      const Table& tail = table(stages, gpus);
      if (tail.first >= tail.end) continue;
      for (std::size_t option = 0; option < problem_.options.size(); ++option) {
        const int size = problem_.options[option]->gpus();
        if (gpus + size > all) continue;
        const bool is_inside = gpus / per_node == (gpus + size - 1) / per_node;
        if (!is_inside && !problem_.stages_may_straddle_nodes) continue;
        if (problem_.stages && (stages + 1 == *problem_.stages) != (gpus + size == all)) continue;
        if (!is_in_band(stages + 1, gpus + size)) continue;
        Table& into = table(stages + 1, gpus + size);
        if (into.value.empty() || into.end == 0) {
          clear(into);
          into.end = cuts;
        }
        if (goal == Goal::steady) {
          extend<Goal::steady>(tail, into, option, stages, gpus, limit);
        } else {
          extend<Goal::traverse>(tail, into, option, stages, gpus, limit);
        }
        if (budget_.is_spent()) return std::nullopt;
      }
    }
    for (int gpus = stages + 1; gpus <= all; ++gpus) {  // where the values are
      Table& made = table(stages + 1, gpus);
      if (made.end == 0) continue;
      while (made.end > 0 && made.value[at(made.end - 1)] == kImpossible) --made.end;
      while (made.first < made.end && made.value[at(made.first)] == kImpossible) ++made.first;
    }
  }
  int best_stages = 0;
  double best = kImpossible;
  for (int stages = 1; stages <= most_stages_; ++stages) {
    const Table& done = table(stages, all);
    if (done.first != 0 || done.end == 0 || !(done.value[0] < best)) continue;
    best = done.value[0];
    best_stages = stages;
  }
  if (best_stages == 0) return std::nullopt;
  return trace(best_stages, goal);
}

Pipeline PipelineDp::trace(int stages, Goal) const {
  Pipeline pipeline;
  int gpus = problem_.cluster.gpus();
  int cut = 0;
  for (int left = stages; left > 0; --left) {
    const From from = table(left, gpus).from[at(cut)];
    StageOption* option = problem_.options[at(from.option)];
    gpus -= option->gpus();
    const int first = problem_.cuts[at(cut)];
    const int end = problem_.cuts[at(from.cut)];
    const StageSpan span = span_of(at(from.option), first, end, left - 1, gpus);
    pipeline.steady = std::max(pipeline.steady, span.steady);
    pipeline.traverse += span.traverse;
    pipeline.stages.push_back({option, first, end});
    cut = from.cut;
  }
  return pipeline;
}

std::optional<Pipeline> PipelineDp::best(double below) {
  std::optional<Pipeline> best;
  const auto keep = [&](const std::optional<Pipeline>& found) {
    if (!found || !(found->iteration() < below)) return;
    best = found;
    below = found->iteration();
  };
  double least_traverse = fastest_.back();
  lower_bound_ = std::max(lower_bound_, work_bound());
  is_proved_ = false;
  if (lower_bound_ >= below) {
    lower_bound_ = below;
    is_proved_ = true;
    return best;
  }
  // The least steady time there is, under a limit that keeps the pass small.
  const double work_steady = work_bound() - least_traverse;
  std::optional<Pipeline> fastest;
  for (double slack = kFirstSlack;; slack *= kMoreSlack) {
    const double most = (below - least_traverse) * kJustBelow;
    const double limit = slack > kMostSlack ? most : std::min(most, work_steady * (1 + slack));
    find_heads(limit);
    if (budget_.is_spent()) return best;
    if (head(problem_.cluster.gpus(), static_cast<int>(problem_.cuts.size()) - 1) <= limit) {
      fastest = pass(Goal::steady, limit);
      if (budget_.is_spent()) return best;
    }
    if (fastest || limit >= most) break;
    lower_bound_ = std::max(lower_bound_, limit + least_traverse);
  }
  if (!fastest) {
    lower_bound_ = below;
    is_proved_ = true;
    return best;
  }
  keep(fastest);
  const double least_steady = fastest->steady;
  lower_bound_ = std::max(lower_bound_, least_steady + least_traverse);
  keep(pass(Goal::traverse, least_steady));
  double limit = (below - least_traverse) * kJustBelow;
  if (limit > least_steady) find_heads(limit);
  while (limit > least_steady && !budget_.is_spent()) {
    const auto found = pass(Goal::traverse, limit);
    if (!found) break;
    keep(found);
    // With a lower limit the sum is no smaller than now.
    least_traverse = found->traverse;
    limit = std::min(found->steady * kJustBelow, (below - least_traverse) * kJustBelow);
  }
  if (budget_.is_spent()) return best;
  lower_bound_ = below;
  is_proved_ = true;
  return best;
}

}  // namespace weir::plan
