// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/promised_growth.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "schedule/admit/promises.h"

namespace weir::schedule {
namespace {

// A change must have paid by then: nobody can tell what will be later.
constexpr Duration kPaysWithin = from_seconds(600);
// Less is not worth a change.
constexpr double kLeastGain = 0.03;

class PromisedGrowth {
 public:
  PromisedGrowth(const PoolView& view, const EnergyPool& pool, const PriceTerms& terms,
                 double gpu_price, std::vector<WantedBlock>& wanted)
      : view_{view},
        pool_{pool},
        terms_{terms},
        gpu_price_{gpu_price},
        wanted_{wanted},
        map_{view.pool.closed} {
    for (const WantedBlock& want : wanted_) map_.take(want.block);
  }

  // Whoever is done first goes first.
  void run() {
    std::vector<std::pair<Duration, WantedBlock*>> order;
    for (WantedBlock& want : wanted_) {
      const TrainingJob& job = view_.state.job(want.job);
      const bool follows_plan = job.is_promised() && !job.is_at_risk &&
                                job.timeline.end > view_.now &&
                                want.block == job.timeline.block_at(view_.now);
      if (!follows_plan || job.spec->in_one_piece || job.sizes->empty()) continue;
      order.emplace_back(time_for(job.left_at(view_.now), rate_at(job, want.block.size)), &want);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [left, want] : order) grow(*want);
  }

 private:
  static const SizeOption& size_of(const TrainingJob& job, std::uint32_t gpus) {
    return (*job.sizes)[static_cast<std::size_t>(level_of(*job.sizes, gpus))];
  }
  static IterationRate rate_at(const TrainingJob& job, std::uint32_t gpus) {
    return size_of(job, gpus).rate;
  }

  double cost(const PricedJob& job, const PricedOption& option) const {
    const WorkCost work = work_cost(job, option, terms_);
    return work.seconds + price_for(job, terms_) * work.units +
           gpu_price_ * option.gpus / option.rate;
  }

  // Where it is already, around its promised block, or anywhere.
  std::optional<GpuBlock> place(const TrainingJob& job, GpuBlock base, std::uint32_t gpus) const {
    if (job.block.size == gpus && map_.is_free(job.block)) return job.block;
    if (map_.is_free(enclosing(base, gpus))) return enclosing(base, gpus);
    return map_.best_fit(gpus);
  }

  bool pays(const TrainingJob& job, GpuBlock base, const PricedOption& option) const {
    const SizeOption& size = size_of(job, static_cast<std::uint32_t>(option.gpus));
    const Duration horizon =
        std::min(kPaysWithin, size.price + time_for(job.left_at(view_.now), size.rate));
    const double there = option.rate * to_seconds(std::max(Duration{0}, horizon - size.price));
    return there > to_iterations(rate_at(job, base.size) * horizon);
  }

  bool can_afford(const TrainingJob& job, Time there) const {
    return surplus(job, view_.now) >= lost_by_leaving(job, view_.now, there);
  }

  void grow(WantedBlock& want) {
    const auto held = std::lower_bound(pool_.held_ids().begin(), pool_.held_ids().end(), want.job);
    if (held == pool_.held_ids().end() || *held != want.job) return;
    const PricedJob& priced =
        pool_.held()[static_cast<std::size_t>(held - pool_.held_ids().begin())];
    const TrainingJob& job = view_.state.job(want.job);
    const GpuBlock base = want.block;
    const auto is_base = [&](const PricedOption& option) {
      return option.gpus == static_cast<std::int32_t>(base.size);
    };
    const auto promised = std::find_if(priced.options->begin(), priced.options->end(), is_base);
    if (promised == priced.options->end()) return;
    double least = cost(priced, *promised) * (1 - kLeastGain);
    const PricedOption* best = nullptr;
    std::optional<GpuBlock> found;
    map_.give_back(base);
    for (const PricedOption& option : *priced.options) {
      const double at = cost(priced, option);
      if (is_base(option) || at >= least) continue;
      const auto gpus = static_cast<std::uint32_t>(option.gpus);
      const auto block = place(job, base, gpus);
      if (!block) continue;
      const bool is_there = *block == job.block;
      if (!is_there && !pays(job, base, option)) continue;
      const Time there = is_there ? job.ready_at : view_.now + size_of(job, gpus).price;
      if (there > view_.now && !can_afford(job, there)) continue;
      least = at;
      best = &option;
      found = block;
    }
    map_.take(found.value_or(base));
    if (best == nullptr) return;
    want.block = *found;
    want.reason = {ReasonCode::at_this_price, 0};
    want.clock_permille = best->clock_permille;
    want.clocked_millionths = best->clocked_millionths;
  }

  const PoolView& view_;
  const EnergyPool& pool_;
  const PriceTerms& terms_;
  double gpu_price_ = 0;
  std::vector<WantedBlock>& wanted_;
  BlockMap map_;
};

}  // namespace

void grow_promised(const PoolView& view, const EnergyPool& pool, const PriceTerms& terms,
                   double gpu_price, std::vector<WantedBlock>& wanted) {
  PromisedGrowth{view, pool, terms, gpu_price, wanted}.run();
}

}  // namespace weir::schedule
