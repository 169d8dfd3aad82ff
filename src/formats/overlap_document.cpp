// SPDX-License-Identifier: Apache-2.0
#include "formats/overlap_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "domain/nearest_name.h"
#include "formats/csv.h"
#include "formats/data_amount_text.h"
#include "formats/quantity_text.h"
#include "formats/yaml_document.h"

namespace weir::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kOverlapKeys{"name", "kernels", "curves",
                                                       "gpu",  "network", "ctas"};
constexpr std::array<std::string_view, 2> kOverlapGpuKeys{"sms", "memory"};
constexpr std::array<std::string_view, 6> kOverlapNetworkKeys{
    "ranks", "nodes", "rate", "channel", "channel_beside", "latency_us"};
constexpr std::array<std::string_view, 2> kOverlapCtaKeys{"choices", "default"};
constexpr std::int64_t kMostSms = 4096;
constexpr std::int64_t kMostCtas = 64;  // NCCL's MAXCHANNELS
constexpr std::int64_t kMostRanks = 1'000'000;
constexpr std::int64_t kMostOverlapBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 40;
constexpr double kMostLatencyUs = 1e9;
constexpr double kMostKernelUs = 1e12;
constexpr double kMostGbps = 1e9;
constexpr std::int64_t kMostAllBytes = std::int64_t{1} << 60;  // sums of groups stay whole numbers
constexpr std::size_t kMostKernels = 1'000'000;
constexpr std::int64_t kMostCluster = 32;  // blocks; GPUs have 16
constexpr double kBytesPerGigabyte = 1e9;

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

// The cell as a number within the limits; otherwise the mistake is noted.
double number_cell(CsvTable& table, std::size_t column, double least, double most) {
  const auto value = plain_number(table.cell(column));
  if (!value || *value < least || *value > most) {
    table.reject(column, fmt::format("a number from {} to {}", least, most));
    return least;
  }
  return *value;
}

tl::unexpected<Error> without_rows(const fs::path& file, std::string expected) {
  return bad_input(Diagnostic{file.string(), 0, "file", "without rows", std::move(expected)});
}

enum KernelColumn : std::size_t {
  kUs,
  kSends,
  kCurve,
  kBlocks,
  kBlocksPerSm,
  kKernelMemory,
  kCluster
};
constexpr std::array<CsvColumn, 7> kKernelColumns{{{"us", true, {}},
                                                   {"sends", true, {}},
                                                   {"curve", false, {}},
                                                   {"blocks", false, {}},
                                                   {"blocks_per_sm", false, {}},
                                                   {"memory_gbps", false, {}},
                                                   {"cluster", false, {}}}};

std::int64_t count_cell(CsvTable& table, std::size_t column, std::int64_t usual) {
  if (table.cell(column).empty()) return usual;
  return table.integer(column, usual, kMostBlocks).value_or(usual);
}

Result<std::vector<OverlapKernelRow>> read_kernels(const fs::path& file,
                                                   const std::set<std::string>& curves) {
  auto input = InputFile::open(file);
  if (!input) return tl::unexpected(input.error());
  const std::vector<std::string> known{curves.begin(), curves.end()};
  CsvTable table{std::move(*input), kKernelColumns};
  std::vector<OverlapKernelRow> kernels;
  bool is_anything_sent = false;
  std::int64_t all_bytes = 0;
  double all_us = 0;
  while (table.next()) {
    if (kernels.size() == kMostKernels) {
      table.reject(kUs, fmt::format("at most {} kernels", kMostKernels));
      break;
    }
    OverlapKernelRow row;
    row.us = number_cell(table, kUs, 0, kMostKernelUs);
    row.curve = std::string{table.cell(kCurve)};
    if (!row.curve.empty() && !curves.contains(row.curve)) {
      table.reject(kCurve, known.empty()
                               ? "nothing: the document names no curves"
                               : "a kernel of the curves" + did_you_mean(row.curve, known));
    }
    row.blocks = count_cell(table, kBlocks, 0);
    row.blocks_per_sm = count_cell(table, kBlocksPerSm, 1);
    if (!table.cell(kCluster).empty())
      row.cluster = table.integer(kCluster, 1, kMostCluster).value_or(1);
    if (!table.cell(kKernelMemory).empty())
      row.memory_gbps = number_cell(table, kKernelMemory, 0, kMostGbps);
    if (!table.cell(kSends).empty()) {
      row.sends = table.integer(kSends, 0, kMostOverlapBytes);
      is_anything_sent = true;
      all_bytes += row.sends.value_or(0);
      if (all_bytes > kMostAllBytes) {
        table.reject(kSends, fmt::format("at most {} in all rows together", kMostAllBytes));
        break;
      }
    }
    all_us += row.us;
    kernels.push_back(std::move(row));
  }
  if (!table.mistakes().empty()) return table.failure();
  if (kernels.empty()) return without_rows(file, "a row for each kernel of the backward pass");
  if (!is_anything_sent) {
    return bad_input(Diagnostic{file.string(),
                                0,
                                "sends",
                                {},
                                "bytes on the row of a kernel after which gradients are complete"});
  }
  if (!(all_us > 0)) {
    return bad_input(Diagnostic{file.string(), 0, "us", "0 in every row",
                                "a kernel that takes time: a step has a length"});
  }
  return kernels;
}

enum CurveColumn : std::size_t { kCurveKernel, kCurveCtas, kTarget, kMoved, kRate, kFirst };
constexpr std::array<CsvColumn, 6> kCurveColumns{{{"kernel", true, {}},
                                                  {"ctas", true, {}},
                                                  {"target_gbps", true, {}},
                                                  {"gbps", true, {}},
                                                  {"rate", true, {}},
                                                  {"first", false, {}}}};

// The line that has a point of the curves. One that only holds SMs has no speed.
using CurveLines = std::map<std::tuple<std::string, std::int64_t, double, bool>, std::uint64_t>;

void refuse_second(CsvTable& table, const ContentionRow& row, CurveLines& lines) {
  const double target = row.target_gbps < 0 ? -1 : row.target_gbps;
  const auto [first, is_new] =
      lines.try_emplace({row.kernel, row.ctas, target, row.is_kernel_first}, table.line());
  if (is_new) return;
  table.reject(kCurveKernel,
               fmt::format("another kernel, ctas, target_gbps or first: line {} has these already",
                           first->second));
}

Result<std::vector<ContentionRow>> read_curves(const fs::path& file) {
  auto input = InputFile::open(file);
  if (!input) return tl::unexpected(input.error());
  CsvTable table{std::move(*input), kCurveColumns};
  std::vector<ContentionRow> rows;
  CurveLines lines;
  while (table.next()) {
    const std::size_t mistakes_before = table.mistakes().total();
    ContentionRow row;
    row.kernel = std::string{table.cell(kCurveKernel)};
    if (row.kernel.empty()) table.reject(kCurveKernel, "a kernel's name");
    row.ctas = table.integer(kCurveCtas, 1, kMostSms).value_or(1);
    row.target_gbps = number_cell(table, kTarget, -1, kMostGbps);
    row.gbps = number_cell(table, kMoved, 0, kMostGbps);
    row.rate = number_cell(table, kRate, 0, 2);
    row.is_kernel_first = table.cell(kFirst) == "kernel";
    if (!row.is_kernel_first && !table.cell(kFirst).empty() && table.cell(kFirst) != "collective")
      table.reject(kFirst, "collective or kernel: which was there before the other");
    if (table.mistakes().total() == mistakes_before) refuse_second(table, row, lines);
    rows.push_back(std::move(row));
  }
  if (!table.mistakes().empty()) return table.failure();
  if (rows.empty())
    return without_rows(file,
                        "a row for each measurement (a step without curves follows the formula)");
  return rows;
}

class OverlapReader {
 public:
  OverlapReader(const YamlDocument& document, fs::path folder)
      : document_{document}, folder_{std::move(folder)} {}

  Result<OverlapDocument> read() {
    const YamlFields top{document_, document_.root(), "file", kOverlapKeys, mistakes_};
    if (top.is_usable()) read_fields(top);
    if (!mistakes_.empty()) return tl::unexpected(Error{code_, std::move(mistakes_)});
    return std::move(read_);
  }

 private:
  void read_fields(const YamlFields& top) {
    const auto any = [](std::string_view text) {
      return text.empty() ? std::nullopt : std::optional{std::string{text}};
    };
    read_.name = top.get("name", "what the step is called", any).value_or("step");
    if (const auto value = part(top, "gpu", "a map such as {sms: 132, memory: 4800GB/s}"))
      read_gpu({document_, *value, "gpu", kOverlapGpuKeys, mistakes_});
    if (const auto value = part(top, "network", "a map such as {ranks: 8, rate: 50GB/s}"))
      read_network({document_, *value, "network", kOverlapNetworkKeys, mistakes_});
    if (const auto value = part(top, "ctas", "a map such as {choices: [1, 2, 4, 8], default: 8}"))
      read_ctas({document_, *value, "ctas", kOverlapCtaKeys, mistakes_});
    std::set<std::string> names;
    if (const auto curves = top.get("curves", "a CSV file", any)) {
      read_.curves_file = folder_ / *curves;
      keep(read_curves(read_.curves_file), read_.curves);
      for (const ContentionRow& row : read_.curves) names.insert(row.kernel);
      if (read_.curves.empty()) return;  // a mistake, which is noted
    }
    if (const auto kernels = top.require("kernels", "a CSV file", any)) {
      read_.kernels_file = folder_ / *kernels;
      keep(read_kernels(read_.kernels_file, names), read_.kernels);
    }
  }

  static std::optional<YamlValue> part(const YamlFields& top, std::string_view key,
                                       std::string_view expected) {
    auto value = top.find(key);
    if (!value) top.reject(key, expected);
    return value;
  }

  template <class T>
  void keep(Result<T> result, T& into) {
    if (result) {
      into = std::move(*result);
      return;
    }
    if (result.error().code != ErrorCode::bad_input) code_ = result.error().code;
    mistakes_.append(result.error().details);
  }

  static double gbps(const YamlFields& fields, std::string_view key, double usual,
                     bool is_required = false) {
    if (is_required && !fields.has(key)) fields.reject(key, kDataRateRule);
    const auto rate = fields.get(key, kDataRateRule, parse_data_rate);
    return rate ? rate->value / kBytesPerGigabyte : usual;
  }

  void read_gpu(const YamlFields& fields) {
    if (!fields.is_usable()) return;
    if (!fields.has("sms")) fields.reject("sms", fmt::format("2 to {}", kMostSms));
    read_.sms = fields.integer("sms", 2, kMostSms).value_or(kMostSms);
    read_.memory_gbps = gbps(fields, "memory", 1, true);
  }

  void read_network(const YamlFields& fields) {
    if (!fields.is_usable()) return;
    if (!fields.has("ranks")) fields.reject("ranks", fmt::format("2 to {}", kMostRanks));
    read_.ranks = fields.integer("ranks", 2, kMostRanks).value_or(kMostRanks);
    read_.nodes = fields.integer("nodes", 1, read_.ranks);
    read_.network_gbps = gbps(fields, "rate", 1, true);
    read_.channel_gbps = gbps(fields, "channel", read_.channel_gbps);
    read_.channel_beside_gbps = gbps(fields, "channel_beside", 0);
    if (read_.channel_beside_gbps > read_.channel_gbps)
      fields.reject("channel_beside", "at most what channel is");
    constexpr std::string_view kLatencyRule = "microseconds, 0 or more";
    read_.latency_us = fields.get("latency_us", kLatencyRule, plain_number);
    if (read_.latency_us && !(*read_.latency_us >= 0 && *read_.latency_us <= kMostLatencyUs))
      fields.reject("latency_us", kLatencyRule);
  }

  void read_ctas(const YamlFields& fields) {
    if (!fields.is_usable()) return;
    // Without a usable number of SMs, whose mistake is told there, any is right here.
    const std::int64_t most =
        std::min(kMostCtas, read_.sms > 0 ? std::max<std::int64_t>(1, read_.sms / 2) : kMostCtas);
    const std::string rule =
        fmt::format("a list that ascends, from 1 to {}, {}", most,
                    most == kMostCtas ? "the most that NCCL has channels" : "half of the SMs");
    const auto list = fields.find("choices");
    if (!list || !list->is_list() || list->items().empty()) {
      fields.reject("choices", rule);
      return;
    }
    for (const YamlValue& item : list->items()) {
      const auto count = parse_count(item.text());
      const bool ascends = read_.ctas.empty() || (count && *count > read_.ctas.back());
      if (!count || *count < 1 || *count > most || !ascends) {
        fields.note(item.line(), "choices", item.describe(), rule);
        continue;
      }
      read_.ctas.push_back(*count);
    }
    if (!fields.has("default")) fields.reject("default", "one of the choices");
    const auto usual = fields.integer("default", 1, most);
    if (!usual) return;
    read_.default_ctas = *usual;
    if (std::find(read_.ctas.begin(), read_.ctas.end(), *usual) == read_.ctas.end())
      fields.reject("default", "one of the choices");
  }

  const YamlDocument& document_;
  fs::path folder_;
  Diagnostics mistakes_;
  ErrorCode code_ = ErrorCode::bad_input;
  OverlapDocument read_;
};

}  // namespace

Result<OverlapDocument> read_overlap_document(const fs::path& file) {
  auto input = InputFile::open(file);
  if (!input) return tl::unexpected(input.error());
  const auto document = YamlDocument::read(std::move(*input));
  if (!document) return tl::unexpected(document.error());
  return OverlapReader{*document, file.parent_path()}.read();
}

}  // namespace weir::formats
