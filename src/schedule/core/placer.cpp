// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/placer.h"

#include <cassert>

namespace weir::schedule {

Placer::Placer(const PlacementPolicy& policy, std::uint64_t seed, const State& state)
    : policy_{policy}, rng_{SeededRng{seed}.fork("placement")}, index_{state.nodes} {
  for (std::uint32_t i = 0; i < state.shapes.size(); ++i)
    numbers_.emplace(state.shapes[i], ShapeIndex{i});
  prepare(state);
}

void Placer::prepare(const State& state) {
  scorer_ = policy_.prepare(
      Outlook{*state.target, state.layout->supply, state.layout->classes, state.layout->empty});
}

ShapeIndex Placer::number_of(const State& state, const Shape& shape) const {
  const auto known = numbers_.find(shape);
  return known != numbers_.end() ? known->second
                                 : ShapeIndex{static_cast<std::uint32_t>(state.shapes.size())};
}

std::uint64_t Placer::draw_for(JobId job, std::int32_t replica) const {
  if (policy_.tie_break() != TieBreak::uniform) return 0;
  return rng_.fork(job.value).fork(static_cast<std::uint64_t>(replica)).next();
}

std::optional<Proposal> Placer::propose(const State& state, JobId job, ShapeIndex number,
                                        const Shape& shape, std::int32_t replicas) {
  if (replicas != 1) return propose_gang(state, job, number, shape, replicas);
  const std::uint64_t draw = draw_for(job, 0);
  const NodeView nodes{state.nodes};
  const auto best = index_.best(nodes, number, shape, *scorer_, policy_.tie_break(), draw);
  if (!best) return std::nullopt;
  const NodeState& node = nodes[best->node];
  // The node and the GPU are drawn from different bits.
  const GpuMask gpus = scorer_->choose_gpus(node, shape, draw >> 32);
  assert(is_valid_choice(node, shape, gpus) && "a policy chose GPUs that have no room");
  return Proposal{PlacementList{Placement{best->node, gpus}}, best->score};
}

std::optional<Proposal> Placer::propose_gang(const State& state, JobId job, ShapeIndex number,
                                             const Shape& shape, std::int32_t replicas) {
  NodeView trial{state.nodes};
  std::vector<Placement> placements;
  Score first_score = 0;
  for (std::int32_t replica = 0; replica < replicas; ++replica) {
    const std::uint64_t draw = draw_for(job, replica);
    const auto best = index_.best(trial, number, shape, *scorer_, policy_.tie_break(), draw);
    if (!best) break;
    if (replica == 0) first_score = best->score;
    const GpuMask gpus = scorer_->choose_gpus(trial[best->node], shape, draw >> 32);
    trial.take(best->node, shape, gpus);
    index_.touch(best->node);
    placements.push_back(Placement{best->node, gpus});
  }
  // The index saw the trial; let it look again at what the nodes really are.
  for (const auto& [node, unused] : trial.changed()) index_.touch(node);
  if (placements.size() < static_cast<std::size_t>(replicas)) return std::nullopt;
  return Proposal{PlacementList{std::move(placements)}, first_score};
}

void Placer::follow(const State& state, const Record& record) {
  if (const auto* accepted = std::get_if<JobAccepted>(&record.what)) {
    if (numbers_.size() < state.shapes.size())
      numbers_.emplace(accepted->shape, accepted->shape_index);
  } else if (const auto* placed = std::get_if<JobPlaced>(&record.what)) {
    for (const Placement& placement : placed->placements.all()) index_.touch(placement.node);
  } else if (const auto* closed = std::get_if<NodeClosed>(&record.what)) {
    index_.touch(closed->node);
  } else if (const auto* opened = std::get_if<NodeOpened>(&record.what)) {
    index_.touch(opened->node);
  } else if (std::holds_alternative<NodesKnown>(record.what)) {
    index_ = ScoreIndex{state.nodes};
    prepare(state);
  } else if (std::holds_alternative<TargetWorkloadRevised>(record.what) && policy_.uses_target()) {
    prepare(state);
    index_.forget_scores();
  }
}

}  // namespace weir::schedule
