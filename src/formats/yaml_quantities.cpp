// SPDX-License-Identifier: Apache-2.0
#include "formats/yaml_quantities.h"

#include "formats/input_ranges.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"

namespace weir::formats {
namespace {

constexpr std::string_view kCpusRule = "cores from 0 to 1000000, such as 96 or 0.5";
constexpr std::string_view kMemoryRule =
    "whole MiB up to 16384TiB with unit KiB, MiB, GiB or TiB, such as 384GiB";
constexpr std::string_view kDurationRule = "a duration up to 36525d in d, h, m, s, such as 2h30m";

std::optional<MilliCpu> cpus_in_range(std::string_view text) {
  const auto cpus = parse_cpus(text);
  return cpus && *cpus <= kMostCpu ? cpus : std::nullopt;
}

std::optional<Mebibytes> memory_in_range(std::string_view text) {
  const auto memory = parse_memory(text);
  return memory && *memory <= kMostMemory ? memory : std::nullopt;
}

std::optional<Duration> duration_in_range(std::string_view text) {
  const auto duration = parse_duration(text);
  return duration && *duration <= from_seconds(kMostSeconds) ? duration : std::nullopt;
}

}  // namespace

std::optional<std::string_view> any_text(std::string_view text) {
  return text;
}

std::optional<std::string_view> plain_name(std::string_view text) {
  return is_plain_name(text) ? std::optional{text} : std::nullopt;
}

std::optional<std::string_view> model_name(std::string_view text) {
  return is_model_name(text) ? std::optional{text} : std::nullopt;
}

MilliCpu get_cpus(const YamlFields& fields, std::string_view key) {
  return fields.get(key, kCpusRule, cpus_in_range).value_or(MilliCpu{});
}

MilliCpu require_cpus(const YamlFields& fields, std::string_view key) {
  return fields.require(key, kCpusRule, cpus_in_range).value_or(MilliCpu{});
}

Mebibytes get_memory(const YamlFields& fields, std::string_view key) {
  return fields.get(key, kMemoryRule, memory_in_range).value_or(Mebibytes{});
}

Mebibytes require_memory(const YamlFields& fields, std::string_view key) {
  return fields.require(key, kMemoryRule, memory_in_range).value_or(Mebibytes{});
}

std::optional<Duration> get_duration(const YamlFields& fields, std::string_view key) {
  return fields.get(key, kDurationRule, duration_in_range);
}

}  // namespace weir::formats
