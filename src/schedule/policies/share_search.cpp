// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/share_search.h"

#include <algorithm>
#include <array>
#include <optional>
#include <queue>

#include "domain/work.h"

namespace weir::schedule {
namespace {

struct Step {
  std::int64_t saved = 0;
  std::int32_t gpus = 0;  // more than before
  std::size_t job = 0;
  std::uint8_t to = 0;

  // Less saved for each GPU; ties go to the job that is first.
  friend bool operator<(const Step& a, const Step& b) {
    const WideInteger left = static_cast<WideInteger>(a.saved) * b.gpus;
    const WideInteger right = static_cast<WideInteger>(b.saved) * a.gpus;
    return left != right ? left < right : a.job > b.job;
  }
};

// The job's best step up that fits; nothing when none saves anything.
std::optional<Step> best_step(const SharingJob& job, std::size_t place, std::uint8_t from,
                              std::int32_t free) {
  std::optional<Step> best;
  const ShareOption& now = job.options[from];
  for (std::size_t to = from + std::size_t{1}; to < job.options.size(); ++to) {
    const ShareOption& next = job.options[to];
    if (next.gpus - now.gpus > free) break;
    const Step step{now.cost - next.cost, next.gpus - now.gpus, place,
                    static_cast<std::uint8_t>(to)};
    if (step.saved > 0 && (!best || *best < step)) best = step;
  }
  return best;
}

class GeneticSearch {
 public:
  GeneticSearch(std::span<const SharingJob> jobs, std::int32_t gpus, const SearchRules& rules,
                SeededRng rng)
      : jobs_{jobs}, gpus_{gpus}, rules_{rules}, rng_{rng} {
    for (const SharingJob& job : jobs) {
      present_.push_back(job.present);
      for (std::size_t i = 0; i < kStride; ++i)
        table_.push_back(job.options[std::min(i, job.options.size() - 1)]);
    }
  }

  Sharing run() {
    begin();
    int idle = 0;
    for (int i = 0; i < rules_.generations && idle < rules_.patience; ++i) {
      const std::int64_t before = population_.front().cost;
      next_generation();
      idle = population_.front().cost < before ? 0 : idle + 1;
    }
    return std::move(population_.front());
  }

 private:
  static constexpr std::size_t kStride = 32;

  const ShareOption& option(std::size_t job, std::uint8_t place) const {
    return table_[job * kStride + place];
  }

  void begin() {
    Sharing present{present_, 0, 0};
    settle(present);
    Sharing greedy = share_greedily(jobs_, gpus_);
    population_.push_back(present);
    population_.push_back(std::move(greedy));
    while (population_.size() < rules_.population) {
      Sharing varied = population_[population_.size() % 2];
      mutate(varied);
      population_.push_back(std::move(varied));
    }
    keep_the_best();
  }

  void next_generation() {
    const std::size_t parents = population_.size();
    for (std::size_t i = 0; i < rules_.population; ++i) {
      Sharing child =
          cross(population_[choose_parent(parents)], population_[choose_parent(parents)]);
      mutate(child);
      population_.push_back(std::move(child));
    }
    keep_the_best();
  }

  // The better of two; the population is sorted.
  std::size_t choose_parent(std::size_t parents) {
    return static_cast<std::size_t>(std::min(rng_.below(parents), rng_.below(parents)));
  }

  Sharing cross(const Sharing& a, const Sharing& b) {
    const auto cut = static_cast<std::ptrdiff_t>(rng_.below(jobs_.size() + 1));
    Sharing child;
    child.options.reserve(jobs_.size());
    child.options.insert(child.options.end(), a.options.begin(), a.options.begin() + cut);
    child.options.insert(child.options.end(), b.options.begin() + cut, b.options.end());
    return child;
  }

  // A few jobs get another option, one of them perhaps what it has now; then whatever is too much is
  // cut, and what is free is given to somebody.
  void mutate(Sharing& sharing) {
    const std::uint64_t changes = 1 + rng_.below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const auto job = static_cast<std::size_t>(rng_.below(jobs_.size()));
      constexpr std::uint64_t kOneInBack = 4;
      sharing.options[job] = rng_.below(kOneInBack) == 0
                                 ? present_[job]
                                 : static_cast<std::uint8_t>(rng_.below(jobs_[job].options.size()));
    }
    settle(sharing);
    constexpr int kTries = 4;
    for (int i = 0; i < kTries && sharing.gpus < gpus_; ++i) {
      const auto job = static_cast<std::size_t>(rng_.below(jobs_.size()));
      grow(sharing, job);
    }
  }

  void grow(Sharing& sharing, std::size_t job) const {
    const auto step = best_step(jobs_[job], job, sharing.options[job], gpus_ - sharing.gpus);
    if (!step) return;
    sharing.options[job] = step->to;
    sharing.cost -= step->saved;
    sharing.gpus += step->gpus;
  }

  // Cuts what does not fit, and adds up.
  void settle(Sharing& sharing) const {
    sharing.cost = 0;
    sharing.gpus = 0;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      std::uint8_t& place = sharing.options[job];
      while (option(job, place).gpus > gpus_ - sharing.gpus) --place;
      sharing.cost += option(job, place).cost;
      sharing.gpus += option(job, place).gpus;
    }
  }

  void keep_the_best() {
    // Of equals the older, so that nothing changes without a gain.
    std::stable_sort(population_.begin(), population_.end(),
                     [](const Sharing& a, const Sharing& b) { return a.cost < b.cost; });
    population_.erase(std::unique(population_.begin(), population_.end()), population_.end());
    if (population_.size() > rules_.population) population_.resize(rules_.population);
  }

  std::span<const SharingJob> jobs_;
  std::int32_t gpus_;
  SearchRules rules_;
  SeededRng rng_;
  std::vector<std::uint8_t> present_;
  std::vector<ShareOption> table_;  // by job and option
  std::vector<Sharing> population_;
};

}  // namespace

Sharing share_greedily(std::span<const SharingJob> jobs, std::int32_t gpus) {
  Sharing sharing;
  sharing.options.assign(jobs.size(), 0);
  std::priority_queue<Step> steps;
  const auto consider = [&](std::size_t job) {
    if (auto step = best_step(jobs[job], job, sharing.options[job], gpus - sharing.gpus))
      steps.push(*step);
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    sharing.cost += jobs[i].options.front().cost;
    consider(i);
  }
  while (!steps.empty()) {
    const Step step = steps.top();
    steps.pop();
    if (step.gpus <= gpus - sharing.gpus) {
      sharing.options[step.job] = step.to;
      sharing.cost -= step.saved;
      sharing.gpus += step.gpus;
    }
    consider(step.job);
  }
  return sharing;
}

Sharing search_sharing(std::span<const SharingJob> jobs, std::int32_t gpus,
                       const SearchRules& rules, SeededRng rng) {
  if (jobs.empty()) return {};
  return GeneticSearch{jobs, gpus, rules, rng}.run();
}

}  // namespace weir::schedule
