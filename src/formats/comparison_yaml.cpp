// SPDX-License-Identifier: Apache-2.0
#include "formats/comparison_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "domain/nearest_name.h"
#include "formats/cluster_shorthand.h"
#include "formats/data_dir.h"
#include "formats/file_title.h"
#include "formats/input_ranges.h"
#include "formats/quantity_text.h"
#include "formats/yaml_document.h"

namespace weir::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kComparisonKeys{"traces", "policies", "seeds",
                                                          "gpu_file"};
constexpr std::array<std::string_view, 4> kTraceKeys{"jobs", "cluster", "curves", "slot"};
constexpr std::string_view kData = "${WEIR_DATA}";
constexpr std::size_t kMostTraces = 1000;
constexpr std::size_t kMostSeeds = 1000;

constexpr std::string_view kJobsRule = "the path of a trace (CSV) or of training jobs (YAML)";
constexpr std::string_view kClusterRule = "a cluster such as 16x8xA100, or the path of its file";
constexpr std::string_view kCurvesRule =
    "the path of a folder of throughput tables, or of a JSON file";
constexpr std::string_view kGpuFileRule = "the path of a file of GPU types";
constexpr std::string_view kNoDataRule =
    "a path without ${WEIR_DATA}, or the variable WEIR_DATA set to the folder of the public data";
constexpr std::string_view kVariableRule =
    "a path in which only ${WEIR_DATA} stands for something, at its beginning";

std::optional<Duration> parse_slot(std::string_view text) {
  const auto slot = parse_duration(text);
  return slot && *slot <= from_seconds(kMostSeconds) ? slot : std::nullopt;
}

class ComparisonReader {
 public:
  ComparisonReader(const YamlDocument& document, const ComparisonSurroundings& surroundings)
      : document_{document}, surroundings_{surroundings} {}

  Result<Comparison> read() {
    const YamlFields top{document_, document_.root(), "file", kComparisonKeys, mistakes_};
    if (top.is_usable()) {
      read_traces(top);
      read_policies(top);
      read_seeds(top);
      if (top.has("gpu_file")) comparison_.gpu_file = read_path(top, "gpu_file", kGpuFileRule);
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(comparison_);
  }

 private:
  void read_traces(const YamlFields& top) {
    const auto list = top.find("traces");
    if (!list || !list->is_list() || list->items().empty() || list->items().size() > kMostTraces) {
      return top.reject("traces", fmt::format("a list of 1 to {} traces, such as - {{jobs: "
                                              "night.yaml, cluster: 4x8xA100, curves: curves}}",
                                              kMostTraces));
    }
    for (const YamlValue& item : list->items()) {
      if (mistakes_.full()) return;
      const YamlFields fields{document_, item, "trace", kTraceKeys, mistakes_};
      if (fields.is_usable()) read_trace(fields);
    }
  }

  void read_trace(const YamlFields& fields) {
    ComparedTrace trace;
    trace.jobs = read_path(fields, "jobs", kJobsRule);
    // Jobs in YAML may have models to plan; whether all have is for their reader to say.
    if (fields.has("curves") || is_csv_name(trace.jobs.string()))
      trace.curves = read_path(fields, "curves", kCurvesRule);
    const auto cluster = fields.require("cluster", kClusterRule, non_empty);
    if (cluster && looks_like_cluster_shorthand(*cluster)) {
      trace.cluster = *cluster;
    } else if (cluster) {
      trace.cluster = read_path(fields, "cluster", kClusterRule).string();
    }
    trace.line = fields.line();
    trace.slot = fields.get("slot", "a duration such as 60s, or 0s for none", parse_slot);
    comparison_.traces.push_back(std::move(trace));
  }

  static std::optional<std::string_view> non_empty(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional{text};
  }

  // Nothing when it is wrong, which is noted.
  fs::path read_path(const YamlFields& fields, std::string_view key, std::string_view rule) {
    const auto text = fields.require(key, rule, non_empty);
    if (!text) return {};
    if (text->substr(0, kData.size()) != kData) {
      if (text->find("${") != std::string_view::npos) fields.reject(key, kVariableRule);
      return surroundings_.folder / *text;
    }
    std::string_view rest = text->substr(kData.size());
    if (rest.find("${") != std::string_view::npos || (!rest.empty() && rest.front() != '/')) {
      fields.reject(key, kVariableRule);
      return {};
    }
    if (!surroundings_.data) {
      fields.reject(key, kNoDataRule);
      return {};
    }
    while (!rest.empty() && rest.front() == '/') rest.remove_prefix(1);
    return *surroundings_.data / rest;
  }

  void read_policies(const YamlFields& top) {
    const auto list = top.find("policies");
    if (!list || (list->is_text() && list->text() == "all")) return;
    const std::string rule =
        fmt::format("a list with some of {}; or all", fmt::join(surroundings_.policies, ", "));
    if (!list->is_list() || list->items().empty()) return top.reject("policies", rule);
    for (const YamlValue& item : list->items()) {
      if (mistakes_.full()) return;
      const std::string name{item.text()};
      const auto& known = surroundings_.policies;
      if (!item.is_text() || std::find(known.begin(), known.end(), name) == known.end()) {
        top.note(item.line(), "policy", item.describe(),
                 fmt::format("one of {}{}", fmt::join(known, ", "), did_you_mean(name, known)));
      } else if (contains(comparison_.policies, name)) {
        top.note(item.line(), "policy", name, "each policy once");
      } else {
        comparison_.policies.push_back(name);
      }
    }
  }

  void read_seeds(const YamlFields& top) {
    const auto list = top.find("seeds");
    if (!list) return;
    if (!list->is_list() || list->items().empty() || list->items().size() > kMostSeeds)
      return top.reject("seeds", fmt::format("a list of 1 to {} whole numbers", kMostSeeds));
    for (const YamlValue& item : list->items()) {
      if (mistakes_.full()) return;
      const auto seed = item.is_text() ? parse_count(item.text()) : std::nullopt;
      if (!seed) {
        top.note(item.line(), "seed", item.describe(), "a whole number from 0 on");
      } else if (contains(comparison_.seeds, static_cast<std::uint64_t>(*seed))) {
        top.note(item.line(), "seed", item.describe(), "each seed once");
      } else {
        comparison_.seeds.push_back(static_cast<std::uint64_t>(*seed));
      }
    }
  }

  template <class T>
  static bool contains(const std::vector<T>& values, const T& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  }

  const YamlDocument& document_;
  const ComparisonSurroundings& surroundings_;
  Diagnostics mistakes_;
  Comparison comparison_;
};

}  // namespace

Result<Comparison> read_comparison(InputFile input, const ComparisonSurroundings& surroundings) {
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  return ComparisonReader{*document, surroundings}.read();
}

Result<Comparison> read_comparison(const fs::path& path, std::vector<std::string> policies) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  const fs::path folder = path.parent_path();
  std::error_code ignored;
  const fs::path from = fs::absolute(path, ignored).parent_path();
  return read_comparison(std::move(*input), {folder, data_dir(from), std::move(policies)});
}

}  // namespace weir::formats
