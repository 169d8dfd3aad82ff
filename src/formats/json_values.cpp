// SPDX-License-Identifier: Apache-2.0
#include "formats/json_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "formats/json_cursor.h"
#include "formats/json_string.h"
#include "formats/plain_name.h"

namespace weir::formats {
namespace {

template <class Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// For a Diagnostic's `found`.
std::string describe(std::string_view value) {
  JsonCursor json{value};
  const JsonKind kind = json.kind();
  if (kind == JsonKind::number || kind == JsonKind::boolean) return shortened(value);
  std::string_view text;
  if (kind == JsonKind::string && json.take_string_view(text))
    return text.empty() ? "an empty text" : shortened(text);
  return std::string{to_string(kind)};
}

}  // namespace

JsonValue element_of(const JsonValue& list, std::size_t index, std::string_view text) {
  return {text, fmt::format("{}[{}]", list.path, index)};
}

std::string member_path(const JsonValue& object, std::string_view key) {
  return object.path.empty() ? std::string{key} : fmt::format("{}.{}", object.path, key);
}

bool is_json_list(std::string_view value) {
  return JsonCursor{value}.kind() == JsonKind::array;
}

std::optional<std::int64_t> json_integer(std::string_view value) {
  return whole_text_as<std::int64_t>(value);
}

std::optional<JsonValue> JsonValues::root() {
  JsonCursor json{text_};
  std::string_view document;
  if (json.skip_value(document) && json.at_end()) return JsonValue{document, ""};
  const std::string expected =
      json.is_broken() ? std::string{json.why()} : std::string{"nothing after the document"};
  mistakes_.add(
      Diagnostic{file_, json.line(), "text", why_no_json(text_, json.offset()), expected});
  return std::nullopt;
}

std::string why_no_json(std::string_view text, std::size_t offset) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "empty";
  if (text.find('\0') != std::string_view::npos) return "binary";
  return fmt::format("not JSON at byte {}", offset + 1);
}

JsonValues::Members JsonValues::members(const JsonValue& object,
                                        std::span<const std::string_view> keys) {
  Members found;
  JsonCursor json{object.text};
  if (!json.enter_object()) {
    reject(object, "an object");
    return found;
  }
  while (json.next_key()) {
    const auto key = std::find(keys.begin(), keys.end(), json.key());
    JsonValue value;
    json.skip_value(value.text);
    if (key == keys.end()) continue;
    value.path = member_path(object, *key);
    if (!found.emplace(*key, value).second) reject(value, "given twice", "it once");
  }
  return found;
}

std::optional<std::vector<std::string_view>> JsonValues::elements(const JsonValue& list,
                                                                  std::size_t most) {
  JsonCursor json{list.text};
  if (!json.enter_array()) {
    reject(list, "a list");
    return std::nullopt;
  }
  std::vector<std::string_view> found;
  while (json.next_element()) {
    if (found.size() == most) {
      reject(list, "longer", fmt::format("a list of at most {}", most));
      return std::nullopt;
    }
    json.skip_value(found.emplace_back());
  }
  return found;
}

std::optional<std::int64_t> JsonValues::integer(const JsonValue& value, std::int64_t least,
                                                std::int64_t most) {
  const auto number = json_integer(value.text);
  if (number && *number >= least && *number <= most) return number;
  reject(value, fmt::format("an integer from {} to {}", least, most));
  return std::nullopt;
}

std::optional<double> JsonValues::positive_number(const JsonValue& value, double most) {
  const auto number = whole_text_as<double>(value.text);
  if (number && *number > 0 && *number <= most) return number;
  reject(value, fmt::format("a number above 0, up to {:.0f}", most));
  return std::nullopt;
}

std::optional<std::string> JsonValues::name(const JsonValue& value) {
  JsonCursor json{value.text};
  std::string text;
  if (json.take_string(text) && is_plain_name(text)) return text;
  reject(value, std::string{kPlainNameRule});
  return std::nullopt;
}

void JsonValues::reject(const JsonValue& value, std::string expected) {
  reject(value, describe(value.text), std::move(expected));
}

void JsonValues::reject(const JsonValue& value, std::string found, std::string expected) {
  // Counting lines takes its time, so that not more is done for a mistake nobody will see.
  const std::uint64_t line = mistakes_.full() ? 0 : line_of(value.text);
  mistakes_.add(Diagnostic{file_, line, value.path.empty() ? "document" : value.path,
                           std::move(found), std::move(expected)});
}

void JsonValues::reject_missing(const JsonValue& object, std::string_view key,
                                std::string expected) {
  reject({object.text, member_path(object, key)}, "", std::move(expected));
}

std::uint64_t JsonValues::line_of(std::string_view part) const {
  return 1 + static_cast<std::uint64_t>(std::count(text_.data(), part.data(), '\n'));
}

}  // namespace weir::formats
