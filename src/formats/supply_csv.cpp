// SPDX-License-Identifier: Apache-2.0
#include "formats/supply_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "formats/csv.h"
#include "formats/supply_column.h"
#include "formats/time_text.h"

namespace weir::formats {
namespace {

namespace chrono = std::chrono;

constexpr Time kEarliest = chrono::sys_days{chrono::year{1970} / 1 / 1};
constexpr Time kLatest = chrono::sys_days{chrono::year{2200} / 1 / 1};
constexpr std::int64_t kMostLeadHours = 10'000;
constexpr std::int64_t kMostIssueDays = 10'000;
constexpr std::size_t kOneInForecasts = 10;  // may be dated wrongly, and one more

bool has_no_offset_but_utc(std::string_view text) {
  return text.ends_with('Z') || text.ends_with('z') || text.ends_with("+00:00");
}

// The spellings of tables: seconds may be left out, a space may stand for the T.
std::string with_seconds(std::string_view text) {
  constexpr std::size_t kDate = 10;
  constexpr std::size_t kMinutes = 16;
  std::string whole{text};
  if (whole.size() > kDate && whole[kDate] == ' ') whole[kDate] = 'T';
  if (whole.size() == kMinutes || (whole.size() > kMinutes && whole[kMinutes] != ':'))
    whole.insert(kMinutes, ":00");
  return whole;
}

struct TimeColumn {
  std::size_t place = 0;
  std::string name{};
  bool is_utc = false;
};

struct Header {
  TimeColumn time{};
  std::optional<TimeColumn> issued{};  // of weir's forecasts
  std::size_t issue_day = 0;           // of public forecasts, which have no `issued`
  std::size_t lead_hour = 0;
  std::size_t value = 0;
  std::string value_name{};
  SupplyColumn column{};
};

// The forecast of a public file that is being read.
struct PublicForecast {
  std::optional<std::int64_t> day{};
  Time first_issue{};  // that of day 0
  Time dated{};        // the issue by utc_time and lead_hour
  Duration moved_by{0};
};

class SupplyReader {
 public:
  explicit SupplyReader(InputFile input) : reader_{std::move(input)} {}

  Result<SupplyFile> series(std::optional<CarbonFactors> factors) {
    if (read_names()) {
      if (has("issue_day") || has("issue_utc_time") || has("issue_time")) {
        note_file("a forecast", "what was, one row for each time: a file without issue times");
      } else {
        find_time(header_.time, "utc_time", "time");
        find_value(factors);
      }
    }
    SupplySteps steps{reader_.name(), header_.time.name};
    while (next()) add_row(steps);
    if (mistakes_.empty() && steps.empty()) need_rows();
    SupplyFile file{header_.column.kind, {}, {}};
    auto made = steps.finish(file.repairs, mistakes_);
    if (!mistakes_.empty()) return failure();
    file.series = std::move(*made);
    return file;
  }

  Result<ForecastFile> forecasts() {
    if (read_names()) find_forecast_columns();
    ForecastFile file{header_.column.kind, {}, {}};
    std::vector<SupplyForecast> all;
    SupplySteps steps{reader_.name(), header_.time.name};
    std::optional<Time> current;
    const auto finish = [&] {
      if (auto made = steps.finish(file.repairs, mistakes_))
        all.push_back({*current, std::move(*made)});
    };
    while (next()) {
      const auto issued = issue_of_row();
      if (!issued) continue;
      if (current && *issued < *current) {
        note(header_.issued ? header_.issued->name : "issue_day", format_time(*issued),
             fmt::format("an issue after {}: forecasts in the order of their issue",
                         format_time(*current)));
        continue;
      }
      if (current && *issued != *current) finish();
      current = issued;
      add_row(steps);
    }
    if (current) finish();
    if (mistakes_.empty() && all.empty()) need_rows();
    if (redated_.redated > 1 + all.size() / kOneInForecasts) {
      note_file(fmt::format("{} of {} forecasts dated otherwise than by issue_day",
                            redated_.redated, all.size()),
                "issue_day to count days: one forecast in ten may be dated wrongly");
    }
    if (!mistakes_.empty()) return failure();
    file.repairs.add(redated_);
    file.book = ForecastBook{std::move(all)};
    return file;
  }

 private:
  bool read_names() {
    if (!reader_.next(mistakes_)) {
      if (mistakes_.empty())
        note_file("empty", fmt::format("a first line with utc_time and {}", kSupplyColumnRule));
      return false;
    }
    for (const std::string_view name : reader_.cells()) {
      if (has(name) && !name.empty())
        note(fmt::format("column {}", name), "given twice", "it once");
      names_.emplace_back(name);
    }
    return true;
  }

  std::optional<std::size_t> place_of(std::string_view name) const {
    const auto at = std::find(names_.begin(), names_.end(), name);
    if (at == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(at - names_.begin());
  }
  bool has(std::string_view name) const { return place_of(name).has_value(); }

  std::size_t find(std::string_view name) {
    const auto place = place_of(name);
    if (!place) note(fmt::format("column {}", name), "", "it in the first line");
    return place.value_or(0);
  }

  void find_time(TimeColumn& column, const std::string& utc, const std::string& local) {
    const auto in_utc = place_of(utc);
    const auto with_offset = place_of(local);
    if (in_utc && with_offset)
      note(fmt::format("column {}", local), fmt::format("beside {}", utc), "one of the two");
    if (!in_utc && !with_offset) {
      note(fmt::format("column {}", utc), "",
           fmt::format("it, or {} with offsets, in the first line", local));
    }
    column.is_utc = in_utc.has_value();
    column.place = in_utc ? *in_utc : with_offset.value_or(0);
    column.name = in_utc ? utc : local;
  }

  void find_value(std::optional<CarbonFactors> factors) {
    struct Candidate {
      std::size_t place;
      SupplyColumn column;
    };
    std::vector<Candidate> found;
    std::vector<std::string> found_names;
    bool is_all_carbon = true;
    bool is_any_wrong = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto column = parse_supply_column(names_[i]);
      if (!column && resembles_supply_column(names_[i])) {
        note("column", names_[i], instead_of_supply_column(names_[i]));
        is_any_wrong = true;
      }
      if (!column) continue;
      found.push_back({i, *column});
      found_names.push_back(names_[i]);
      is_all_carbon = is_all_carbon && is_carbon(column->kind.quantity);
    }
    if (found.empty()) {
      if (!is_any_wrong)
        note("columns", fmt::format("{}", fmt::join(names_, ", ")), std::string{kSupplyColumnRule});
      return;
    }
    // Lifecycle and direct may stand beside each other; all else would be mixed.
    const bool is_choice =
        found.size() == 2 && is_all_carbon && found[0].column.kind != found[1].column.kind;
    if (found.size() > 1 && !is_choice) {
      return note("columns", fmt::format("{}", fmt::join(found_names, ", ")),
                  "one of them: a file has one quantity in one unit");
    }
    const SupplyQuantity wanted = carbon_with(factors.value_or(CarbonFactors::lifecycle));
    const auto right = std::find_if(found.begin(), found.end(), [&](const Candidate& candidate) {
      return candidate.column.kind.quantity == wanted;
    });
    if (right == found.end() && factors) {
      return note("column", found_names.front(),
                  fmt::format("carbon with {} factors, which were asked for",
                              *factors == CarbonFactors::direct ? "direct" : "lifecycle"));
    }
    const Candidate& taken = right == found.end() ? found.front() : *right;
    header_.value = taken.place;
    header_.value_name = names_[taken.place];
    header_.column = taken.column;
  }

  void find_forecast_columns() {
    if (has("issue_day") || has("lead_hour")) {
      header_.issue_day = find("issue_day");
      header_.lead_hour = find("lead_hour");
      header_.value = find("forecast");
      header_.value_name = "forecast";
    } else {
      header_.issued.emplace();
      find_time(*header_.issued, "issue_utc_time", "issue_time");
      find_value({});
    }
    find_time(header_.time, "utc_time", "time");
  }

  // The next row of as many cells as there are names. The first line has to be right.
  bool next() {
    if (!is_reading_rows_ && !mistakes_.empty()) return false;
    is_reading_rows_ = true;
    while (reader_.next(mistakes_)) {
      const std::size_t size = reader_.cells().size();
      if (size == names_.size()) return true;
      note("row", fmt::format("{} cells", size),
           fmt::format("{} cells, as many as the first line has", names_.size()));
    }
    return false;
  }

  void add_row(SupplySteps& steps) {
    const auto time = time_of(header_.time);
    const std::string_view text = reader_.cells()[header_.value];
    if (text.empty()) return;
    const auto value = value_of(text);
    if (time && value) steps.add(reader_.line(), *time + public_.moved_by, *value, mistakes_);
  }

  std::optional<double> value_of(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    const bool may_be_negative = header_.column.kind.quantity == SupplyQuantity::price;
    if (is_number && std::abs(value) <= kMostSupply && (value >= 0 || may_be_negative))
      return value * header_.column.times / header_.column.over;
    note(header_.value_name, text,
         may_be_negative ? fmt::format("a number, at most {:.0e} either way", kMostSupply)
                         : fmt::format("a number from 0 to {:.0e}", kMostSupply));
    return std::nullopt;
  }

  std::optional<Time> time_of(const TimeColumn& column) {
    const std::string_view text = reader_.cells()[column.place];
    const std::string whole = with_seconds(text);
    auto time = parse_time(whole);
    if (!time) {
      const auto in_utc = parse_time(whole + "Z");
      if (in_utc && !column.is_utc) {
        note(column.name, text,
             "an offset from UTC in every row, as in 2021-03-28T01:00+01:00: where clocks are "
             "changed, a local hour without one happens twice or never");
        return std::nullopt;
      }
      time = in_utc;
    } else if (column.is_utc && !has_no_offset_but_utc(text)) {
      note(column.name, text,
           "UTC, with Z or nothing after it; with offsets the column is "
           "called time");
      return std::nullopt;
    }
    if (time && *time >= kEarliest && *time < kLatest) return time;
    note(column.name, text,
         fmt::format("a time from 1970 to 2199 such as 2021-03-28T01:00{}",
                     column.is_utc ? "Z" : "+01:00"));
    return std::nullopt;
  }

  std::optional<Time> issue_of_row() {
    if (header_.issued) return time_of(*header_.issued);
    const auto time = time_of(header_.time);
    const auto lead = whole_number(header_.lead_hour, kMostLeadHours);
    const auto day = whole_number(header_.issue_day, kMostIssueDays);
    if (!time || !lead || !day) return std::nullopt;
    const Time dated = *time - chrono::hours{*lead};
    if (public_.day != day) begin_public_forecast(*day, dated);
    if (dated == public_.dated) return public_.dated + public_.moved_by;
    note("lead_hour", std::to_string(*lead),
         fmt::format("the hours from the issue of day {} at {} to {}", *day,
                     format_time(public_.dated), header_.time.name));
    return std::nullopt;
  }

  void begin_public_forecast(std::int64_t day, Time dated) {
    if (!public_.day) public_.first_issue = dated - chrono::hours{24 * day};
    public_.day = day;
    public_.dated = dated;
    const Time issued = public_.first_issue + chrono::hours{24 * day};
    public_.moved_by = issued - dated;
    if (issued != dated && redated_.redated++ == 0) redated_.first_redated = issued;
  }

  std::optional<std::int64_t> whole_number(std::size_t place, std::int64_t most) {
    const std::string_view text = reader_.cells()[place];
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= most)
      return value;
    note(names_[place], text, fmt::format("an integer from 0 to {}", most));
    return std::nullopt;
  }

  void need_rows() { note_file("no value", "at least one row with a value below the first line"); }

  void note_file(std::string found, std::string expected) {
    mistakes_.add({reader_.name(), 0, "file", std::move(found), std::move(expected)});
  }

  void note(std::string field, std::string_view found, std::string expected) {
    mistakes_.add({reader_.name(), reader_.line(), std::move(field), std::string{found},
                   std::move(expected)});
  }

  tl::unexpected<Error> failure() const {
    return tl::unexpected(Error{reader_.error_code(), mistakes_});
  }

  CsvReader reader_;
  Diagnostics mistakes_;
  std::vector<std::string> names_;
  Header header_;
  bool is_reading_rows_ = false;
  PublicForecast public_;
  SupplyRepairs redated_;
};

}  // namespace

Result<SupplyFile> read_supply(InputFile input, std::optional<CarbonFactors> factors) {
  return SupplyReader{std::move(input)}.series(factors);
}

Result<SupplyFile> read_supply(const std::filesystem::path& path,
                               std::optional<CarbonFactors> factors) {
  auto input = InputFile::open(path, kMaxSupplyBytes);
  if (!input) return tl::unexpected(input.error());
  return read_supply(std::move(*input), factors);
}

Result<ForecastFile> read_forecast(InputFile input) {
  return SupplyReader{std::move(input)}.forecasts();
}

Result<ForecastFile> read_forecast(const std::filesystem::path& path) {
  auto input = InputFile::open(path, kMaxSupplyBytes);
  if (!input) return tl::unexpected(input.error());
  return read_forecast(std::move(*input));
}

void check_same_kind(const std::filesystem::path& series_path, const SupplyKind& series,
                     const std::filesystem::path& forecast_path, const SupplyKind& forecast,
                     Diagnostics& mistakes) {
  if (series == forecast) return;
  mistakes.add({forecast_path.string(), 1, "unit", to_string(forecast),
                fmt::format("{}, as in {}", to_string(series), series_path.string())});
}

}  // namespace weir::formats
