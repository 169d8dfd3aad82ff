// SPDX-License-Identifier: Apache-2.0
//
// Plays a public trace with energy in it, writes the record log, and tells what the meter counted: for
// tools/check_energy.py, which counts again.
//
//   energy_run POLICY CLUSTER TRACE CURVES INTENSITY DAY LOG [price=S] [budget=G] [cap=W] [deadlines=0]
//
// The trace's first job comes at 00:00 UTC of DAY (2021-07-14). Prices are seconds per gram, budgets
// grams over 30 days.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "formats/cluster_shorthand.h"
#include "formats/curves.h"
#include "formats/record_log.h"
#include "formats/supply_csv.h"
#include "formats/training_trace.h"
#include "predict/energy/power_book.h"
#include "simulate/training_run.h"

namespace weir {
namespace {

template <class T>
T or_exit(Result<T> result, const char* what) {
  if (result) return std::move(*result);
  std::cerr << "energy_run: " << what << " cannot be read\n";
  std::exit(2);
}

Time utc_midnight(const std::string& day) {
  std::tm date{};
  if (std::sscanf(day.c_str(), "%d-%d-%d", &date.tm_year, &date.tm_mon, &date.tm_mday) != 3) {
    std::cerr << "energy_run: DAY is " << day << ", expected 2021-07-14\n";
    std::exit(2);
  }
  date.tm_year -= 1900;
  date.tm_mon -= 1;
  return Time{std::chrono::seconds{timegm(&date)}};
}

Time first_submission(const TrainingWorkload& workload) {
  Time first = Time::max();
  for (const TrainingArrival& arrival : workload.jobs) first = std::min(first, arrival.submitted);
  return first;
}

void obey(std::string_view word, EnergyTerms& terms, TrainingWorkload& workload) {
  const auto at = word.find('=');
  const std::string_view name = word.substr(0, at);
  const double value = at == std::string_view::npos ? 0 : std::atof(word.data() + at + 1);
  if (name == "price") terms.price_nanos = static_cast<std::int64_t>(value * 1e9);
  if (name == "budget") terms.budget_micros = static_cast<std::int64_t>(value * 1e6);
  if (name == "cap") terms.cap_milliwatts = static_cast<std::int64_t>(value * 1e3);
  if (name == "deadlines" && value == 0) {
    for (TrainingArrival& arrival : workload.jobs) arrival.spec.deadline_kind = DeadlineKind::none;
  }
}

void print(const simulate::TrainingOutcome& outcome, Time begin) {
  const simulate::EnergyOutcome& energy = *outcome.energy;
  std::printf("{\"policy\":\"%s\",\"finished\":%lld,\"missed_after_admission\":%lld,",
              outcome.policy.c_str(), static_cast<long long>(outcome.finished),
              static_cast<long long>(outcome.missed_after_admission));
  std::printf("\"mean_completion_s\":%.17g,",
              outcome.total_completion_seconds /
                  static_cast<double>(std::max<std::int64_t>(1, outcome.finished)));
  std::printf("\"units\":%.17g,\"site_kwh\":%.17g,\"peak_watts\":%.17g,\"end_ns\":%lld,\"trace\":[",
              energy.units, energy.site_kwh, energy.peak_watts,
              static_cast<long long>((begin + outcome.makespan).time_since_epoch().count()));
  const char* separator = "";
  for (const simulate::PowerStep& step : energy.trace) {
    std::printf("%s[%lld,%.17g]", separator,
                static_cast<long long>(step.at.time_since_epoch().count()), step.watts);
    separator = ",";
  }
  std::printf("]}\n");
}

int run(const std::vector<std::string>& words) {
  const Cluster cluster = or_exit(formats::parse_cluster_shorthand(words[2]), "CLUSTER");
  const CurveBook curves = or_exit(formats::read_curves(words[4]), "CURVES");
  TrainingWorkload workload = or_exit(formats::read_training_trace(words[3], curves), "TRACE");
  const SupplySeries supply = or_exit(formats::read_supply(words[5]), "INTENSITY").series;
  const Time begin = first_submission(workload);
  simulate::TrainingRunConfig config;
  config.policy = words[1];
  simulate::EnergySetup energy;
  energy.books = {predict::power_book(curves, predict::PowerAssumptions{})};
  energy.supply = supply.shifted(begin - utc_midnight(words[6]));
  energy.terms.from = begin;
  energy.terms.until = begin + std::chrono::hours{30 * 24};
  for (std::size_t i = 8; i < words.size(); ++i) obey(words[i], energy.terms, workload);
  config.energy = std::move(energy);
  std::ofstream log{words[7]};
  formats::RecordLogWriter writer{log, "energy_run"};
  const auto cost = schedule::rescale_cost_for(cluster.gpu_count());
  formats::RecordLogHeader header;
  header.pools = formats::log_pools(cluster);
  header.rescale_base = cost.base;
  header.rescale_per_doubling = cost.per_doubling;
  header.policy = config.policy;
  header.workload = words[3];
  header.curves = words[4];
  writer.write(header);
  config.on_record = [&](const Record& record) { writer.write(record); };
  print(simulate::run_training(cluster, workload, {curves}, config), begin);
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc < 8) {
    std::cerr << "energy_run POLICY CLUSTER TRACE CURVES INTENSITY DAY LOG [price=S] [budget=G] "
                 "[cap=W] [deadlines=0]\n";
    return 2;
  }
  return weir::run({argv, argv + argc});
}
