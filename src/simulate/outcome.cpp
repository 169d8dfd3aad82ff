// SPDX-License-Identifier: Apache-2.0
#include "simulate/outcome.h"

namespace weir::simulate {
namespace {

std::optional<double> percent_of(const SampleMean& mean, std::int64_t whole) {
  if (mean.empty() || whole == 0) return std::nullopt;
  return 100.0 * static_cast<double>(mean.sum) /
         (static_cast<double>(mean.count) * static_cast<double>(whole));
}

SampleMean last_samples(const InflationOutcome& outcome, int percent,
                        SampleMean ArrivalCell::*amount) {
  auto at = static_cast<std::size_t>(percent);
  while (at > 0 && (outcome.arrived.at(at).*amount).empty()) --at;
  return outcome.arrived.at(at).*amount;
}

}  // namespace

std::optional<double> InflationOutcome::allocated_percent(int arrived_percent) const {
  return percent_of(last_samples(*this, arrived_percent, &ArrivalCell::allocated_milli),
                    capacity.value);
}

std::optional<double> InflationOutcome::fragmented_percent(int arrived_percent) const {
  return percent_of(last_samples(*this, arrived_percent, &ArrivalCell::fragmented_micro),
                    capacity.value * 1000);
}

}  // namespace weir::simulate
