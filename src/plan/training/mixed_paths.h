// SPDX-License-Identifier: Apache-2.0
//
// For every stage, the path through its operators that picks a variant for each, and perhaps computes it again,
// so that time plus priced memory is least. Made as far as somebody asks.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/training/mixed_ops.h"

namespace weir::plan {

// Microseconds per MiB that a path pays for what it keeps.
struct MemoryPrice {
  double weights = 0;       // per MiB of weights, with all that hangs on them
  double activations = 0;   // per MiB of activations of one microbatch, and of the stage's input
  bool recomputes = false;  // activations may be computed again instead
};

class MixedPaths {
 public:
  MixedPaths(const MixedOps& ops, MemoryPrice price);

  struct Sums {
    double value = 0;  // time, recomputation and priced memory: no path of the stage has less
    double busy = 0;
    double reshard = 0;
    double weights = 0;
    double kept = 0;  // recomputation left aside
    double embedding = 0;
    double reserved_forward = 0;  // as far as the cost model counts it
    double reserved_backward = 0;
    std::uint8_t first_variant = 0;
    std::uint8_t last_variant = 0;
  };
  const Sums& sums(int first, int end);
  // The variant of each operator of [first, end).
  void path(int first, int end, std::vector<std::uint8_t>& variants);

 private:
  struct State {
    Sums sums;
    double last_reserved_forward = 0;
    double last_reserved_backward = 0;
  };
  // States are numbered 2 x variant + (computed again ? 1 : 0).
  struct Row {                         // all stages that begin at one operator
    std::vector<State> states;         // at the operator reached
    std::vector<Sums> by_end;          // by length - 1
    std::vector<std::uint8_t> best;    // by length - 1: the state the path ends in
    std::vector<std::uint8_t> before;  // by length - 1 and state: the state of the operator before
  };
  void grow(int first, Row& row);
  State begin(int op, int v) const;
  void join(State& state, const State& before, int op) const;

  const MixedOps& ops_;
  MemoryPrice price_;
  std::vector<Row> rows_;
};

}  // namespace weir::plan
