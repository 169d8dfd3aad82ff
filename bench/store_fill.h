// SPDX-License-Identifier: Apache-2.0
//
// Stores with a long past, made in seconds: jobs that came, were promised, ran and ended, and a few
// that still wait. Nothing is decided; the records are such as a core could have written, and fold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "control/store.h"
#include "domain/cluster.h"

namespace weir::bench {

struct StoreFill {
  std::size_t jobs = 100'000;
  std::size_t records = 1'000'000;              // about; at least 6 per job
  std::size_t active = 1'000;                   // jobs that still wait at the end
  std::size_t records_after_snapshot = 20'000;  // about
};

// 2 nodes of 8 GPUs: what the jobs of a fill run on.
Cluster fill_cluster();
schedule::State fill_initial_state();

// What one submission gives: an event, three records, a new job with its document and its view.
// `number` counts from 1 and must be the next job of the store.
void add_submission(control::Batch& batch, std::uint64_t number, Time at);

struct FilledStore {
  control::LogPosition end;
  std::uint64_t snapshot_entry = 0;
  Time now;
};
// Requires: the store is new.
Result<FilledStore> fill_store(control::Store& store, const StoreFill& fill);

}  // namespace weir::bench
