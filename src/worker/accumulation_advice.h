// SPDX-License-Identifier: Apache-2.0
//
// How many GPUs, of which kind, with which micro-batch: the time and the bill of a step for each
// choice that keeps the global batch, from what was measured.
//
// A global batch of G samples on n GPUs is ceil(G/n) samples for the busiest, in K passes of b:
//   time = K * per_pass + ceil(G/n) * per_sample + exposed + update
//   exposed = max(0, sync(n) - overlap * (per_pass + b * per_sample))     once a step, in the last pass
//   bill = n * price * time
// On the same GPUs more passes only add K * per_pass. Accumulation pays where it lets a cheaper GPU
// hold the batch, or where fewer GPUs synchronise over a slow network. After the question of Huang,
// Jiang, Guo and Liu (CCGrid 2023). Limits: per_sample is taken as constant, all GPUs of a choice as
// equal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/quantity.h"
#include "domain/result.h"
#include "domain/time.h"
#include "domain/work.h"

namespace weir::worker {

using Price = Quantity<struct PriceTag, std::int64_t>;  // millionths of a currency per GPU and hour

struct SyncTime {
  std::int32_t gpus = 1;
  Duration time{};
};

// One kind of GPU, with what was measured on it.
struct MeasuredGpu {
  std::string name;
  Price price;
  Duration per_pass{};              // alpha: what a pass costs however small it is
  Duration per_sample{};            // beta
  Duration update{};                // of the optimiser, once a step
  std::int64_t most_local = 1;      // samples that fit its memory
  std::int32_t overlap_permille{};  // of the last pass, behind which synchronising is hidden
  std::vector<SyncTime> sizes;      // the numbers of GPUs there are to choose from
};

struct AccumulationQuestion {
  std::int64_t global_batch = 1;
  std::vector<MeasuredGpu> gpus;
  // Sizes where the busiest GPU has so much more than its share are not offered.
  std::int32_t most_imbalance_permille = 100;
};

// Millionths of a currency times nanoseconds per hour: exact, so that it can decide.
struct Bill {
  WideInteger value = 0;
  friend constexpr auto operator<=>(const Bill&, const Bill&) = default;
};
// For reports only: in units of the currency.
double to_currency(Bill bill);

struct AccumulationChoice {
  std::size_t kind = 0;  // which of the question's gpus
  std::int32_t gpus = 1;
  std::int64_t micro_batch = 1;  // the largest of the busiest GPU
  std::int64_t passes = 1;
  Duration step_time{};
  Bill step_bill;
  friend bool operator==(const AccumulationChoice&, const AccumulationChoice&) = default;
};

// Every choice: for each kind and size, each micro-batch that fits with the fewest passes it needs.
// In the order of kind, size, passes. An error lists what is wrong with the question.
[[nodiscard]] Result<std::vector<AccumulationChoice>> accumulation_choices(
    const AccumulationQuestion& question);

// Those that no other beats in time and bill both, the fastest first, each cheaper than the one before
// it. Of equals the first one stays.
std::vector<AccumulationChoice> worth_considering(std::vector<AccumulationChoice> choices);

}  // namespace weir::worker
