// SPDX-License-Identifier: Apache-2.0
#include "formats/zeus_sweeps.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "formats/csv.h"
#include "formats/file_title.h"
#include "formats/input_ranges.h"
#include "formats/plain_name.h"

namespace weir::formats {
namespace {

constexpr std::uint64_t kMaxSweepBytes = std::uint64_t{16} << 20;
constexpr double kMostWatts = 100'000;
constexpr double kMostEpochSeconds = 1e9;

constexpr std::size_t kDataset = 0;
constexpr std::size_t kNetwork = 1;
constexpr std::size_t kBatch = 2;
constexpr std::size_t kOptimizer = 3;
constexpr std::size_t kLimit = 4;
constexpr std::size_t kTime = 5;
constexpr std::size_t kPower = 6;
constexpr std::array<CsvColumn, 7> kSweepColumns{{{"dataset"},
                                                  {"network"},
                                                  {"batch_size"},
                                                  {"optimizer"},
                                                  {"power_limit"},
                                                  {"time_per_epoch"},
                                                  {"average_power"}}};

class SweepReader {
 public:
  explicit SweepReader(InputFile input)
      : file_{input.name()}, table_{std::move(input), kSweepColumns} {}

  Result<PowerSweeps> read() {
    while (table_.next()) read_row();
    if (!table_.mistakes().empty()) return table_.failure();
    if (rows_.empty()) {
      return bad_input(
          Diagnostic{file_, 0, "file", "without rows", "a row for each job and power limit"});
    }
    PowerSweeps all{gpu_after_underscore(file_title(file_)), {}};
    for (const auto& [job, by_limit] : rows_) {
      PowerSweep sweep{job, {}};
      for (const auto& [limit, row] : by_limit) sweep.points.push_back(row.point);
      all.sweeps.push_back(std::move(sweep));
    }
    return all;
  }

 private:
  struct Row {
    SweepPoint point;
    std::uint64_t line = 0;
  };

  void read_row() {
    const auto dataset = name(kDataset);
    const auto network = name(kNetwork);
    const auto batch = table_.integer(kBatch, 1, kMostGlobalBatch);
    const auto optimizer = name(kOptimizer);
    const auto limit = positive(kLimit, kMostWatts);
    const auto seconds = positive(kTime, kMostEpochSeconds);
    const auto watts = positive(kPower, kMostWatts);
    if (!dataset || !network || !batch || !optimizer || !limit || !seconds || !watts) return;
    auto& by_limit = rows_[SweptJob{*dataset, *network, *batch, *optimizer}];
    const Row row{{*limit, *seconds, *watts}, table_.line()};
    const auto [at, is_new] = by_limit.try_emplace(*limit, row);
    if (is_new) return;
    table_.reject(kLimit,
                  fmt::format("another limit: line {} has this one for the job", at->second.line));
  }

  std::optional<std::string> name(std::size_t column) {
    if (is_plain_name(table_.cell(column))) return std::string{table_.cell(column)};
    table_.reject(column, std::string{kPlainNameRule});
    return std::nullopt;
  }

  std::optional<double> positive(std::size_t column, double most) {
    const std::string_view text = table_.cell(column);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    if (is_number && value > 0 && value <= most) return value;
    table_.reject(column, fmt::format("a number above 0, up to {:.0f}", most));
    return std::nullopt;
  }

  std::string file_;
  CsvTable table_;
  std::map<SweptJob, std::map<double, Row>> rows_;
};

}  // namespace

Result<PowerSweeps> read_zeus_sweeps(InputFile input) {
  return SweepReader{std::move(input)}.read();
}

Result<PowerSweeps> read_zeus_sweeps(const std::filesystem::path& path) {
  auto input = InputFile::open(path, kMaxSweepBytes);
  if (!input) return tl::unexpected(input.error());
  return read_zeus_sweeps(std::move(*input));
}

}  // namespace weir::formats
