// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/shifting.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "schedule/energy/capped_options.h"
#include "schedule/energy/energy_pool.h"

namespace weir::schedule {
namespace {

// Of a window; further ahead nobody plans.
constexpr double kLongestWindowSeconds = 365.0 * 24 * 3600;

// What is left to a job under the limits: sizes of which each is faster than those before it.
struct ShiftingChoices {
  std::vector<int> options;
  std::vector<PlannedSize> sizes;
  int wanted = kPaused;

  double fastest() const { return sizes.back().rate; }
};

ShiftingChoices choices_under(const EnergyCaps& caps, const PricedJob& job) {
  ShiftingChoices choices;
  for (const int at : capped_options(*job.options, caps)) {
    const PricedOption& option = (*job.options)[static_cast<std::size_t>(at)];
    if (!choices.sizes.empty() && option.rate <= choices.fastest()) continue;
    choices.options.push_back(at);
    choices.sizes.push_back({option.rate, option.watts});
  }
  return choices;
}

Time end_of_window(const TrainingJob& job, double fastest, std::int32_t stretch_permille) {
  const double seconds =
      static_cast<double>(job.spec->iterations) / fastest * stretch_permille / 1000;
  return job.submitted +
         Duration{static_cast<Duration::rep>(std::min(seconds, kLongestWindowSeconds) *
                                             (from_seconds(1) / Duration{1}))};
}

}  // namespace

Allocation ShiftingPolicy::allocate(const PoolView& view) const {
  const EnergyPool pool{view};
  const auto& jobs = pool.jobs();
  const PriceTerms terms = pool.terms(0);
  std::vector<ShiftingChoices> choices;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    choices.push_back(choices_under(view.config.caps, jobs[i]));
    ShiftingChoices& job = choices.back();
    job.wanted = static_cast<int>(job.sizes.size()) - 1;
    const Time end = end_of_window(view.state.job(pool.ids()[i]), job.fastest(),
                                   view.config.caps.stretch_permille);
    if (terms.supply == nullptr || end <= view.now) continue;
    job.wanted = wanted_now(job.sizes, hourly_slots(*terms.supply, view.now, end), jobs[i].left);
  }
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return jobs[a].left / choices[a].fastest() < jobs[b].left / choices[b].fastest();
  });
  std::int32_t left = terms.gpus;
  std::vector<int> chosen(jobs.size(), kNoOption);
  for (const std::size_t i : order) {
    for (int level = choices[i].wanted; level != kPaused; --level) {
      const int at = choices[i].options[static_cast<std::size_t>(level)];
      const std::int32_t gpus = (*jobs[i].options)[static_cast<std::size_t>(at)].gpus;
      if (gpus > left) continue;
      chosen[i] = at;
      left -= gpus;
      break;
    }
  }
  return pool.allocation(chosen, order, ReasonCode::policy_order);
}

}  // namespace weir::schedule
