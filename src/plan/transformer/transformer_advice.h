// SPDX-License-Identifier: Apache-2.0
//
// Why a plan looks as it does, and what to do when there is none: the same search with one thing different.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/diagnostics.h"
#include "plan/transformer/transformer_search.h"

namespace weir::plan {

struct TransformerAlternative {
  std::string change;                     // "pp=2", "Ulysses only"
  std::optional<TransformerChoice> best;  // nothing when no such plan fits
};

// The best plan of each family of attention: heads only, one ring only, both with one ring.
std::vector<TransformerAlternative> attention_families(const TransformerRequest& request);

// The best plan with one degree twice or half as large, another recomputation, another placement, overlapping and the
// memory pool switched: for each that the request does not pin.
std::vector<TransformerAlternative> other_degrees(const TransformerRequest& request,
                                                  const predict::TransformerPlan& chosen);

// Why there is no plan: pins that nothing fits, a batch that nothing divides, or memory; with the smallest change that
// helps. Requires: the search found nothing.
struct NoTransformerPlan {
  bool is_memory = false;
  // There are plans for this, but `can_run` is true for none: only the trainer knows why.
  std::optional<TransformerRequest> beyond_trainer;
  Diagnostics reasons;
};
// How the request was asked for, as far as advice depends on it.
struct AskedFor {
  // The request is one size of a curve, on nodes of so many GPUs; more GPUs are then asked for with --curve and not with
  // --nodes.
  std::optional<int> node_of_a_curve{};
  std::string memory{};  // --memory as typed; empty: it is the GPU's own
};
NoTransformerPlan why_no_plan(const TransformerRequest& request, const AskedFor& asked = {});
// The nearest smaller and the nearest larger batch that the GPUs can divide with these pins, ascending.
std::vector<std::int64_t> dividable_batches(const TransformerRequest& request);

// The same request on another number of GPUs: a part of a node, or whole nodes.
TransformerRequest on_gpus(const TransformerRequest& request, int gpus);
// 1, 2, 4 ... of a node, then 1, 2, 3 ... nodes (powers of two above 16), up to `gpus`.
std::vector<int> usual_sizes(int gpus_per_node, int gpus);

// "tp=8, pp=4": every pin as it is written.
std::vector<std::string> pin_texts(const TransformerPins& pins);

}  // namespace weir::plan
