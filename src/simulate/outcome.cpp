// SPDX-License-Identifier: Apache-2.0
#include "simulate/outcome.h"

namespace weir::simulate {
namespace {

std::optional<double> percent_of(const SampleMean& mean, std::int64_t whole) {
  if (mean.empty() || whole == 0) return std::nullopt;
  return 100.0 * static_cast<double>(mean.sum) /
         (static_cast<double>(mean.count) * static_cast<double>(whole));
}

}  // namespace

std::optional<double> InflationOutcome::allocated_percent(int arrived_percent) const {
  return percent_of(arrived.at(static_cast<std::size_t>(arrived_percent)).allocated_milli,
                    capacity.value);
}

std::optional<double> InflationOutcome::fragmented_percent(int arrived_percent) const {
  return percent_of(arrived.at(static_cast<std::size_t>(arrived_percent)).fragmented_micro,
                    capacity.value * 1000);
}

}  // namespace weir::simulate
