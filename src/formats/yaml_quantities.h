// SPDX-License-Identifier: Apache-2.0
//
// The kinds of value that weir's YAML files share, with the words that explain each to its author.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "domain/time.h"
#include "domain/units.h"
#include "formats/yaml_document.h"

namespace weir::formats {

// Of a map that says what a cluster or a workload is called.
inline constexpr std::array<std::string_view, 1> kNamingKeys{"name"};

// For YamlFields::get and require: the text itself if it will do.
std::optional<std::string_view> any_text(std::string_view text);
std::optional<std::string_view> plain_name(std::string_view text);
std::optional<std::string_view> model_name(std::string_view text);

// Zero when the key is absent or wrong; a wrong one (and an absent one, for require_*) is noted.
MilliCpu get_cpus(const YamlFields& fields, std::string_view key);
MilliCpu require_cpus(const YamlFields& fields, std::string_view key);
Mebibytes get_memory(const YamlFields& fields, std::string_view key);
Mebibytes require_memory(const YamlFields& fields, std::string_view key);

std::optional<Duration> get_duration(const YamlFields& fields, std::string_view key);

}  // namespace weir::formats
