// SPDX-License-Identifier: Apache-2.0
#include "formats/traffic_yaml.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "formats/yaml_document.h"

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 1> kTrafficFileKeys{"traffic"};
constexpr std::array<std::string_view, 5> kTrafficKeys{"model", "all_reduce", "all_to_all",
                                                       "all_gather", "pattern"};
constexpr std::size_t kMostTrafficKinds = 10'000;
constexpr std::int32_t kWholeIteration = 1'000'000;
constexpr std::string_view kPartRule = "a part of an iteration, 0 to 1, such as 0.23";
constexpr std::string_view kOtherModels = "other";

std::optional<std::int32_t> parse_part(std::string_view text) {
  double part = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!(part >= 0 && part <= 1)) return std::nullopt;
  return static_cast<std::int32_t>(std::lround(part * kWholeIteration));
}

std::optional<bool> parse_pattern(std::string_view text) {
  if (text == "halving-doubling") return true;
  if (text == "ring") return false;
  return std::nullopt;
}

std::optional<std::string> parse_model(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional{std::string{text}};
}

KindTraffic read_kind_traffic(const YamlFields& fields) {
  KindTraffic kind;
  kind.model = fields.require("model", "a model's name, or other", parse_model).value_or("");
  if (kind.model == kOtherModels) kind.model.clear();
  kind.all_reduce = fields.get("all_reduce", kPartRule, parse_part).value_or(0);
  kind.all_to_all = fields.get("all_to_all", kPartRule, parse_part).value_or(0);
  kind.all_gather = fields.get("all_gather", kPartRule, parse_part).value_or(0);
  kind.halves_and_doubles =
      fields.get("pattern", "halving-doubling or ring", parse_pattern).value_or(true);
  if (kind.all_reduce + kind.all_to_all + kind.all_gather > kWholeIteration) {
    fields.note(fields.line(), "all_reduce + all_to_all + all_gather",
                fmt::format("{:.6g}", (kind.all_reduce + kind.all_to_all + kind.all_gather) / 1e6),
                "at most 1: a whole iteration");
  }
  return kind;
}

}  // namespace

Result<std::vector<KindTraffic>> read_traffic_yaml(InputFile input) {
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  Diagnostics mistakes;
  std::vector<KindTraffic> kinds;
  const YamlFields top{*document, document->root(), "file", kTrafficFileKeys, mistakes};
  if (top.is_usable()) {
    const auto list = top.find("traffic");
    if (!list || !list->is_list() || list->items().empty() ||
        list->items().size() > kMostTrafficKinds) {
      top.reject("traffic", "a list such as - {model: vgg16, all_reduce: 0.23}");
    } else {
      std::set<std::string> seen;
      for (const YamlValue& item : list->items()) {
        if (mistakes.full()) break;
        const YamlFields fields{*document, item, "traffic", kTrafficKeys, mistakes};
        if (!fields.is_usable()) continue;
        kinds.push_back(read_kind_traffic(fields));
        if (!seen.insert(kinds.back().model).second)
          fields.reject("model", "another model: this one was described before");
      }
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return kinds;
}

}  // namespace weir::formats
