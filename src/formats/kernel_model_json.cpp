// SPDX-License-Identifier: Apache-2.0
#include "formats/kernel_model_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "domain/whole_characters.h"
#include "formats/json_text.h"

namespace weir::formats {
namespace {

using ModelJson = nlohmann::ordered_json;

constexpr const char* kModelFormat = "weir-kernel-model";
constexpr std::int32_t kDeepestTree = 8;

// ---- out ----

// The shortest decimal that reads back to the same float.
double short_double(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double wide = 0;
  std::from_chars(text, end, wide);
  return wide;
}

ModelJson floats_json(const std::vector<float>& values) {
  ModelJson list = ModelJson::array();
  for (const float value : values) list.push_back(short_double(value));
  return list;
}

ModelJson trees_json(const std::map<std::string, BoostedTrees>& all) {
  ModelJson document = ModelJson::object();
  for (const auto& [key, trees] : all)
    document[key] = {{"depth", trees.depth},
                     {"offset", trees.offset},
                     {"features", trees.features},
                     {"thresholds", floats_json(trees.thresholds)},
                     {"leaves", floats_json(trees.leaves)}};
  return document;
}

ModelJson group_json(const KernelGroup& group) {
  ModelJson document = {{"key", group.key},
                        {"samples", group.samples},
                        {"error", group.error},
                        {"seconds", group.seconds}};
  if (group.has_traffic) document["traffic_seconds"] = group.traffic_seconds;
  document["flops"] = {group.flops.least, group.flops.most};
  document["bytes"] = {group.bytes.least, group.bytes.most};
  return document;
}

ModelJson figures_json(const std::map<std::string, ErrorFigures>& all) {
  ModelJson document = ModelJson::object();
  for (const auto& [key, figures] : all)
    document[key] = {
        {"samples", figures.samples}, {"mean", figures.mean},
        {"median", figures.median},   {"p90", figures.p90},
        {"bias", figures.bias},       {"within_10_percent", figures.within_10_percent}};
  return document;
}

ModelJson sketches_json(const std::vector<LaunchSketch>& sketches) {
  ModelJson list = ModelJson::array();
  for (const LaunchSketch& one : sketches)
    list.push_back({one.algorithm, one.kernel, one.tile_rows, one.tile_columns, one.tile_depth,
                    one.split, one.occupancy, one.threads, one.kernels});
  return list;
}

ModelJson dispatch_json(const std::map<std::string, std::vector<DispatchEntry>>& tables) {
  ModelJson document = ModelJson::object();
  for (const auto& [key, entries] : tables) {
    ModelJson list = ModelJson::array();
    for (const DispatchEntry& entry : entries)
      list.push_back(
          {entry.sizes, entry.sketch, entry.blocks, entry.helper_threads, entry.residual});
    document[key] = std::move(list);
  }
  return document;
}

// ---- in: any surprise is an exception, which ends the part of the file that it is in ----

class ModelMistake : public std::runtime_error {
 public:
  explicit ModelMistake(Diagnostic mistake)
      : std::runtime_error{to_string(mistake)}, mistake_{std::move(mistake)} {}
  Diagnostic in(const std::string& file) const {
    Diagnostic mistake = mistake_;
    mistake.file = file;
    return mistake;
  }

 private:
  Diagnostic mistake_;
};

// Keys of the file are part of a field: not to be trusted on the reader's terminal either.
std::string plain_field(std::string_view field) {
  constexpr std::size_t kLongestField = 200;
  std::string plain{whole_characters(field, kLongestField)};
  std::replace_if(
      plain.begin(), plain.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return plain;
}

[[noreturn]] void refuse_model(std::string_view field, std::string found, std::string expected) {
  throw ModelMistake{Diagnostic{{}, 0, plain_field(field), std::move(found), std::move(expected)}};
}

std::string written(const ModelJson& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Numbers far beyond any GPU and any fit: predictions from what is within stay numbers.
constexpr double kMostRate = 1e30;      // a second
constexpr double kMostSeconds = 1e6;    // of one unit of work
constexpr double kMostLogarithm = 100;  // of a correction
constexpr std::int64_t kMostModelSize = std::int64_t{1} << 40;
constexpr std::int64_t kMostModelThreads = std::int64_t{1} << 50;

double number_of(const ModelJson& value, double least, double most, std::string_view field) {
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (!(number >= least && number <= most))
    refuse_model(field, written(value), fmt::format("a number from {} to {}", least, most));
  return number;
}

std::int64_t integer_of(const ModelJson& value, std::int64_t least, std::int64_t most,
                        std::string_view field) {
  const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : least - 1;
  if (number < least || number > most)
    refuse_model(field, written(value), fmt::format("an integer from {} to {}", least, most));
  return number;
}

std::int32_t small_integer_of(const ModelJson& value, std::int32_t least, std::int32_t most,
                              std::string_view field) {
  return static_cast<std::int32_t>(integer_of(value, least, most, field));
}

std::map<std::string, double> rates_of(const ModelJson& document, std::string_view field) {
  std::map<std::string, double> rates;
  for (const auto& [key, value] : document.items())
    rates[key] = number_of(value, 0, kMostRate, fmt::format("{} {}", field, key));
  return rates;
}

std::array<double, kWorkColumns> seconds_of(const ModelJson& list, std::string_view field) {
  if (list.size() != kWorkColumns)
    refuse_model(field, fmt::format("{} numbers", list.size()),
                 fmt::format("{} numbers", kWorkColumns));
  std::array<double, kWorkColumns> seconds{};
  for (std::size_t i = 0; i < kWorkColumns; ++i)
    seconds[i] = number_of(list.at(i), 0, kMostSeconds, field);
  return seconds;
}

std::vector<float> floats_of(const ModelJson& list, std::string_view field) {
  std::vector<float> values;
  values.reserve(list.size());
  for (const ModelJson& value : list) {
    // The largest float, written short, is a little above it as a double.
    values.push_back(value.is_number() ? static_cast<float>(value.get<double>()) : NAN);
    if (!std::isfinite(values.back())) refuse_model(field, written(value), "a number in a float");
  }
  return values;
}

BoostedTrees trees_of(const std::string& key, const ModelJson& document) {
  BoostedTrees trees;
  trees.depth = small_integer_of(document.at("depth"), 1, kDeepestTree, key + ": depth");
  trees.offset =
      number_of(document.at("offset"), -kMostLogarithm, kMostLogarithm, key + ": offset");
  const std::string features_field = key + ": features";
  for (const ModelJson& feature : document.at("features"))
    trees.features.push_back(
        small_integer_of(feature, 0, static_cast<std::int32_t>(kTreeFeatures) - 1, features_field));
  trees.thresholds = floats_of(document.at("thresholds"), key + ": thresholds");
  trees.leaves = floats_of(document.at("leaves"), key + ": leaves");
  const std::size_t leaves = std::size_t{1} << trees.depth;
  if (trees.leaves.size() % leaves != 0 ||
      trees.features.size() != trees.leaves.size() / leaves * (leaves - 1) ||
      trees.thresholds.size() != trees.features.size())
    refuse_model(key + ": trees",
                 fmt::format("{} features, {} thresholds, {} leaves", trees.features.size(),
                             trees.thresholds.size(), trees.leaves.size()),
                 fmt::format("{} features, {} thresholds and {} leaves for each tree of depth {}",
                             leaves - 1, leaves - 1, leaves, trees.depth));
  for (const float leaf : trees.leaves)
    if (std::abs(leaf) > kMostLogarithm)
      refuse_model(key + ": leaves", fmt::format("{}", leaf),
                   fmt::format("a number from {} to {}", -kMostLogarithm, kMostLogarithm));
  return trees;
}

std::map<std::string, BoostedTrees> all_trees_of(const ModelJson& document) {
  std::map<std::string, BoostedTrees> all;
  for (const auto& [key, trees] : document.items()) all[key] = trees_of(key, trees);
  return all;
}

ValueRange range_of(const ModelJson& pair, const std::string& field) {
  const ValueRange range{pair.at(0).get<double>(), pair.at(1).get<double>()};
  if (!(range.least <= range.most))
    refuse_model(field, written(pair), "the least, then the most that was measured");
  return range;
}

KernelGroup group_of_json(const ModelJson& document) {
  KernelGroup group;
  group.key = document.at("key").get<std::string>();
  group.samples = document.at("samples").get<std::int64_t>();
  group.error = number_of(document.at("error"), 0, 1e9, group.key + ": error");
  group.seconds = seconds_of(document.at("seconds"), group.key + ": seconds");
  group.has_traffic = document.contains("traffic_seconds");
  if (group.has_traffic)
    group.traffic_seconds =
        seconds_of(document.at("traffic_seconds"), group.key + ": traffic_seconds");
  group.flops = range_of(document.at("flops"), group.key + ": flops");
  group.bytes = range_of(document.at("bytes"), group.key + ": bytes");
  return group;
}

LaunchSketch sketch_of_json(const ModelJson& list) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  LaunchSketch sketch;
  sketch.algorithm = list.at(0).get<std::string>();
  sketch.kernel = list.at(1).get<std::string>();
  std::size_t at = 2;
  for (const auto& [field, value] : std::initializer_list<std::pair<const char*, std::int32_t*>>{
           {"sketches: tile rows", &sketch.tile_rows},
           {"sketches: tile columns", &sketch.tile_columns},
           {"sketches: tile depth", &sketch.tile_depth},
           {"sketches: split", &sketch.split},
           {"sketches: occupancy", &sketch.occupancy},
           {"sketches: threads", &sketch.threads},
           {"sketches: kernels", &sketch.kernels}})
    *value = small_integer_of(list.at(at++), value == &sketch.split ? 1 : 0, kMost, field);
  return sketch;
}

DispatchEntry entry_of(const ModelJson& list, std::size_t sketches) {
  DispatchEntry entry;
  const ModelJson& sizes = list.at(0);
  if (sizes.size() != kMostKernelSizes)
    refuse_model("dispatch: sizes", fmt::format("{} numbers", sizes.size()),
                 fmt::format("{} numbers", kMostKernelSizes));
  for (std::size_t i = 0; i < kMostKernelSizes; ++i)
    entry.sizes[i] = integer_of(sizes.at(i), 0, kMostModelSize, "dispatch: sizes");
  const std::int64_t sketch =
      integer_of(list.at(1), 0, std::numeric_limits<std::int32_t>::max(), "dispatch: sketch");
  if (static_cast<std::size_t>(sketch) >= sketches)
    refuse_model("dispatch: sketch", fmt::format("{}", sketch),
                 fmt::format("one of the {} sketches, from 0", sketches));
  entry.sketch = static_cast<std::int32_t>(sketch);
  entry.blocks = integer_of(list.at(2), 0, kMostModelThreads, "dispatch: blocks");
  entry.helper_threads = integer_of(list.at(3), 0, kMostModelThreads, "dispatch: helper threads");
  entry.residual = number_of(list.at(4), -kMostLogarithm, kMostLogarithm, "dispatch: residuals");
  return entry;
}

DeviceSpec device_of(const ModelJson& document) {
  DeviceSpec device;
  device.name = document.at("name").get<std::string>();
  if (device.name.empty()) refuse_model("device: name", "", "the GPU's name");
  device.sms = number_of(document.at("sms"), 1, 1e6, "device: sms");
  device.clock_mhz = number_of(document.at("clock_mhz"), 1, 1e6, "device: clock_mhz");
  device.bytes_per_second =
      number_of(document.at("bytes_per_second"), 1, kMostRate, "device: bytes_per_second");
  device.l2_bytes = number_of(document.at("l2_bytes"), 0, 1e15, "device: l2_bytes");
  device.flops = rates_of(document.at("flops"), "device: flops");
  device.max_warps_per_sm =
      number_of(document.at("max_warps_per_sm"), 1, 1e4, "device: max_warps_per_sm");
  return device;
}

// Exceptions of the JSON library begin with their name: "[json.exception.out_of_range.403] key 'sms' not found".
std::string without_name(std::string_view what) {
  if (what.starts_with("[json")) what.remove_prefix(std::min(what.size(), what.find(']') + 2));
  return std::string{what};
}

std::map<std::string, OverheadGrowth> drift_of(const ModelJson& document) {
  std::map<std::string, OverheadGrowth> drift;
  for (const auto& [key, growth] : document.items()) {
    OverheadGrowth& one = drift[key];
    one.last_row = integer_of(growth.at("last_row"), 1, kMostModelSize, key + ": last_row");
    for (const ModelJson& milliseconds : growth.at("ms_over_rows"))
      one.milliseconds.push_back(number_of(milliseconds, 0, kMostSeconds, key + ": ms_over_rows"));
    const auto& all = one.milliseconds;
    if (all.size() < 2 || all.front() != 0 || !std::is_sorted(all.begin(), all.end()))
      refuse_model(key + ": ms_over_rows", written(growth.at("ms_over_rows")),
                   "at least two numbers that ascend from 0");
  }
  return drift;
}

ModelJson drift_json(const std::map<std::string, OverheadGrowth>& drift) {
  ModelJson document = ModelJson::object();
  for (const auto& [key, growth] : drift)
    document[key] = {{"last_row", growth.last_row}, {"ms_over_rows", growth.milliseconds}};
  return document;
}

void check_version(const ModelJson& document) {
  if (!document.contains("format")) refuse_model("format", "", kModelFormat);
  if (document.at("format") != kModelFormat)
    refuse_model("format", written(document.at("format")), kModelFormat);
  if (document.at("version") != kKernelModelVersion)
    refuse_model(
        "version", written(document.at("version")),
        fmt::format("{}: fit the model again with `weir kernels fit`", kKernelModelVersion));
}

HostModel host_of(const ModelJson& host) {
  const auto probes = [&](const char* key) {
    return number_of(host.at(key), 0, kMostSeconds, fmt::format("host: {}", key));
  };
  return {probes("probe_microseconds"), probes("op_probes"), probes("tensor_probes")};
}

ErrorFigures figures_of(const ModelJson& figures) {
  return {figures.at("samples").get<std::int64_t>(), figures.at("mean").get<double>(),
          figures.at("median").get<double>(),        figures.at("p90").get<double>(),
          figures.at("bias").get<double>(),          figures.at("within_10_percent").get<double>()};
}

// The parts of a file, each read on its own, so that the first mistake of every part is told.
class ModelParts {
 public:
  ModelParts(const ModelJson& document, const std::string& file)
      : document_{document}, file_{file} {}

  template <class Read>
  void read(const char* name, Read read) {
    try {
      if (!document_.contains(name)) refuse_model(name, "", kAsWritten);
      const ModelJson& part = document_.at(name);
      if (!part.is_structured()) refuse_model(name, written(part), kAsWritten);
      read(part);
    } catch (const ModelMistake& refused) {
      mistakes_.add(refused.in(file_));
    } catch (const std::exception& problem) {
      mistakes_.add({file_, 0, name, without_name(problem.what()), kAsWritten});
    }
  }
  const Diagnostics& mistakes() const { return mistakes_; }

 private:
  static constexpr const char* kAsWritten = "as `weir kernels fit` writes it";
  const ModelJson& document_;
  const std::string& file_;
  Diagnostics mistakes_;
};

Result<KernelModel> model_of(const ModelJson& document, const std::string& file) {
  check_version(document);
  KernelModel model;
  ModelParts parts{document, file};
  parts.read("device", [&](const ModelJson& part) { model.device = device_of(part); });
  parts.read("versions", [&](const ModelJson& part) {
    model.versions = part.get<std::map<std::string, std::string>>();
  });
  parts.read("roofline", [&](const ModelJson& part) {
    model.roofline_flops = rates_of(part.at("flops"), "roofline: flops");
    model.roofline_bytes_per_second =
        number_of(part.at("bytes_per_second"), 0, kMostRate, "roofline: bytes_per_second");
  });
  parts.read("drift", [&](const ModelJson& part) { model.drift = drift_of(part); });
  parts.read("host", [&](const ModelJson& part) { model.host = host_of(part); });
  parts.read("errors", [&](const ModelJson& part) {
    for (const auto& [key, figures] : part.items()) model.errors[key] = figures_of(figures);
  });
  parts.read("groups", [&](const ModelJson& part) {
    for (const ModelJson& group : part) model.groups.push_back(group_of_json(group));
  });
  parts.read("known_launch",
             [&](const ModelJson& part) { model.known_launch = all_trees_of(part); });
  parts.read("predicted_launch",
             [&](const ModelJson& part) { model.predicted_launch = all_trees_of(part); });
  parts.read("by_shape", [&](const ModelJson& part) { model.by_shape = all_trees_of(part); });
  const std::size_t before = parts.mistakes().total();
  parts.read("sketches", [&](const ModelJson& part) {
    for (const ModelJson& sketch : part) model.sketches.push_back(sketch_of_json(sketch));
  });
  const bool knows_sketches = parts.mistakes().total() == before;
  parts.read("dispatch", [&](const ModelJson& part) {
    if (!knows_sketches) return;  // what its numbers mean
    for (const auto& [key, entries] : part.items()) {
      auto& table = model.dispatch[key];
      table.reserve(entries.size());
      for (const ModelJson& entry : entries)
        table.push_back(entry_of(entry, model.sketches.size()));
    }
  });
  if (!parts.mistakes().empty())
    return tl::unexpected(Error{ErrorCode::bad_input, parts.mistakes()});
  return model;
}

}  // namespace

Result<std::string> kernel_model_json(const KernelModel& model) {
  ModelJson groups = ModelJson::array();
  for (const KernelGroup& group : model.groups) groups.push_back(group_json(group));
  const DeviceSpec& device = model.device;
  const ModelJson document = {
      {"format", kModelFormat},
      {"version", kKernelModelVersion},
      {"device",
       {{"name", device.name},
        {"sms", device.sms},
        {"clock_mhz", device.clock_mhz},
        {"bytes_per_second", device.bytes_per_second},
        {"l2_bytes", device.l2_bytes},
        {"flops", device.flops},
        {"max_warps_per_sm", device.max_warps_per_sm}}},
      {"versions", model.versions},
      {"roofline",
       {{"flops", model.roofline_flops}, {"bytes_per_second", model.roofline_bytes_per_second}}},
      {"drift", drift_json(model.drift)},
      {"host",
       {{"probe_microseconds", model.host.probe_microseconds},
        {"op_probes", model.host.op_probes},
        {"tensor_probes", model.host.tensor_probes}}},
      {"errors", figures_json(model.errors)},
      {"groups", std::move(groups)},
      {"known_launch", trees_json(model.known_launch)},
      {"predicted_launch", trees_json(model.predicted_launch)},
      {"by_shape", trees_json(model.by_shape)},
      {"sketches", sketches_json(model.sketches)},
      {"dispatch", dispatch_json(model.dispatch)}};
  return json_text(document, JsonLayout::compact);
}

Result<KernelModel> read_kernel_model(InputFile input) {
  const std::string name = input.name();
  const auto text = input.read_all(kMaxKernelModelBytes);
  if (!text) return tl::unexpected(text.error());
  try {
    return model_of(ModelJson::parse(*text), name);
  } catch (const ModelMistake& refused) {
    return bad_input(refused.in(name));
  } catch (const std::exception& problem) {
    return bad_input(Diagnostic{name, 0, "kernel model", without_name(problem.what()),
                                "a model that `weir kernels fit` wrote"});
  }
}

}  // namespace weir::formats
