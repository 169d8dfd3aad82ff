// SPDX-License-Identifier: Apache-2.0
#include "formats/pollux_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "domain/whole_numbers.h"
#include "formats/csv.h"
#include "formats/file_title.h"
#include "formats/input_ranges.h"
#include "formats/plain_name.h"

namespace weir::formats {
namespace {

constexpr std::string_view kPlacements = "_placements";
constexpr std::string_view kScalability = "_scalability";
constexpr std::int32_t kGpusPerNode = 4;
constexpr std::int32_t kMostGpusOfACurve = 64;
constexpr double kMostStepSeconds = 1e6;
constexpr std::int64_t kMostLocalBatch = 1'000'000;

constexpr std::array<CsvColumn, 4> kPlacementColumns{
    {{"placement", true}, {"local_bsz", true}, {"step_time", true}, {"sync_time", true}}};
constexpr std::array<CsvColumn, 5> kScalabilityColumns{{{"num_nodes", true},
                                                        {"num_replicas", true},
                                                        {"local_bsz", true},
                                                        {"step_time", true},
                                                        {"sync_time", true}}};

// As few nodes as possible.
ReplicasByNode compact(std::int32_t gpus) {
  if (gpus <= kGpusPerNode) return {gpus};
  return ReplicasByNode(static_cast<std::size_t>(gpus / kGpusPerNode), kGpusPerNode);
}

ReplicasByNode spread(std::int64_t replicas, std::int64_t nodes) {
  ReplicasByNode placement(static_cast<std::size_t>(nodes),
                           static_cast<std::int32_t>(replicas / nodes));
  for (std::int64_t i = 0; i < replicas % nodes; ++i) ++placement[static_cast<std::size_t>(i)];
  return placement;
}

Duration between(Duration a, Duration b, std::int64_t part, std::int64_t whole) {
  return a + (b - a) * part / whole;
}

IterationRate rate_of(Duration iteration) {
  constexpr std::int64_t kMicroPerSecondInNanoseconds = 1'000'000'000'000'000;
  return IterationRate{kMicroPerSecondInNanoseconds / std::max<std::int64_t>(1, iteration.count())};
}

std::optional<Duration> parse_seconds(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (!is_number || !(seconds >= 0) || seconds > kMostStepSeconds) return std::nullopt;
  return Duration{std::llround(seconds * 1e9)};
}

// The columns both tables end with, and what is wrong with them.
class StepTable {
 public:
  StepTable(InputFile input, std::span<const CsvColumn> columns, std::size_t first)
      : table_{std::move(input), columns}, first_{first} {}

  CsvTable& table() { return table_; }

  void add_row(PolluxProfile& profile, std::optional<ReplicasByNode> placement) {
    const auto batch = table_.integer(first_, 1, kMostLocalBatch);
    const auto step = seconds(first_ + 1, 1);
    const auto sync = seconds(first_ + 2, 0);
    if (!placement || !batch || !step || !sync) return;
    if (*sync > *step) return table_.reject(first_ + 2, "no more than step_time");
    if (!profile.add(std::move(*placement), *batch, {*step, *sync}))
      table_.reject(first_, "another local batch: these replicas have it already");
  }

  Result<void> result() {
    if (!table_.mistakes().empty()) return table_.failure();
    return {};
  }

 private:
  std::optional<Duration> seconds(std::size_t column, std::int64_t least) {
    const auto parsed = parse_seconds(table_.cell(column));
    if (parsed && parsed->count() >= least) return parsed;
    table_.reject(column, fmt::format("seconds {} to {:.0f}", least == 0 ? "from 0" : "above 0, up",
                                      kMostStepSeconds));
    return std::nullopt;
  }

  CsvTable table_;
  std::size_t first_;
};

std::optional<ReplicasByNode> parse_placement(CsvTable& table) {
  const std::string_view text = table.cell(0);
  ReplicasByNode placement;
  for (const char c : text) {
    if (c >= '1' && c <= '9') placement.push_back(c - '0');
  }
  if (!text.empty() && text.size() <= 64 && placement.size() == text.size()) return placement;
  table.reject(0, "a digit from 1 to 9 for each node, such as 44");
  return std::nullopt;
}

std::optional<ReplicasByNode> parse_spread(CsvTable& table) {
  const auto nodes = table.integer(0, 1, kMostGpusPerJob);
  if (!nodes) return std::nullopt;
  const auto replicas = table.integer(1, *nodes, kMostGpusPerJob);
  if (!replicas) return std::nullopt;
  return spread(*replicas, *nodes);
}

tl::unexpected<Error> no_profile_folder(const std::filesystem::path& folder, std::string found) {
  return bad_input(Diagnostic{folder.string(), 0, "folder", std::move(found),
                              "a folder with <model>_placements.csv and <model>_scalability.csv"});
}

using Read = Result<void> (*)(InputFile, PolluxProfile&);

// Reads one table; what is wrong with it joins the other mistakes.
void read_into(PolluxProfile& profile, const std::filesystem::path& path, Read read,
               Error& failure) {
  auto input = InputFile::open(path, kMaxTableBytes);
  const Result<void> result =
      input ? read(std::move(*input), profile) : Result<void>{tl::unexpected(input.error())};
  if (result) return;
  if (result.error().code != ErrorCode::bad_input) failure.code = result.error().code;
  failure.details.append(result.error().details);
}

// The models that have a table of that kind, with its path.
std::map<std::string, std::filesystem::path> tables_of(
    const std::vector<std::filesystem::path>& all, std::string_view kind) {
  std::map<std::string, std::filesystem::path> found;
  for (const std::filesystem::path& path : all) {
    std::string title = file_title(path.string());
    if (!title.ends_with(kind) || title.size() == kind.size()) continue;
    title.resize(title.size() - kind.size());
    found.emplace(std::move(title), path);
  }
  return found;
}

}  // namespace

bool PolluxProfile::add(ReplicasByNode placement, std::int64_t local_batch, const StepTime& time) {
  return measured_[std::move(placement)].emplace(local_batch, time).second;
}

std::optional<Duration> PolluxProfile::iteration_time(const ReplicasByNode& placement,
                                                      std::int64_t global_batch) const {
  const auto found = measured_.find(placement);
  if (found == measured_.end() || global_batch < 1) return std::nullopt;
  const ByLocalBatch& times = found->second;
  std::int64_t replicas = 0;
  for (const std::int32_t on_node : placement) replicas += on_node;
  const std::int64_t per_replica = divide_up(global_batch, replicas);
  const std::int64_t steps = divide_up(per_replica, times.rbegin()->first);
  const std::int64_t local = divide_up(per_replica, steps);
  const auto above = times.lower_bound(local);
  if (above->first != local && above == times.begin()) return std::nullopt;
  StepTime time = above->second;
  if (above->first != local) {
    const auto below = std::prev(above);
    const std::int64_t part = local - below->first;
    const std::int64_t whole = above->first - below->first;
    time.step = between(below->second.step, time.step, part, whole);
    time.sync = between(below->second.sync, time.sync, part, whole);
  }
  return time.step + (time.step - time.sync) * (steps - 1);
}

Curve PolluxProfile::curve_at(std::int64_t global_batch) const {
  std::vector<CurvePoint> points;
  for (std::int32_t gpus = 1; gpus <= kMostGpusOfACurve; gpus *= 2) {
    if (const auto time = iteration_time(compact(gpus), global_batch))
      points.push_back({gpus, rate_of(*time)});
  }
  return Curve{std::move(points)};
}

// The user's batch, and every whole number of measured steps.
std::vector<BatchRate> PolluxProfile::batches_on(std::int32_t gpus, std::int64_t least,
                                                 std::int64_t most) const {
  const ReplicasByNode placement = compact(gpus);
  const auto found = measured_.find(placement);
  std::set<std::int64_t> batches{least};
  if (found != measured_.end()) {
    const std::int64_t largest = found->second.rbegin()->first;
    for (const auto& [local, time] : found->second) batches.insert(local * gpus);
    for (std::int64_t batch = largest * gpus; batch <= most; batch += largest * gpus)
      batches.insert(batch);
  }
  std::vector<BatchRate> choices;
  for (const std::int64_t batch : batches) {
    if (batch < least || batch > most) continue;
    if (const auto time = iteration_time(placement, batch))
      choices.push_back({batch, rate_of(*time)});
  }
  return choices;
}

Curve PolluxProfile::adaptive_curve(const GradientNoise& noise, std::int64_t most) const {
  std::vector<CurvePoint> points;
  for (std::int32_t gpus = 1; gpus <= kMostGpusOfACurve; gpus *= 2) {
    const auto choices = batches_on(gpus, noise.base_batch, most);
    if (const auto best = best_batch(choices, noise, most)) points.push_back({gpus, best->rate});
  }
  return Curve{std::move(points)};
}

Result<void> read_placements(InputFile input, PolluxProfile& profile) {
  StepTable rows{std::move(input), kPlacementColumns, 1};
  while (rows.table().next()) rows.add_row(profile, parse_placement(rows.table()));
  return rows.result();
}

Result<void> read_scalability(InputFile input, PolluxProfile& profile) {
  StepTable rows{std::move(input), kScalabilityColumns, 2};
  while (rows.table().next()) rows.add_row(profile, parse_spread(rows.table()));
  return rows.result();
}

Result<PolluxProfiles> read_pollux_profiles(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error))
    return no_profile_folder(directory, "not a folder");
  std::vector<std::filesystem::path> files;
  std::filesystem::directory_iterator at{directory, error};
  for (; !error && at != std::filesystem::directory_iterator{}; at.increment(error)) {
    if (is_csv_name(at->path().filename().string())) files.push_back(at->path());
  }
  if (error) return no_profile_folder(directory, "unreadable: " + error.message());
  std::sort(files.begin(), files.end());
  const auto placements = tables_of(files, kPlacements);
  const auto scalability = tables_of(files, kScalability);
  if (placements.empty()) return no_profile_folder(directory, "without any _placements.csv");
  PolluxProfiles profiles;
  Error failure{ErrorCode::bad_input, {}};
  for (const auto& [model, path] : placements) {
    PolluxProfile& profile = profiles[model];
    if (!is_plain_name(model)) {
      failure.details.add({path.string(), 0, "model", model, std::string{kPlainNameRule}});
    }
    read_into(profile, path, read_placements, failure);
    const auto more = scalability.find(model);
    if (more != scalability.end()) read_into(profile, more->second, read_scalability, failure);
  }
  if (!failure.details.empty()) return tl::unexpected(std::move(failure));
  return profiles;
}

}  // namespace weir::formats
