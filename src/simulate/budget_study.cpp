// SPDX-License-Identifier: Apache-2.0
#include "simulate/budget_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "simulate/parallel_for.h"

namespace weir::simulate {
namespace {

constexpr std::array kSizeCaps{1, 2, 4, 8, 16, 32, 64};
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Tried {
  double units = 0;
  double seconds = 0;  // mean completion
  schedule::EnergyCaps caps;
};

// GPU-seconds on the least size: what EnergyTerms::expected_gpu_seconds counts.
double least_gpu_seconds(const TrainingWorkload& workload, const CurveBook& curves,
                         std::size_t row) {
  const TrainingSpec& spec = workload.jobs[row].spec;
  const Curve* curve = curves.find(spec.curve);
  if (curve == nullptr || curve->empty()) return 0;
  const CurvePoint& least = curve->useful().front();
  return static_cast<double>(spec.iterations) / (static_cast<double>(least.rate.value) / 1e6) *
         least.gpus;
}

class PlaceStudy {
 public:
  PlaceStudy(const StudySetup& setup, const TrainingWorkload& workload, double expected,
             const StudyPlace& place, std::atomic<std::int64_t>& runs)
      : setup_{setup}, workload_{workload}, expected_{expected}, place_{place}, runs_{runs} {}

  StudiedPlace study() {
    StudiedPlace found;
    found.region = place_.region;
    found.start = place_.start;
    try_caps("elastic-capped", elastic_);
    const Tried& base = elastic_.back();  // nothing is capped
    found.base_units = base.units;
    found.base_completion_seconds = base.seconds;
    if (setup_.has_weak_rivals) {
      try_caps("srtf-capped", srtf_);
      found.srtf_units = srtf_.back().units;
      found.srtf_completion_seconds = srtf_.back().seconds;
    }
    free_ = run("green", with_price(0));
    mean_ = mean_supply();
    for (const std::int64_t percent : setup_.budget_percents) {
      const double budget = base.units * static_cast<double>(percent) / 100;
      found.results.push_back(tuned_price(Way::price_tuned, percent, budget));
      found.results.push_back(tuned_price(Way::price_blind, percent, budget));
      found.results.push_back(steered(Way::price_steered, percent, budget));
      if (!place_.forecasts.empty())
        found.results.push_back(steered(Way::price_forecast, percent, budget));
      found.results.push_back(best_of(Way::elastic_tuned, elastic_, percent, budget));
      found.results.push_back(steered(Way::elastic_steered, percent, budget));
      found.results.push_back(steered(Way::elastic_path_tuned, percent, budget));
      if (!setup_.has_weak_rivals) continue;
      found.results.push_back(best_of(Way::srtf_tuned, srtf_, percent, budget));
      std::vector<Tried> clocks;
      for (const Tried& tried : elastic_) {
        if (tried.caps.gpus == kSizeCaps.back()) clocks.push_back(tried);
      }
      found.results.push_back(best_of(Way::elastic_clock_tuned, clocks, percent, budget));
    }
    return found;
  }

 private:
  TrainingRunConfig with_price(double price) const {
    TrainingRunConfig config = plain();
    config.energy->terms.price_nanos = std::llround(price * 1e9);
    return config;
  }

  TrainingRunConfig plain() const {
    TrainingRunConfig config;
    config.energy.emplace();
    config.energy->books = setup_.books;
    config.energy->supply = place_.supply;
    return config;
  }

  TrainingRunConfig with_budget(double budget) const {
    TrainingRunConfig config = plain();
    config.energy->terms.budget_micros = std::llround(budget * 1e6);
    config.energy->terms.expected_gpu_seconds =
        std::llround(expected_ * static_cast<double>(setup_.expected_permille) / 1000);
    return config;
  }

  Tried run(const std::string& policy, TrainingRunConfig config) {
    config.policy = policy;
    const TrainingOutcome outcome = run_training(setup_.cluster, workload_, setup_.curves, config);
    ++runs_;
    // A policy that leaves work undone has saved nothing.
    if (outcome.finished != outcome.jobs) return {kNever, kNever, {}};
    return {outcome.energy->units,
            outcome.total_completion_seconds / static_cast<double>(outcome.finished),
            {}};
  }

  // The clocks the book knows.
  std::vector<std::int32_t> clocks() const {
    std::vector<std::int32_t> found;
    for (const auto& [key, table] : setup_.books.front().tables) {
      for (const PowerPoint& point : table) found.push_back(point.clock_permille);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  void try_caps(const std::string& policy, std::vector<Tried>& tried) {
    for (const int gpus : kSizeCaps) {
      for (const std::int32_t clock : clocks()) {
        TrainingRunConfig config = plain();
        config.training.caps.gpus = gpus;
        config.training.caps.clock_permille = clock;
        tried.push_back(run(policy, config));
        tried.back().caps = config.training.caps;
      }
    }
  }

  static std::string text_of(const schedule::EnergyCaps& caps) {
    return fmt::format("{} GPUs, clock {:.2f}", caps.gpus, caps.clock_permille / 1000.0);
  }

  // The best that meets the budget. Between two of which one does not, a mix of both is taken to be
  // possible: the rival has the benefit of every setting in between.
  StudyResult best_of(Way way, const std::vector<Tried>& tried, std::int64_t percent,
                      double budget) const {
    StudyResult result{way, percent};
    double best = kNever;
    const auto take = [&](double seconds, double units, std::string setting) {
      if (seconds >= best) return;
      best = seconds;
      result.is_reached = true;
      result.completion_seconds = seconds;
      result.used = units / budget;
      result.setting = std::move(setting);
    };
    for (const Tried& inside : tried) {
      if (inside.units > budget) continue;
      take(inside.seconds, inside.units, text_of(inside.caps));
      for (const Tried& outside : tried) {
        if (outside.units <= budget || outside.seconds >= inside.seconds) continue;
        const double share = (budget - inside.units) / (outside.units - inside.units);
        take(inside.seconds + share * (outside.seconds - inside.seconds), budget,
             text_of(inside.caps) + " and " + text_of(outside.caps));
      }
    }
    return result;
  }

  // The same for every hour, as long as jobs take.
  SupplySeries mean_supply() const {
    Time first = Time::max();
    for (const TrainingArrival& job : workload_.jobs) first = std::min(first, job.submitted);
    return {first, std::chrono::hours{24}, {place_.supply.mean(first, first + kMonth)}};
  }

  StudyResult tuned_price(Way way, std::int64_t percent, double budget) {
    StudyResult result{way, percent};
    const auto take = [&](const Tried& tried, double price) {
      if (tried.units > budget) return;
      if (result.is_reached && tried.seconds >= result.completion_seconds) return;
      result.is_reached = true;
      result.completion_seconds = tried.seconds;
      result.used = tried.units / budget;
      result.setting = fmt::format("{:.3g} s per unit", price);
    };
    take(free_, 0);
    const double units = mean_.values().front();  // for a kWh
    double low = 0.3 / units;
    double high = 3e4 / units;
    for (int i = 0; i < kHalvings && free_.units > budget; ++i) {
      const double price = std::sqrt(low * high);
      TrainingRunConfig config = with_price(price);
      if (way == Way::price_blind) config.energy->told = mean_;
      const Tried tried = run("green", std::move(config));
      take(tried, price);
      if (tried.units <= budget && tried.units > kCloseEnough * budget) break;
      (tried.units <= budget ? high : low) = price;
    }
    return result;
  }

  StudyResult steered(Way way, std::int64_t percent, double budget) {
    TrainingRunConfig config = with_budget(budget);
    config.training.price_memory = setup_.price_memory;
    if (way == Way::elastic_steered) config.training.cap_path = plain_path();
    if (way == Way::elastic_path_tuned) config.training.cap_path = best_path();
    if (way == Way::price_forecast) config.energy->forecasts = place_.forecasts;
    const bool is_green = way == Way::price_steered || way == Way::price_forecast;
    const Tried tried = run(is_green ? "green" : "elastic-capped", std::move(config));
    return {way, percent, tried.seconds < kNever, tried.seconds, tried.units / budget, {}};
  }

  // A clock less, then half the GPUs, and so on.
  std::vector<schedule::EnergyCaps> plain_path() const {
    std::vector<schedule::EnergyCaps> path;
    const std::vector<std::int32_t> levels = clocks();
    std::size_t size = kSizeCaps.size() - 1;
    std::size_t clock = levels.size() - 1;
    while (true) {
      schedule::EnergyCaps caps;
      caps.gpus = kSizeCaps[size];
      caps.clock_permille = levels[clock];
      path.push_back(caps);
      const bool lowers_clock = path.size() % 2 == 1;
      if (clock == 0 && size == 0) return path;
      if ((lowers_clock && clock > 0) || size == 0) {
        --clock;
      } else {
        --size;
      }
    }
  }

  // From nothing capped to the least of all, by caps of which none is beaten in both respects.
  std::vector<schedule::EnergyCaps> best_path() const {
    std::vector<Tried> sorted = elastic_;
    std::sort(sorted.begin(), sorted.end(), [](const Tried& a, const Tried& b) {
      return std::pair{a.seconds, a.units} < std::pair{b.seconds, b.units};
    });
    std::vector<schedule::EnergyCaps> path;
    double least = kNever;
    for (const Tried& tried : sorted) {
      if (tried.units >= least) continue;
      least = tried.units;
      path.push_back(tried.caps);
    }
    return path;
  }

  static constexpr Duration kMonth = std::chrono::hours{30 * 24};
  static constexpr int kHalvings = 14;
  static constexpr double kCloseEnough = 0.998;

  const StudySetup& setup_;
  const TrainingWorkload& workload_;
  double expected_ = 0;
  const StudyPlace& place_;
  std::atomic<std::int64_t>& runs_;
  std::vector<Tried> elastic_;
  std::vector<Tried> srtf_;
  Tried free_;         // green where energy costs nothing
  SupplySeries mean_;  // of the place's
};

const StudyResult* find(const StudiedPlace& place, std::int64_t percent, Way way) {
  for (const StudyResult& result : place.results) {
    if (result.budget_percent == percent && result.way == way) return &result;
  }
  return nullptr;
}

}  // namespace

std::string_view name_of(Way way) {
  switch (way) {
    case Way::price_tuned:
      return "green, one price";
    case Way::price_blind:
      return "green, one price, hours unseen";
    case Way::price_steered:
      return "green, steered";
    case Way::price_forecast:
      return "green, steered, by forecast";
    case Way::elastic_tuned:
      return "elastic-capped, best caps";
    case Way::elastic_steered:
      return "elastic-capped, steered";
    case Way::elastic_path_tuned:
      return "elastic-capped, steered, best path";
    case Way::srtf_tuned:
      return "srtf-capped, best caps";
    case Way::elastic_clock_tuned:
      return "elastic-capped, clock only";
  }
  return {};
}

BudgetStudy study_budgets(const StudySetup& setup) {
  TrainingWorkload workload = setup.workload;
  for (TrainingArrival& arrival : workload.jobs) arrival.spec.deadline_kind = DeadlineKind::none;
  const CurveBook& curves = setup.curves.front();
  std::vector<double> work;
  for (std::size_t row = 0; row < workload.jobs.size(); ++row)
    work.push_back(least_gpu_seconds(workload, curves, row));
  if (setup.without_largest_job && !work.empty()) {
    const auto largest = std::max_element(work.begin(), work.end()) - work.begin();
    workload.jobs.erase(workload.jobs.begin() + largest);
    work.erase(work.begin() + largest);
  }
  double expected = 0;
  for (const double seconds : work) expected += seconds;
  BudgetStudy study;
  study.jobs = static_cast<std::int64_t>(workload.jobs.size());
  study.places.resize(setup.places.size());
  std::atomic<std::int64_t> runs = 0;
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(setup.places.size(), setup.threads, [&](std::size_t at) {
    study.places[at] = PlaceStudy{setup, workload, expected, setup.places[at], runs}.study();
    const std::lock_guard lock{mutex};
    if (setup.on_progress) setup.on_progress(++done, setup.places.size());
  });
  study.runs = runs;
  return study;
}

std::optional<double> gain(const BudgetStudy& study, std::string_view region, std::int64_t percent,
                           Way over, Way of) {
  double sum = 0;
  int count = 0;
  for (const StudiedPlace& place : study.places) {
    if (!region.empty() && place.region != region) continue;
    const StudyResult* a = find(place, percent, over);
    const StudyResult* b = find(place, percent, of);
    if (a == nullptr || b == nullptr || !a->is_reached || !b->is_reached) return std::nullopt;
    sum += a->completion_seconds / b->completion_seconds;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace weir::simulate
