// SPDX-License-Identifier: Apache-2.0
#include "plan/training/mixed_paths.h"

#include <algorithm>
#include <limits>

#include "plan/training/container_index.h"

namespace weir::plan {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

MixedPaths::MixedPaths(const MixedOps& ops, MemoryPrice price)
    : ops_{ops}, price_{price}, rows_(at(ops.costs().ops().size())) {}

// A path of this operator alone.
MixedPaths::State MixedPaths::begin(int op, int v) const {
  const predict::IterationCosts& costs = ops_.costs();
  const OpMeasure& row = ops_.measure(op, v);
  State state;
  Sums& sums = state.sums;
  sums.busy = row.forward_us + row.backward_us;
  sums.weights = row.weight_mib;
  sums.kept = costs.kept_mib(op, row.activation_mib);
  sums.embedding = costs.ops().traits_of(op).holds_embedding ? row.weight_mib : 0;
  sums.first_variant = sums.last_variant = static_cast<std::uint8_t>(v);
  sums.value = sums.busy + price_.weights * sums.weights + price_.activations * sums.kept;
  if (costs.options().model != predict::CostModel::published) {
    sums.reserved_forward = row.reserved_forward_mib;
    sums.reserved_backward = row.reserved_backward_mib;
  }
  state.last_reserved_forward = row.reserved_forward_mib;
  state.last_reserved_backward = row.reserved_backward_mib;
  return state;
}

// Puts the path that ends in `before` in front.
void MixedPaths::join(State& state, const State& before, int op) const {
  Sums& sums = state.sums;
  const Sums& old = before.sums;
  sums.busy += old.busy;
  sums.reshard = old.reshard + ops_.reshard_us(op, old.last_variant, sums.last_variant);
  sums.weights += old.weights;
  sums.kept += old.kept;
  sums.embedding += old.embedding;
  sums.first_variant = old.first_variant;
  // The operator before is not the last any more.
  sums.reserved_forward =
      std::max({sums.reserved_forward, old.reserved_forward, before.last_reserved_forward});
  sums.reserved_backward =
      std::max({sums.reserved_backward, old.reserved_backward, before.last_reserved_backward});
}

// One operator more.
void MixedPaths::grow(int first, Row& row) {
  const predict::IterationCosts& costs = ops_.costs();
  const int op = first + static_cast<int>(row.by_end.size());
  const int variants = ops_.variants();
  const int bits = price_.recomputes ? 2 : 1;
  std::vector<State> next(at(2 * variants));
  const std::size_t places = row.before.size();
  row.before.resize(places + next.size(), 0);
  for (int v = 0; v < variants; ++v) {
    for (int bit = 0; bit < 2; ++bit) {
      State& state = next[at(2 * v + bit)];
      if (bit >= bits) {
        state.sums.value = kNever;
        continue;
      }
      state = begin(op, v);
      if (bit == 1) state.sums.value += ops_.measure(op, v).forward_us;
      if (op == first) {
        state.sums.value += price_.activations * ops_.measure(op, v).input_mib;
        continue;
      }
      double least = kNever;
      int from = 0;
      for (int u = 0; u < variants; ++u) {
        const double move = ops_.reshard_us(op, u, v);
        for (int old_bit = 0; old_bit < bits; ++old_bit) {
          double value = row.states[at(2 * u + old_bit)].sums.value + move;
          if (old_bit == 1 && bit == 1) {
            value -= price_.activations *
                     costs.saved_mib(op - 1, ops_.measure(op - 1, u).activation_mib);
          }
          if (value >= least) continue;
          least = value;
          from = 2 * u + old_bit;
        }
      }
      state.sums.value += least;
      if (least < kNever) join(state, row.states[at(from)], op);
      row.before[places + at(2 * v + bit)] = static_cast<std::uint8_t>(from);
    }
  }
  row.states = std::move(next);
  const auto best =
      std::ranges::min_element(row.states, {}, [](const State& state) { return state.sums.value; });
  row.best.push_back(static_cast<std::uint8_t>(best - row.states.begin()));
  row.by_end.push_back(best->sums);
}

const MixedPaths::Sums& MixedPaths::sums(int first, int end) {
  Row& row = rows_[at(first)];
  while (static_cast<int>(row.by_end.size()) < end - first) grow(first, row);
  return row.by_end[at(end - first - 1)];
}

void MixedPaths::path(int first, int end, std::vector<std::uint8_t>& variants) {
  sums(first, end);
  const Row& row = rows_[at(first)];
  std::size_t state = row.best[at(end - first - 1)];
  variants.resize(at(end - first));
  for (int length = end - first; length > 0; --length) {
    variants[at(length - 1)] = static_cast<std::uint8_t>(state / 2);
    state = row.before[at(length - 1) * at(2 * ops_.variants()) + state];
  }
}

}  // namespace weir::plan
