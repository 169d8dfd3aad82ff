// SPDX-License-Identifier: Apache-2.0
#include "report/outcome_json.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "formats/fixed_decimal.h"
#include "formats/json_text.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;
using simulate::ChurnOutcome;
using simulate::InflationOutcome;
using simulate::SampleMean;

// The double nearest to the exactly rounded decimal: it prints as that decimal.
double rounded_percent(const SampleMean& mean, std::int64_t whole) {
  const std::string text = formats::fixed_percent(mean.sum, mean.count, whole, kPercentDecimals);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Json curve(const InflationOutcome& run, SampleMean simulate::ArrivalCell::*amount,
           std::int64_t whole) {
  Json result = Json::object();
  for (std::size_t percent = 0; percent < run.arrived.size(); ++percent) {
    const SampleMean& mean = run.arrived[percent].*amount;
    if (mean.empty() || whole == 0) continue;
    result.push_back({std::to_string(percent), rounded_percent(mean, whole)});
  }
  return result;
}

void add_timing(Json& json, const std::optional<simulate::DecisionTiming>& timing) {
  if (timing) json["timing"] = {{"decision_us_mean", timing->decision_us_mean}};
}

Json to_json(const InflationOutcome& run) {
  using simulate::ArrivalCell;
  Json json = {{"policy", run.policy},
               {"workload", run.workload},
               {"tasks_file", run.tasks_file},
               {"seed", run.seed},
               {"tasks", run.tasks},
               {"failed", run.failed},
               {"failed_cpu_only", run.failed_cpu_only},
               {"gpus", run.capacity.value / kWholeGpu.value},
               {"allocated", curve(run, &ArrivalCell::allocated_milli, run.capacity.value)},
               {"fragmented",
                curve(run, &ArrivalCell::fragmented_micro, run.capacity.value * kMicroPerMilli)}};
  if (run.bound_percent) json["bound"] = std::round(*run.bound_percent * 100) / 100;
  add_timing(json, run.timing);
  return json;
}

Json to_json(const ChurnOutcome& run) {
  Json json = {{"policy", run.policy},
               {"workload", run.workload},
               {"tasks_file", run.tasks_file},
               {"queue", run.queue},
               {"expectation", run.expectation},
               {"load", run.load},
               {"seed", run.seed},
               {"jobs", run.jobs},
               {"never_fit", run.never_fit},
               {"wait_mean_s", run.wait_mean_s},
               {"wait_p99_s", run.wait_p99_s},
               {"allocated_percent", run.allocated_percent},
               {"fragmented_percent", run.fragmented_percent},
               {"makespan_s", run.makespan_s}};
  add_timing(json, run.timing);
  return json;
}

template <class Outcome>
Result<std::string> one_line_each(std::string_view key, std::span<const Outcome> outcomes) {
  std::string text = "{\"" + std::string{key} + "\":[";
  std::string_view separator = "\n";
  for (const Outcome& outcome : outcomes) {
    const auto line = formats::json_text(to_json(outcome), formats::JsonLayout::compact);
    if (!line) return tl::unexpected(line.error());
    text.append(separator).append(*line);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace

Result<std::string> outcome_json(std::span<const InflationOutcome> outcomes) {
  return one_line_each("runs", outcomes);
}

Result<std::string> outcome_json(std::span<const ChurnOutcome> outcomes) {
  return one_line_each("churn", outcomes);
}

}  // namespace weir::report
