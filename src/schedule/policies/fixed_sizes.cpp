// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/fixed_sizes.h"

#include <algorithm>
#include <map>

#include "schedule/place/rearrange.h"

namespace weir::schedule {
namespace {

// Unless its node is being drained.
bool is_tied_to_its_gpus(const PoolState& pool, const TrainingJob& job) {
  return job.spec->in_one_piece && !job.block.is_none() && pool.closed.is_free(job.block);
}

class Serving {
 public:
  Serving(const PoolView& view, std::span<const JobId> order)
      : state_{view.state}, pool_{view.pool}, order_{order}, closed_{view.pool.closed} {}

  std::vector<WantedBlock> run() {
    keep_the_tied();
    choose_who_fits();
    if (!stays_as_it_is()) {
      place();
      if (has_unplaced_) fill_holes();
    }
    std::sort(wanted_.begin(), wanted_.end(),
              [](const WantedBlock& a, const WantedBlock& b) { return a.job < b.job; });
    return std::move(wanted_);
  }

 private:
  struct Chosen {
    JobId job;
    std::size_t place = 0;  // in the order
  };

  void want(JobId job, GpuBlock block, std::size_t place) {
    wanted_.push_back({job, block, {ReasonCode::policy_order, place + 1}});
  }

  void keep_the_tied() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const TrainingJob& job = state_.job(order_[i]);
      if (!is_tied_to_its_gpus(pool_, job)) continue;
      closed_.cover(job.block);
      want(order_[i], job.block, i);
    }
  }

  void choose_who_fits() {
    std::uint32_t free = closed_.free_count();
    for (std::size_t i = 0; i < order_.size() && free > 0; ++i) {
      const TrainingJob& job = state_.job(order_[i]);
      if (is_tied_to_its_gpus(pool_, job) || asked_gpus(job) > free) continue;
      free -= asked_gpus(job);
      chosen_.push_back({order_[i], i});
    }
  }

  // Nobody starts and nobody has to move: there is nothing to find.
  bool stays_as_it_is() {
    const bool all_stay = std::all_of(chosen_.begin(), chosen_.end(), [&](const Chosen& chosen) {
      const GpuBlock block = state_.job(chosen.job).block;
      return !block.is_none() && closed_.is_free(block);
    });
    if (!all_stay) return false;
    for (const auto& [job, place] : chosen_) want(job, state_.job(job).block, place);
    return true;
  }

  // What those who stop leave, by size. Who starts takes the place of one of its own size where it
  // can, so that nobody else has to move and the GPUs know each other already.
  std::map<std::uint32_t, std::vector<GpuBlock>> blocks_left_behind() const {
    std::vector<JobId> stays;
    for (const Chosen& chosen : chosen_) stays.push_back(chosen.job);
    std::sort(stays.begin(), stays.end());
    std::map<std::uint32_t, std::vector<GpuBlock>> left_behind;
    for (const JobId id : pool_.active) {
      const TrainingJob& job = state_.job(id);
      if (job.block.is_none() || is_tied_to_its_gpus(pool_, job)) continue;
      if (std::binary_search(stays.begin(), stays.end(), id)) continue;
      left_behind[job.block.size].push_back(job.block);
    }
    for (auto& [size, blocks] : left_behind) std::reverse(blocks.begin(), blocks.end());
    return left_behind;
  }

  void place() {
    auto left_behind = blocks_left_behind();
    std::vector<SizeWish> wishes;
    wishes.reserve(chosen_.size());
    for (const Chosen& chosen : chosen_) {
      const TrainingJob& job = state_.job(chosen.job);
      SizeWish wish{job.block, asked_gpus(job)};
      const auto same_size = left_behind.find(wish.gpus);
      if (wish.present.is_none() && same_size != left_behind.end() && !same_size->second.empty()) {
        wish.present = same_size->second.back();
        same_size->second.pop_back();
      }
      wishes.push_back(wish);
    }
    const std::vector<GpuBlock> blocks = rearrange(wishes, closed_);
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (!blocks[i].is_none()) want(chosen_[i].job, blocks[i], chosen_[i].place);
      has_unplaced_ = has_unplaced_ || blocks[i].is_none();
    }
  }

  // Where closed GPUs leave no block for somebody who fits by count, others use what there is.
  void fill_holes() {
    BlockMap map = pool_.closed;
    std::vector<JobId> placed;
    for (const WantedBlock& wanted : wanted_) {
      map.cover(wanted.block);
      placed.push_back(wanted.job);
    }
    std::sort(placed.begin(), placed.end());
    for (std::size_t i = 0; i < order_.size() && map.free_count() > 0; ++i) {
      if (std::binary_search(placed.begin(), placed.end(), order_[i])) continue;
      const auto block = map.best_fit(asked_gpus(state_.job(order_[i])));
      if (!block) continue;
      map.take(*block);
      want(order_[i], *block, i);
    }
  }

  const TrainingState& state_;
  const PoolState& pool_;
  std::span<const JobId> order_;
  BlockMap closed_;  // to everybody who may move
  std::vector<Chosen> chosen_;
  std::vector<WantedBlock> wanted_;
  bool has_unplaced_ = false;
};

}  // namespace

Verdict FixedSizePolicy::judge(const PoolView&, const TrainingJob& job) const {
  if (job.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
  return NoPromise{};
}

Duration time_to_finish(const TrainingJob& job, Time now) {
  const SizeOption& size = asked_size(job);
  const Duration start = job.block.is_none() ? size.price : Duration{0};
  const Duration work = time_for(job.left_at(now), size.rate);
  return work > Duration::max() - start ? Duration::max() : start + work;
}

Line line_of(const PoolView& view) {
  Line line;
  BlockMap map = view.pool.closed;
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    if (!job.block.is_none()) {
      line.running.push_back(id);
      map.cover_later(job.block);
      continue;
    }
    const std::uint32_t gpus = asked_gpus(job);
    line.least_wanted = line.somebody_waits() ? std::min(line.least_wanted, gpus) : gpus;
    line.waiting.push_back(id);
  }
  map.count_free();
  line.free = map.free_count();
  return line;
}

std::vector<WantedBlock> serve_in_order(const PoolView& view, std::span<const JobId> order) {
  return Serving{view, order}.run();
}

std::vector<WantedBlock> keep_running(const PoolView& view, const Line& line) {
  return serve_in_order(view, line.running);
}

}  // namespace weir::schedule
