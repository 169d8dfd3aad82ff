// SPDX-License-Identifier: Apache-2.0
#include "formats/network_mix_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "formats/data_amount_text.h"
#include "formats/quantity_text.h"
#include "formats/yaml_document.h"

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 1> kMixFileKeys{"jobs"};
constexpr std::array<std::string_view, 9> kMixJobKeys{
    "name", "gpus", "collective", "bytes", "compute", "ready", "start", "iterations", "mode"};
constexpr std::size_t kMostMixJobs = 100'000;
constexpr std::int64_t kMostMixGpus = 1'000'000;
constexpr std::int64_t kMostMixIterations = 1'000'000'000;
constexpr std::string_view kMixTimeRule = "a duration such as 0.02s";

std::optional<CollectiveKind> collective_named(std::string_view text) {
  const auto* const found =
      std::find(std::begin(kNetworkCollectiveNames), std::end(kNetworkCollectiveNames), text);
  if (found == std::end(kNetworkCollectiveNames)) return std::nullopt;
  return static_cast<CollectiveKind>(found - std::begin(kNetworkCollectiveNames));
}

std::optional<PlayMode> play_mode_named(std::string_view text) {
  if (text == "stepwise") return PlayMode::stepwise;
  if (text == "steady") return PlayMode::steady;
  return std::nullopt;
}

double mix_seconds(const YamlFields& fields, std::string_view key, double usual) {
  const auto duration = fields.get(key, kMixTimeRule, parse_duration);
  return duration ? std::chrono::duration<double>{*duration}.count() : usual;
}

MixJob read_mix_job(const YamlFields& fields, std::size_t number) {
  MixJob job;
  job.line = fields.line();
  job.name = fmt::format("job-{}", number);
  if (const auto name = fields.get("name", "a name", [](std::string_view text) {
        return text.empty() ? std::nullopt : std::optional{std::string{text}};
      })) {
    job.name = *name;
  }
  if (!fields.has("gpus")) fields.reject("gpus", fmt::format("2 to {}", kMostMixGpus));
  job.gpus = static_cast<std::int32_t>(fields.integer("gpus", 2, kMostMixGpus).value_or(2));
  job.collective =
      fields
          .require("collective", fmt::format("one of {}", fmt::join(kNetworkCollectiveNames, ", ")),
                   collective_named)
          .value_or(CollectiveKind::ring_all_reduce);
  job.bytes = fields.require("bytes", kDataSizeRule, parse_data_size).value_or(0);
  job.mode = fields.get("mode", "stepwise or steady", play_mode_named).value_or(PlayMode::stepwise);
  job.compute_seconds = mix_seconds(fields, "compute", 0);
  job.ready_seconds = mix_seconds(fields, "ready", job.compute_seconds);
  job.start_seconds = mix_seconds(fields, "start", 0);
  job.iterations = fields.integer("iterations", 1, kMostMixIterations).value_or(1);
  if (job.ready_seconds > job.compute_seconds)
    fields.reject("ready", "at most what compute is: a point within it");
  return job;
}

}  // namespace

Result<NetworkMix> read_network_mix(InputFile input) {
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  Diagnostics mistakes;
  NetworkMix mix;
  const YamlFields top{*document, document->root(), "file", kMixFileKeys, mistakes};
  if (top.is_usable()) {
    const auto list = top.find("jobs");
    if (!list || !list->is_list() || list->items().empty() || list->items().size() > kMostMixJobs) {
      top.reject("jobs", fmt::format("a list of 1 to {} jobs, such as - {{gpus: 16, collective: "
                                     "ring, bytes: 256MB}}",
                                     kMostMixJobs));
    } else {
      for (const YamlValue& item : list->items()) {
        if (mistakes.full()) break;
        const YamlFields fields{*document, item, "job", kMixJobKeys, mistakes};
        if (fields.is_usable()) mix.jobs.push_back(read_mix_job(fields, mix.jobs.size() + 1));
      }
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return mix;
}

}  // namespace weir::formats
