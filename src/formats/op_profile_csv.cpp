// SPDX-License-Identifier: Apache-2.0
#include "formats/op_profile_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "domain/nearest_name.h"
#include "formats/csv.h"
#include "formats/input_ranges.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"

namespace weir::formats {
namespace {

constexpr std::uint64_t kMaxProfileBytes = std::uint64_t{256} << 20;
constexpr std::int64_t kMostOps = 1'000'000;
constexpr std::int64_t kMostMicrobatch = 65'536;
constexpr int kMostTp = 64;
constexpr std::int64_t kMostCollectiveGpus = 65'536;
constexpr double kMostMicroseconds = 1e9;
constexpr double kMostMilliseconds = 1e12;  // of a collective; the public tables have 1e9
constexpr double kMostBandwidth = 1e6;
constexpr std::size_t kMostNamesShown = 30;

// Places of the columns. All tables of models begin with the same three.
constexpr std::size_t kDatabase = 0;
constexpr std::size_t kModel = 1;
constexpr std::size_t kSize = 2;
constexpr std::size_t kNameColumns = 3;

constexpr std::size_t kMicrobatch = 3;
constexpr std::size_t kTp = 4;
constexpr std::size_t kDim = 5;
constexpr std::size_t kOpIndex = 6;
constexpr std::size_t kOp = 7;
constexpr std::size_t kFirstMeasure = 8;
constexpr std::array<CsvColumn, 16> kOpColumns{{{"db"},
                                                {"model"},
                                                {"size"},
                                                {"mbs"},
                                                {"tp"},
                                                {"algo"},
                                                {"op_index"},
                                                {"op"},
                                                {"fwd_us"},
                                                {"bwd_us"},
                                                {"input_mb"},
                                                {"output_mb"},
                                                {"weight_mb"},
                                                {"activation_mb"},
                                                {"reserved_fwd_mb"},
                                                {"reserved_bwd_mb"}}};
struct MeasureColumn {
  double OpMeasure::*member;
  double most;
};
constexpr std::array<MeasureColumn, 8> kMeasures{
    {{&OpMeasure::forward_us, kMostMicroseconds},
     {&OpMeasure::backward_us, kMostMicroseconds},
     {&OpMeasure::input_mib, kMostMebibytes},
     {&OpMeasure::output_mib, kMostMebibytes},
     {&OpMeasure::weight_mib, kMostMebibytes},
     {&OpMeasure::activation_mib, kMostMebibytes},
     {&OpMeasure::reserved_forward_mib, kMostMebibytes},
     {&OpMeasure::reserved_backward_mib, kMostMebibytes}}};
static_assert(kFirstMeasure + kMeasures.size() == kOpColumns.size());

constexpr std::size_t kCollective = 3;
constexpr std::size_t kGpus = 4;
constexpr std::size_t kCollectiveData = 5;
constexpr std::size_t kCollectiveTime = 6;
constexpr std::array<CsvColumn, 7> kCollectiveColumns{
    {{"db"}, {"model"}, {"size"}, {"collective"}, {"gpus"}, {"data_mb"}, {"time_ms"}}};

constexpr std::size_t kScope = 1;
constexpr std::size_t kLinkData = 2;
constexpr std::size_t kBandwidth = 3;
constexpr std::array<CsvColumn, 4> kLinkColumns{
    {{"db"}, {"scope"}, {"data_mb"}, {"bandwidth_gb_per_s"}}};
constexpr std::array<std::string_view, 2> kScopes{"intra", "inter"};

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The cell as a number from 0 to `most`; otherwise nothing, and the mistake is noted.
std::optional<double> number(CsvTable& table, std::size_t column, double most) {
  const auto value = parse_number(table.cell(column));
  if (value && *value >= 0 && *value <= most) return value;
  table.reject(column, fmt::format("a number from 0 to {:.0f}", most));
  return std::nullopt;
}

std::optional<double> positive_number(CsvTable& table, std::size_t column, double most) {
  const auto value = parse_number(table.cell(column));
  if (value && *value > 0 && *value <= most) return value;
  table.reject(column, fmt::format("a number above 0, up to {:.0f}", most));
  return std::nullopt;
}

std::optional<int> power_of_two(CsvTable& table, std::size_t column, int most) {
  const auto value = parse_count(table.cell(column));
  if (value && *value <= most && std::has_single_bit(static_cast<std::uint64_t>(*value)))
    return static_cast<int>(*value);
  table.reject(column, fmt::format("a power of two from 1 to {}", most));
  return std::nullopt;
}

bool is_of(const CsvTable& table, const ProfileName& name) {
  return table.cell(kSize) == name.size && table.cell(kModel) == name.model &&
         table.cell(kDatabase) == name.database;
}

std::string title_of(const OpVariant& variant) {
  return fmt::format("mbs {}, tp {}, algo {}", variant.microbatch, variant.tp, variant.dim);
}

// The models that a table is about.
class NamesSeen {
 public:
  // The row's; false when it is no name, which is noted.
  bool add(CsvTable& table) {
    if (is_of(table, last_)) return true;
    for (std::size_t column = 0; column < kNameColumns; ++column) {
      if (is_plain_name(table.cell(column))) continue;
      table.reject(column, std::string{kPlainNameRule});
      return false;
    }
    last_ = {std::string{table.cell(kDatabase)}, std::string{table.cell(kModel)},
             std::string{table.cell(kSize)}};
    names_.insert(last_);
    return true;
  }

  const std::set<ProfileName>& all() const { return names_; }

 private:
  ProfileName last_;
  std::set<ProfileName> names_;
};

// "gpt, t5": what the user probably meant first, then by name.
std::string choices(std::string_view wrong, const std::set<std::string>& names) {
  std::vector<std::string_view> order{names.begin(), names.end()};
  if (const auto nearest = nearest_name(wrong, std::span<const std::string_view>{order})) {
    const auto at = std::find(order.begin(), order.end(), *nearest);
    std::rotate(order.begin(), at, at + 1);
  }
  const std::size_t shown = std::min(order.size(), kMostNamesShown);
  const std::string list = fmt::format("{}", fmt::join(std::span{order}.first(shown), ", "));
  return shown == order.size() ? list : fmt::format("{} and {} more", list, order.size() - shown);
}

// Which part of the name does not exist, and what there is in its place.
Diagnostic no_such_profile(const std::string& file, const ProfileName& wanted,
                           const std::set<ProfileName>& all) {
  std::set<std::string> databases;
  std::set<std::string> models;
  std::set<std::string> sizes;
  for (const ProfileName& name : all) {
    databases.insert(name.database);
    if (name.database != wanted.database) continue;
    models.insert(name.model);
    if (name.model == wanted.model) sizes.insert(name.size);
  }
  if (all.empty()) return {file, 0, "file", "without rows", "a row for each operator"};
  if (models.empty())
    return {file, 0, "db", wanted.database, "one of " + choices(wanted.database, databases)};
  if (sizes.empty()) {
    return {file, 0, "model", wanted.model,
            fmt::format("a model of {}: {}", wanted.database, choices(wanted.model, models))};
  }
  return {file, 0, "size", wanted.size,
          fmt::format("a size of {} in {}: {}", wanted.model, wanted.database,
                      choices(wanted.size, sizes))};
}

// The mistakes of several files.
class Failure {
 public:
  void add(const Error& error) {
    if (error.code != ErrorCode::bad_input) error_.code = error.code;
    error_.details.append(error.details);
  }
  void add(const CsvTable& table) {
    if (!table.mistakes().empty()) add(table.failure().value());
  }
  void add(Diagnostic mistake) { error_.details.add(std::move(mistake)); }

  bool empty() const { return error_.details.empty(); }
  tl::unexpected<Error> result() const { return tl::unexpected(error_); }

 private:
  Error error_{ErrorCode::bad_input, {}};
};

// The rows of one model's operators, in any order.
class OpRows {
 public:
  OpRows(InputFile input, const ProfileName& name)
      : file_{input.name()}, name_{name}, table_{std::move(input), kOpColumns} {}

  void read_into(OpProfile& profile, Failure& failure) {
    while (table_.next()) {
      if (names_.add(table_) && is_of(table_, name_)) read_row();
    }
    failure.add(table_);
    if (!table_.mistakes().empty()) return;
    if (rows_.empty()) return failure.add(no_such_profile(file_, name_, names_.all()));
    check_gaps(failure);
    if (failure.empty()) move_into(profile);
  }

 private:
  struct Row {
    OpMeasure measure;
    std::uint64_t line = 0;
  };
  struct Op {
    std::string name;
    std::uint64_t line = 0;
  };

  void read_row() {
    const auto variant = read_variant();
    const auto index = table_.integer(kOpIndex, 0, kMostOps - 1);
    const auto measure = read_measure();
    if (!is_plain_name(table_.cell(kOp))) return table_.reject(kOp, std::string{kPlainNameRule});
    if (!index || !is_same_op(*index) || !variant || !measure) return;
    const auto [at, is_new] = rows_[*variant].try_emplace(*index, Row{*measure, table_.line()});
    if (is_new) return;
    table_.reject(kOpIndex, fmt::format("another operator: line {} has this one for {}",
                                        at->second.line, title_of(*variant)));
  }

  std::optional<OpVariant> read_variant() {
    const auto microbatch = table_.integer(kMicrobatch, 1, kMostMicrobatch);
    const auto tp = power_of_two(table_, kTp, kMostTp);
    const auto dim = table_.integer(kDim, 0, 1);
    if (!microbatch || !tp || !dim) return std::nullopt;
    return OpVariant{static_cast<int>(*microbatch), *tp, static_cast<int>(*dim)};
  }

  std::optional<OpMeasure> read_measure() {
    OpMeasure measure;
    bool is_right = true;
    for (std::size_t i = 0; i < kMeasures.size(); ++i) {
      const auto value = number(table_, kFirstMeasure + i, kMeasures[i].most);
      measure.*kMeasures[i].member = value.value_or(0);
      is_right = is_right && value;
    }
    return is_right ? std::optional{measure} : std::nullopt;
  }

  bool is_same_op(std::int64_t index) {
    const std::string_view name = table_.cell(kOp);
    const auto at = ops_.find(index);
    if (at == ops_.end()) {
      ops_.emplace(index, Op{std::string{name}, table_.line()});
    } else if (at->second.name != name) {
      table_.reject(kOp, fmt::format("{}, which line {} has as operator {}", at->second.name,
                                     at->second.line, index));
      return false;
    }
    return true;
  }

  // Every table must have the operators from 0 to the last one of any table.
  void check_gaps(Failure& failure) const {
    const std::int64_t last = ops_.rbegin()->first;
    for (const auto& [variant, rows] : rows_) {
      std::int64_t next = 0;
      for (const auto& [index, row] : rows) {
        if (index != next) break;
        ++next;
      }
      if (next > last) continue;
      failure.add({file_, 0, "op_index", "",
                   fmt::format("a row with op_index {} for {}", next, title_of(variant))});
    }
  }

  void move_into(OpProfile& profile) {
    for (auto& [index, op] : ops_) profile.ops.push_back(std::move(op.name));
    for (const auto& [variant, rows] : rows_) {
      auto& measures = profile.tables[variant];
      measures.reserve(rows.size());
      for (const auto& [index, row] : rows) measures.push_back(row.measure);
    }
  }

  std::string file_;
  const ProfileName& name_;
  CsvTable table_;
  NamesSeen names_;
  std::map<std::int64_t, Op> ops_;
  std::map<OpVariant, std::map<std::int64_t, Row>> rows_;
};

void read_collectives(InputFile input, OpProfile& profile, const ProfileName& name,
                      Failure& failure) {
  CsvTable table{std::move(input), kCollectiveColumns};
  while (table.next()) {
    if (!is_of(table, name)) continue;
    const auto kind = table.choice(kCollective, kCollectiveNames);
    const auto gpus = table.integer(kGpus, 1, kMostCollectiveGpus);
    const auto data = table.integer(kCollectiveData, 0, static_cast<std::int64_t>(kMostMebibytes));
    const auto time = number(table, kCollectiveTime, kMostMilliseconds);
    if (!kind || !gpus || !data || !time) continue;
    CollectiveTimes& times =
        profile.collectives[{static_cast<Collective>(*kind), static_cast<int>(*gpus)}];
    if (!times.emplace(*data, *time).second)
      table.reject(kCollectiveData, "each size once for a collective and its GPUs");
  }
  failure.add(table);
}

void read_links(InputFile input, OpProfile& profile, const ProfileName& name, Failure& failure) {
  const std::string file = input.name();
  CsvTable table{std::move(input), kLinkColumns};
  std::array<std::map<double, double>, kScopes.size()> speeds;
  while (table.next()) {
    if (table.cell(kDatabase) != name.database) continue;
    const auto scope = table.choice(kScope, kScopes);
    const auto data = number(table, kLinkData, kMostMebibytes);
    const auto speed = positive_number(table, kBandwidth, kMostBandwidth);
    if (!scope || !data || !speed) continue;
    if (!speeds[*scope].emplace(*data, *speed).second)
      table.reject(kLinkData, fmt::format("each size once for {}", kScopes[*scope]));
  }
  failure.add(table);
  if (failure.empty() && speeds[0].empty())
    failure.add({file, 0, "row", "", fmt::format("one with db {}, scope intra", name.database)});
  for (const auto& [data, speed] : speeds[0]) profile.inside_node.push_back({data, speed});
  for (const auto& [data, speed] : speeds[1]) profile.between_nodes.push_back({data, speed});
}

// FOLDER/TITLE.csv or FOLDER/TITLE.csv.gz; nothing when neither is there.
std::optional<std::filesystem::path> table_path(const std::filesystem::path& folder,
                                                std::string_view title) {
  for (const std::string_view ending : {".csv", ".csv.gz"}) {
    std::filesystem::path path = folder / fmt::format("{}{}", title, ending);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return std::nullopt;
}

Result<InputFile> open_table(const std::filesystem::path& folder, std::string_view title) {
  if (const auto path = table_path(folder, title)) return InputFile::open(*path, kMaxProfileBytes);
  return bad_input(Diagnostic{folder.string(), 0, fmt::format("{}.csv", title), "",
                              fmt::format("{0}.csv or {0}.csv.gz in the folder", title)});
}

Result<void> check_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return {};
  return bad_input(Diagnostic{folder.string(), 0, "folder", "not a folder",
                              "a folder with ops.csv, collectives.csv and p2p.csv"});
}

}  // namespace

Result<OpProfile> read_op_profile(OpProfileInputs inputs, const ProfileName& name) {
  OpProfile profile{name.database, name.model, name.size, {}, {}, {}, {}, {}};
  Failure failure;
  OpRows{std::move(inputs.ops), name}.read_into(profile, failure);
  if (inputs.collectives) read_collectives(std::move(*inputs.collectives), profile, name, failure);
  read_links(std::move(inputs.p2p), profile, name, failure);
  if (!failure.empty()) return failure.result();
  return profile;
}

Result<OpProfile> read_op_profile(const std::filesystem::path& folder, const ProfileName& name) {
  if (const auto is_folder = check_folder(folder); !is_folder)
    return tl::unexpected(is_folder.error());
  auto ops = open_table(folder, "ops");
  auto p2p = open_table(folder, "p2p");
  std::optional<Result<InputFile>> collectives;
  if (table_path(folder, "collectives")) collectives = open_table(folder, "collectives");
  Failure failure;
  if (!ops) failure.add(ops.error());
  if (!p2p) failure.add(p2p.error());
  if (collectives && !*collectives) failure.add(collectives->error());
  if (!failure.empty()) return failure.result();
  OpProfileInputs inputs{std::move(*ops), std::nullopt, std::move(*p2p)};
  if (collectives) inputs.collectives = std::move(**collectives);
  return read_op_profile(std::move(inputs), name);
}

Result<std::vector<ProfileName>> list_op_profiles(const std::filesystem::path& folder) {
  if (const auto is_folder = check_folder(folder); !is_folder)
    return tl::unexpected(is_folder.error());
  auto input = open_table(folder, "ops");
  if (!input) return tl::unexpected(input.error());
  CsvTable table{std::move(*input), std::span{kOpColumns}.first(kNameColumns)};
  NamesSeen names;
  while (table.next()) names.add(table);
  if (!table.mistakes().empty()) return table.failure();
  return std::vector<ProfileName>{names.all().begin(), names.all().end()};
}

}  // namespace weir::formats
