// SPDX-License-Identifier: Apache-2.0
#include "formats/throughput_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "formats/csv.h"
#include "formats/file_title.h"
#include "formats/input_ranges.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"
#include "formats/rate_text.h"

namespace weir::formats {
namespace {

constexpr std::string_view kBatchColumn = "global_batch_size";

bool is_nan(std::string_view text) {
  const auto is = [](char c, char lower) { return c == lower || c == lower - 'a' + 'A'; };
  return text.size() == 3 && is(text[0], 'n') && is(text[1], 'a') && is(text[2], 'n');
}

// What a table holds, as the scheduler uses it and with every digit.
struct Tables {
  CurveBook book;
  ExactRates exact;
};

double exact_value(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class TableReader {
 public:
  explicit TableReader(InputFile input) : reader_{std::move(input)} {}

  Result<Tables> read() {
    model_ = file_title(reader_.name());
    if (!is_plain_name(model_)) {
      note(0, "file name", model_, "the model's name before .csv: " + std::string{kPlainNameRule});
    }
    if (read_header()) {
      while (reader_.next(mistakes_)) read_row();
      if (mistakes_.empty() && tables_.book.curves.empty()) {
        note(0, "file", "without rows", "at least one batch below the first line");
      }
    }
    if (!mistakes_.empty()) return tl::unexpected(Error{reader_.error_code(), mistakes_});
    return std::move(tables_);
  }

 private:
  bool read_header() {
    if (!reader_.next(mistakes_)) {
      if (mistakes_.empty()) {
        note(0, "file", "empty", "a first line such as global_batch_size,1,2,4,8");
      }
      return false;
    }
    if (reader_.cells().size() == 1 && reader_.cells()[0] == kPlannedLine) {
      origin_ = CurveOrigin::planned;
      if (!reader_.next(mistakes_)) {
        if (mistakes_.empty())
          note(0, "file", "without a table", "a line such as global_batch_size,1,2,4,8");
        return false;
      }
    }
    const auto cells = reader_.cells();
    if (cells[0] != kBatchColumn) {
      note(reader_.line(), "first column", cells[0], std::string{kBatchColumn});
    }
    if (cells.size() == 1) {
      note(reader_.line(), "second column", "", "a number of GPUs, such as 1");
    }
    for (std::size_t column = 1; column < cells.size() && !mistakes_.full(); ++column) {
      read_size(column, cells[column]);
    }
    return mistakes_.empty();
  }

  void read_size(std::size_t column, std::string_view text) {
    const auto gpus = parse_count(text);
    if (!gpus || *gpus < 1 || *gpus > kMostGpusPerJob) {
      return note(reader_.line(), fmt::format("column {}", column + 1), text,
                  fmt::format("a number of GPUs from 1 to {}", kMostGpusPerJob));
    }
    const auto size = static_cast<std::int32_t>(*gpus);
    const auto [at, is_new] = column_of_size_.emplace(size, column + 1);
    if (!is_new) {
      note(reader_.line(), fmt::format("column {}", column + 1), text,
           fmt::format("another number of GPUs: column {} has this one", at->second));
    }
    sizes_.push_back(size);
  }

  void read_row() {
    const auto cells = reader_.cells();
    if (cells.size() != sizes_.size() + 1) {
      return note(reader_.line(), "row", fmt::format("{} cells", cells.size()),
                  fmt::format("{} cells, as many as the first line has", sizes_.size() + 1));
    }
    const auto batch = read_batch(cells[0]);
    auto points = read_points(cells.subspan(1));
    if (!points) return;
    Curve curve{std::move(*points), origin_};
    if (curve.empty()) {
      return note(reader_.line(), "row", "without a rate",
                  "a rate at 1, 2, 4 or another power of two of GPUs");
    }
    if (!batch) return;
    tables_.book.curves.emplace(CurveKey{model_, *batch}, std::move(curve));
    std::vector<ExactRate>& exact = tables_.exact[CurveKey{model_, *batch}];
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (const double rate = exact_value(cells[i + 1]); rate > 0)
        exact.push_back({sizes_[i], rate});
    }
    std::sort(exact.begin(), exact.end(),
              [](const ExactRate& a, const ExactRate& b) { return a.gpus < b.gpus; });
  }

  std::optional<std::int64_t> read_batch(std::string_view text) {
    const auto batch = parse_count(text);
    if (!batch || *batch < 1 || *batch > kMostGlobalBatch) {
      note(reader_.line(), std::string{kBatchColumn}, text,
           fmt::format("an integer from 1 to {}", kMostGlobalBatch));
      return std::nullopt;
    }
    const auto [at, is_new] = line_of_batch_.emplace(*batch, reader_.line());
    if (!is_new) {
      note(reader_.line(), std::string{kBatchColumn}, text,
           fmt::format("another batch: line {} has this one", at->second));
      return std::nullopt;
    }
    return batch;
  }

  // Nothing when a cell is wrong.
  std::optional<std::vector<CurvePoint>> read_points(std::span<const std::string_view> cells) {
    std::vector<CurvePoint> points;
    bool is_right = true;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string_view text = cells[i];
      if (text.empty() || is_nan(text)) continue;
      if (const auto parsed = parse_usable_rate(text)) {
        if (!parsed->is_zero) points.push_back({sizes_[i], parsed->rate});
        continue;
      }
      is_right = false;
      note(reader_.line(), fmt::format("column {}", sizes_[i]), text,
           fmt::format("{}, or nothing where it was not measured", kRateRule));
    }
    if (!is_right) return std::nullopt;
    return points;
  }

  void note(std::uint64_t line, std::string field, std::string_view found, std::string expected) {
    mistakes_.add(Diagnostic{reader_.name(), line, std::move(field), std::string{found},
                             std::move(expected)});
  }

  CsvReader reader_;
  Diagnostics mistakes_;
  std::string model_;
  CurveOrigin origin_ = CurveOrigin::profiled;
  std::vector<std::int32_t> sizes_;  // by column, without the first
  std::map<std::int32_t, std::size_t> column_of_size_;
  std::map<std::int64_t, std::uint64_t> line_of_batch_;
  Tables tables_;
};

tl::unexpected<Error> no_table_folder(const std::filesystem::path& folder, std::string found) {
  return bad_input(Diagnostic{folder.string(), 0, "folder", std::move(found),
                              "a folder with throughput tables, one <model>.csv per model"});
}

bool is_table_name(const std::string& name) {
  return !name.starts_with('.') && is_csv_name(name);
}

// In the order of their names: the same folder gives the same messages.
Result<std::vector<std::filesystem::path>> tables_in(const std::filesystem::path& folder) {
  std::error_code error;
  const auto status = std::filesystem::status(folder, error);
  if (status.type() == std::filesystem::file_type::not_found) return no_table_folder(folder, "");
  if (!std::filesystem::is_directory(status)) return no_table_folder(folder, "not a folder");
  std::vector<std::filesystem::path> tables;
  std::filesystem::directory_iterator at{folder, error};
  for (; !error && at != std::filesystem::directory_iterator{}; at.increment(error)) {
    std::error_code ignored;
    if (is_table_name(at->path().filename().string()) && at->is_regular_file(ignored)) {
      tables.push_back(at->path());
    }
  }
  if (error) return no_table_folder(folder, "unreadable: " + error.message());
  if (tables.empty()) return no_table_folder(folder, "without any .csv file");
  std::sort(tables.begin(), tables.end());
  return tables;
}

std::string gpu_of_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::path whole = std::filesystem::absolute(folder, ignored).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // "throughput_t4/"
  return gpu_after_underscore(whole.filename().string());
}

Result<Tables> read_all(const std::filesystem::path& directory) {
  const auto tables = tables_in(directory);
  if (!tables) return tl::unexpected(tables.error());
  Tables all{{gpu_of_folder(directory), {}}, {}};
  Error failure{ErrorCode::bad_input, {}};
  std::map<std::string, std::string> file_of_model;
  for (const std::filesystem::path& path : *tables) {
    const auto [at, is_new] =
        file_of_model.emplace(file_title(path.string()), path.filename().string());
    if (!is_new) {
      failure.details.add(
          Diagnostic{path.string(), 0, "model", at->first,
                     fmt::format("one table per model: {} is another", at->second)});
      continue;
    }
    auto input = InputFile::open(path, kMaxTableBytes);
    auto table = input ? TableReader{std::move(*input)}.read()
                       : Result<Tables>{tl::unexpected(input.error())};
    if (table) {
      all.book.curves.merge(table->book.curves);
      all.exact.merge(table->exact);
      continue;
    }
    if (table.error().code != ErrorCode::bad_input) failure.code = table.error().code;
    failure.details.append(table.error().details);
  }
  if (!failure.details.empty()) return tl::unexpected(std::move(failure));
  return all;
}

}  // namespace

Result<CurveBook> read_throughput_table(InputFile input) {
  return TableReader{std::move(input)}.read().map(
      [](Tables&& tables) { return std::move(tables.book); });
}

Result<CurveBook> read_throughput_tables(const std::filesystem::path& directory) {
  return read_all(directory).map([](Tables&& all) { return std::move(all.book); });
}

Result<ExactRates> read_exact_rates(const std::filesystem::path& directory) {
  return read_all(directory).map([](Tables&& all) { return std::move(all.exact); });
}

}  // namespace weir::formats
