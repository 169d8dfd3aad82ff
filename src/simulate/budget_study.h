// SPDX-License-Identifier: Apache-2.0
//
// How soon jobs are done under a budget of carbon (or money), by policy, at the same use of it: each
// policy's settings are tuned with hindsight until it just meets the budget, or a controller steers
// towards the budget without hindsight. Every policy finishes the same jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulate/training_run.h"

namespace weir::simulate {

// Somewhere, from some day on.
struct StudyPlace {
  std::string region;
  std::string start;
  SupplySeries supply;       // on the workload's clock
  ForecastBook forecasts{};  // of it; empty where there are none
};

struct StudySetup {
  Cluster cluster;
  TrainingWorkload workload;  // deadlines are not looked at
  std::vector<CurveBook> curves;
  std::vector<PowerBook> books;
  std::vector<StudyPlace> places;
  std::vector<std::int64_t> budget_percents{40, 50, 60, 70, 80, 90, 100};  // of StudiedPlace::base
  bool without_largest_job = false;
  bool has_weak_rivals = true;
  // Of the work a controller expects: 1000 is as much as really comes.
  std::int64_t expected_permille = 1000;
  // TrainingConfig::price_memory of what is steered.
  Duration price_memory = std::chrono::hours{24};
  unsigned threads = 0;
  std::function<void(std::size_t done, std::size_t all)>
      on_progress;  // from any thread, one at a time
};

// One way to meet budgets.
enum class Way : std::uint8_t {
  price_tuned,      // green at one price, found with hindsight
  price_blind,      // the same, as if every hour were the mean of all
  price_steered,    // green with the price of a controller
  price_forecast,   // the same, of hours to come only what was forecast; where there are forecasts
  elastic_tuned,    // elastic-capped, the best caps with hindsight: the rival to beat
  elastic_steered,  // the same caps, walked along by the same controller, from all to little
  elastic_path_tuned,  // the same along the best way through the caps, found with hindsight
  srtf_tuned,
  elastic_clock_tuned,  // only the clock is capped
};
std::string_view name_of(Way way);

struct StudyResult {
  Way way{};
  std::int64_t budget_percent = 0;
  bool is_reached = false;        // within the budget; of steered ways always
  double completion_seconds = 0;  // mean over jobs
  double used = 0;                // of the budget: 1 is all
  std::string setting;            // "0.42 s/g", "4 GPUs, clock 0.71"
};

struct StudiedPlace {
  std::string region;
  std::string start;
  double base_units = 0;  // what elastic-capped uses without caps: 100 %
  double base_completion_seconds = 0;
  double srtf_units = 0;  // what srtf-capped uses without caps
  double srtf_completion_seconds = 0;
  std::vector<StudyResult> results;
};

struct BudgetStudy {
  std::int64_t jobs = 0;
  std::int64_t runs = 0;
  std::vector<StudiedPlace> places;
};

BudgetStudy study_budgets(const StudySetup& setup);

// The mean of one way's completion times over another's, at that budget, over places of a region
// (empty: all). Nothing where one of them does not reach the budget somewhere.
std::optional<double> gain(const BudgetStudy& study, std::string_view region, std::int64_t percent,
                           Way over, Way of);

}  // namespace weir::simulate
