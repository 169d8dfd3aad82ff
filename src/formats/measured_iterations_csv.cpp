// SPDX-License-Identifier: Apache-2.0
#include "formats/measured_iterations_csv.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "formats/csv.h"

namespace weir::formats {
namespace {

enum IterationColumn : std::size_t {
  kIterationModel,
  kIterationBatch,
  kIterationRound,
  kIterationJudged,
  kIterationTime,
  kIterationProbe
};
constexpr std::array<CsvColumn, 6> kIterationColumns{
    {{"model"}, {"batch"}, {"round"}, {"judged"}, {"iteration_ms"}, {"step_probe_us"}}};
constexpr double kLongestIteration = 1e9;

std::optional<double> iteration_number(CsvTable& table, std::size_t column) {
  const std::string_view text = table.cell(column);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value > 0 &&
      value < kLongestIteration)
    return value;
  table.reject(column, "a number above 0");
  return std::nullopt;
}

}  // namespace

Result<std::vector<MeasuredIteration>> read_measured_iterations(InputFile input) {
  CsvTable table{std::move(input), kIterationColumns};
  std::vector<MeasuredIteration> iterations;
  while (table.next()) {
    const auto batch = table.integer(kIterationBatch, 1, 1'000'000);
    const auto round = table.integer(kIterationRound, 0, 1'000'000);
    const auto judged = table.integer(kIterationJudged, 0, 1);
    const auto time = iteration_number(table, kIterationTime);
    const auto probe = iteration_number(table, kIterationProbe);
    if (!batch || !round || !judged || !time || !probe) continue;
    iterations.push_back(
        {std::string{table.cell(kIterationModel)}, *batch, *round, *judged == 1, *time, *probe});
  }
  if (!table.mistakes().empty()) return table.failure();
  return iterations;
}

}  // namespace weir::formats
