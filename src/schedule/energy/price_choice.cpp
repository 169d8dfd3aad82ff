// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/price_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace weir::schedule {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;
constexpr Duration kForesight = std::chrono::hours{96};
constexpr int kHalvings = 30;
constexpr int kRepairs = 12;
constexpr double kTie = 1e-9;  // relative: what differs by less is alike, and the first counts
constexpr double kLeastSaving = 1e-9;  // watts: less is rounding

double mean_supply(const PriceTerms& terms, double seconds) {
  const auto most = to_seconds(kForesight);
  const Duration ahead =
      seconds < most ? Duration{static_cast<std::int64_t>(seconds * 1e9)} : kForesight;
  return terms.supply->mean(terms.now, terms.now + ahead);
}

// What a GPU costs over that time, of what it costs now.
double mean_shortage(const PriceTerms& terms, double seconds) {
  return 1 / (1 + seconds / terms.shortage_seconds);
}

// Of one option of a job, what does not depend on the price of GPUs.
struct Costs {
  double time = 0;  // seconds per iteration, energy included
  double gpus = 0;  // GPU-seconds per iteration, at the price of GPUs now
  double rate = 0;
  double now = 0;    // what its energy costs now, in seconds per second
  double later = 0;  // what a watt costs over the job's own time
  std::int32_t size = 0;
};

class Chooser {
 public:
  Chooser(std::span<const PricedJob> jobs, const PriceTerms& terms) : jobs_{jobs}, terms_{terms} {
    const double node_share = terms.node_watts / terms.gpus_per_node;
    begin_.reserve(jobs.size() + 1);
    begin_.push_back(0);
    std::size_t all = 0;
    for (const PricedJob& job : jobs) all += job.options->size();
    costs_.reserve(all);
    now_.reserve(jobs.size());
    for (const PricedJob& job : jobs) {
      const double price = price_for(job, terms);
      has_price_ = has_price_ || price > 0;
      now_.push_back(price > 0 ? price * terms.supply->at(terms.now) / kJoulesPerKwh : 0);
      for (const PricedOption& option : *job.options) {
        Costs cost;
        const double watts = option.watts + option.gpus * node_share;
        const double later =
            price > 0 ? price * mean_supply(terms, job.left / option.rate) / kJoulesPerKwh : 0;
        cost.time = (1 + later * watts) / option.rate;
        cost.gpus = option.gpus / option.rate * mean_shortage(terms, job.left / option.rate);
        cost.rate = option.rate;
        cost.now = now_.back() * watts;
        cost.later = later;
        cost.size = option.gpus;
        costs_.push_back(cost);
      }
      begin_.push_back(costs_.size());
    }
  }

  PriceChoice choose() {
    PriceChoice choice;
    choice.gpu_price = least_gpu_price();
    best_.assign(jobs_.size(), kNoOption);
    etas_.resize(jobs_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) best_[i] = pick(i, choice.gpu_price, &etas_[i]);
    choice.order = order();
    serve(choice);
    hand_out_left_overs(choice);
    if (has_price_) repair(choice);
    if (terms_.cap_watts) keep_below_cap(choice);
    choice.options = best_;
    return choice;
  }

 private:
  std::span<const Costs> of(std::size_t job) const {
    return {costs_.data() + begin_[job], begin_[job + 1] - begin_[job]};
  }

  double eta(std::size_t job, double gpu_price) const {
    double least = std::numeric_limits<double>::infinity();
    for (const Costs& cost : of(job)) least = std::min(least, cost.time + gpu_price * cost.gpus);
    return least;
  }

  // What an option is worth beside waiting: work done, less what it costs.
  double value(const Costs& cost, double eta, double gpu_price) const {
    return eta * cost.rate - cost.now - gpu_price * cost.size;
  }

  int pick(std::size_t job, double gpu_price, double* eta_out = nullptr) const {
    const double at = eta(job, gpu_price);
    if (eta_out != nullptr) *eta_out = at;
    double best = jobs_[job].must_run ? -std::numeric_limits<double>::infinity() : 0;
    int option = kNoOption;
    const auto costs = of(job);
    for (std::size_t k = 0; k < costs.size(); ++k) {
      const double worth = value(costs[k], at, gpu_price);
      if (worth > best) {
        best = worth;
        option = static_cast<int>(k);
      }
    }
    return option;
  }

  std::int32_t size(std::size_t job, int option) const {
    return option == kNoOption ? 0 : of(job)[static_cast<std::size_t>(option)].size;
  }

  std::int64_t wanted(double gpu_price) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) sum += size(i, pick(i, gpu_price));
    return sum;
  }

  double least_gpu_price() const {
    if (wanted(0) <= terms_.gpus) return 0;
    double high = 1e-3;
    while (high < 1e6 && wanted(high) > terms_.gpus) high *= 4;
    double low = high / 4;
    if (high <= 1e-3) low = 0;
    for (int i = 0; i < kHalvings && high - low > 1e-4 * high; ++i) {
      const double middle = (low + high) / 2;
      (wanted(middle) > terms_.gpus ? low : high) = middle;
    }
    return high;
  }

  // Whoever is done first goes first; who may not wait any longer before all others.
  std::vector<std::size_t> order() const {
    std::vector<double> ends(jobs_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (const Costs& cost : of(i)) least = std::min(least, jobs_[i].left / cost.rate);
      ends[i] = jobs_[i].must_run ? -1 : least;
    }
    std::vector<std::size_t> sorted(jobs_.size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](std::size_t a, std::size_t b) { return ends[a] < ends[b]; });
    return sorted;
  }

  // Whoever does not fit takes the largest of its options that does, or waits.
  void serve(const PriceChoice& choice) {
    left_ = terms_.gpus;
    for (const std::size_t i : choice.order) {
      if (size(i, best_[i]) > left_) best_[i] = best_within(i, left_, etas_[i], choice.gpu_price);
      left_ -= size(i, best_[i]);
    }
  }

  int best_within(std::size_t job, std::int32_t gpus, double at, double gpu_price) const {
    double best = jobs_[job].must_run ? -std::numeric_limits<double>::infinity() : 0;
    int option = kNoOption;
    const auto costs = of(job);
    for (std::size_t k = 0; k < costs.size(); ++k) {
      if (costs[k].size > gpus) continue;
      const double worth = value(costs[k], at, gpu_price);
      if (worth > best) {
        best = worth;
        option = static_cast<int>(k);
      }
    }
    return option;
  }

  void hand_out_left_overs(const PriceChoice& choice) {
    constexpr std::array kShares{0.6, 0.3, 0.0};
    if (choice.gpu_price <= 0) return;
    for (const double share : kShares) {
      for (const std::size_t i : choice.order) {
        if (left_ <= 0) return;
        const int option = pick(i, share * choice.gpu_price);
        const std::int32_t more = size(i, option) - size(i, best_[i]);
        if (more <= 0 || more > left_) continue;
        best_[i] = option;
        left_ -= more;
      }
    }
  }

  double node_watts(std::int64_t gpus) const {
    const std::int64_t awake = (gpus + terms_.gpus_per_node - 1) / terms_.gpus_per_node;
    return static_cast<double>(awake) * terms_.node_watts +
           static_cast<double>(awake * terms_.gpus_per_node - gpus) * terms_.idle_watts;
  }

  double watts(std::size_t job, int option) const {
    return option == kNoOption ? 0 : (*jobs_[job].options)[static_cast<std::size_t>(option)].watts;
  }

  // Nodes are awake whole: one job more or less on a node is not worth its share of it.
  void repair(const PriceChoice& choice) {
    tabulate_own_nodes();
    std::int64_t gpus = terms_.gpus - left_;
    for (int round = 0; round < kRepairs; ++round) {
      double most = 1e-9;
      std::size_t job = 0;
      int option = kNoOption;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const std::int64_t others = gpus - size(i, best_[i]);
        const double at = eta_beside(i, others, choice.gpu_price);
        const double have = worth(i, best_[i], others, at, choice.gpu_price);
        const auto costs = of(i);
        const int first = jobs_[i].must_run ? 0 : kNoOption;
        for (int k = first; k < static_cast<int>(costs.size()); ++k) {
          if (k == best_[i]) continue;
          const std::int64_t then = gpus + size(i, k) - size(i, best_[i]);
          if (then > terms_.gpus) continue;
          const double gain = worth(i, k, others, at, choice.gpu_price) - have;
          if (gain > most * (1 + kTie)) {
            most = gain;
            job = i;
            option = k;
          }
        }
      }
      if (most <= 1e-9) break;
      gpus += size(job, option) - size(job, best_[job]);
      best_[job] = option;
    }
    left_ = terms_.gpus - static_cast<std::int32_t>(gpus);
  }

  // The nodes that one job's option keeps awake beside the others. It depends only on how many GPUs
  // of their last node the others use.
  double own_nodes(std::int64_t others, std::int32_t gpus) const {
    return own_nodes_[static_cast<std::size_t>(others % terms_.gpus_per_node * (most_gpus_ + 1) +
                                               gpus)];
  }

  void tabulate_own_nodes() {
    most_gpus_ = 0;
    for (const Costs& cost : costs_) most_gpus_ = std::max(most_gpus_, cost.size);
    for (std::int32_t used = 0; used < terms_.gpus_per_node; ++used) {
      for (std::int32_t gpus = 0; gpus <= most_gpus_; ++gpus)
        own_nodes_.push_back(node_watts(used + gpus) - node_watts(used));
    }
  }

  double eta_beside(std::size_t job, std::int64_t others, double gpu_price) const {
    double least = std::numeric_limits<double>::infinity();
    const auto costs = of(job);
    for (std::size_t k = 0; k < costs.size(); ++k) {
      const double drawn = watts(job, static_cast<int>(k)) + own_nodes(others, costs[k].size);
      least =
          std::min(least, (1 + costs[k].later * drawn) / costs[k].rate + gpu_price * costs[k].gpus);
    }
    return least;
  }

  double worth(std::size_t job, int option, std::int64_t others, double eta,
               double gpu_price) const {
    if (option == kNoOption) return 0;
    const Costs& cost = of(job)[static_cast<std::size_t>(option)];
    return eta * cost.rate - now_[job] * (watts(job, option) + own_nodes(others, cost.size)) -
           gpu_price * cost.size;
  }

  // One job on less than it has, or waiting.
  struct Sacrifice {
    std::size_t job = 0;
    int option = kNoOption;
  };

  // What is worth least for each watt. Who must run is not made to wait.
  std::optional<Sacrifice> least_sacrifice(std::int64_t gpus, double gpu_price) const {
    std::optional<Sacrifice> found;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (best_[i] == kNoOption) continue;
      const auto value_of = [&](int at) {
        return at == kNoOption ? 0
                               : value(of(i)[static_cast<std::size_t>(at)], etas_[i], gpu_price);
      };
      const int first = jobs_[i].must_run ? 0 : kNoOption;
      for (int k = first; k < static_cast<int>(of(i).size()); ++k) {
        const std::int64_t then = gpus + size(i, k) - size(i, best_[i]);
        if (then > gpus) continue;
        const double saved = watts(i, best_[i]) - watts(i, k) + node_watts(gpus) - node_watts(then);
        if (saved <= kLeastSaving) continue;
        const double lost = (value_of(best_[i]) - value_of(k)) / saved;
        if (lost >= least) continue;
        least = lost;
        found = {i, k};
      }
    }
    return found;
  }

  // Gives up what is worth least for each watt until the site draws no more than it may. Where no
  // single job saves anything, whoever is last in the order waits: that is who must run only when
  // nobody else is left, for a cap is a cap.
  void keep_below_cap(const PriceChoice& choice) {
    while (packed_watts(jobs_, best_, terms_) > *terms_.cap_watts) {
      const std::int64_t gpus = terms_.gpus - left_;
      auto given_up = least_sacrifice(gpus, choice.gpu_price);
      if (!given_up) {
        const auto last = std::find_if(choice.order.rbegin(), choice.order.rend(),
                                       [&](std::size_t i) { return best_[i] != kNoOption; });
        if (last == choice.order.rend()) return;  // nothing runs
        given_up = {*last, kNoOption};
      }
      left_ += size(given_up->job, best_[given_up->job]) - size(given_up->job, given_up->option);
      best_[given_up->job] = given_up->option;
    }
  }

  std::span<const PricedJob> jobs_;
  const PriceTerms& terms_;
  std::vector<double> now_;  // what a watt costs each job now, in seconds per second
  bool has_price_ = false;   // for anybody
  std::vector<Costs> costs_;
  std::vector<std::size_t> begin_;
  std::vector<int> best_;
  std::vector<double> etas_;
  std::int32_t left_ = 0;
  std::int32_t most_gpus_ = 0;  // of any option
  std::vector<double> own_nodes_;
};

}  // namespace

PriceChoice choose_by_price(std::span<const PricedJob> jobs, const PriceTerms& terms) {
  return Chooser{jobs, terms}.choose();
}

double packed_watts(std::span<const PricedJob> jobs, std::span<const int> options,
                    const PriceTerms& terms) {
  double watts = 0;
  std::int64_t gpus = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (options[i] == kNoOption) continue;
    const PricedOption& option = (*jobs[i].options)[static_cast<std::size_t>(options[i])];
    watts += option.watts;
    gpus += option.gpus;
  }
  const std::int64_t awake = (gpus + terms.gpus_per_node - 1) / terms.gpus_per_node;
  return watts + static_cast<double>(awake) * terms.node_watts +
         static_cast<double>(awake * terms.gpus_per_node - gpus) * terms.idle_watts;
}

WorkCost work_cost(const PricedJob& job, const PricedOption& option, const PriceTerms& terms) {
  if (terms.supply == nullptr) return {1 / option.rate, 0};
  const double watts = option.watts + option.gpus * terms.node_watts / terms.gpus_per_node;
  return {1 / option.rate,
          mean_supply(terms, job.left / option.rate) * watts / kJoulesPerKwh / option.rate};
}

CheapestWork cheapest_work(const PricedJob& job, const PriceTerms& terms, double gpu_price) {
  CheapestWork best{std::numeric_limits<double>::infinity(), 0, kNoOption};
  for (std::size_t k = 0; k < job.options->size(); ++k) {
    const PricedOption& option = (*job.options)[k];
    const WorkCost work = work_cost(job, option, terms);
    const double cost =
        work.seconds + price_for(job, terms) * work.units + gpu_price * option.gpus / option.rate;
    if (cost < best.cost) best = {cost, work.units, static_cast<int>(k)};
  }
  return best;
}

}  // namespace weir::schedule
