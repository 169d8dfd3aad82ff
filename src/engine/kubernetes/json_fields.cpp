// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/json_fields.h"

#include <fmt/format.h>

#include "formats/json_string.h"
#include "formats/time_text.h"

namespace weir::engine::kubernetes {

using simdjson::dom::element;
using simdjson::dom::element_type;

void FieldMistake::note(std::string_view where, std::string_view field, std::string_view found,
                        std::string_view expected) {
  if (!text.empty()) return;
  text = fmt::format("{}{}{} is {}, expected {}", where, where.empty() ? "" : ".", field, found,
                     expected);
}

std::string_view type_name(element found) {
  switch (found.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "true or false";
    case element_type::NULL_VALUE:
      return "null";
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      break;
  }
  return "a number";
}

JsonFields::JsonFields(element from, FieldMistake& mistake, std::string where)
    : mistake_{&mistake}, where_{std::move(where)} {
  simdjson::dom::object object;
  if (from.get(object) == simdjson::SUCCESS) {
    object_ = object;
  } else if (!from.is_null()) {
    mistake.note("", where_.empty() ? "the object" : where_, type_name(from), "an object");
  }
}

std::string JsonFields::path_of(std::string_view key) const {
  return where_.empty() ? std::string{key} : fmt::format("{}.{}", where_, key);
}

std::optional<element> JsonFields::find(std::string_view key) const {
  if (!object_) return std::nullopt;
  element found;
  if (object_->at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

void JsonFields::reject(std::string_view key, std::string_view found,
                        std::string_view expected) const {
  mistake_->note(where_, key, found, expected);
}

void JsonFields::reject_type(std::string_view key, element found, std::string_view expected) const {
  reject(key, type_name(found), expected);
}

JsonFields JsonFields::object(std::string_view key) const {
  const auto found = find(key);
  return found ? JsonFields{*found, *mistake_, path_of(key)} : JsonFields{*mistake_, path_of(key)};
}

std::string_view JsonFields::view(std::string_view key) const {
  const auto found = find(key);
  std::string_view text;
  if (found && found->get(text) != simdjson::SUCCESS) reject_type(key, *found, "a string");
  return text;
}

bool JsonFields::flag(std::string_view key) const {
  const auto found = find(key);
  bool value = false;
  if (found && found->get(value) != simdjson::SUCCESS) reject_type(key, *found, "true or false");
  return value;
}

std::optional<std::int64_t> JsonFields::integer_between(std::string_view key, std::int64_t least,
                                                        std::int64_t most) const {
  const auto found = find(key);
  if (!found) return std::nullopt;
  std::int64_t number = 0;
  if (found->get(number) != simdjson::SUCCESS) {
    reject_type(key, *found, "an integer");
    return std::nullopt;
  }
  if (number < least || number > most) {
    reject(key, std::to_string(number), fmt::format("an integer from {} to {}", least, most));
    return std::nullopt;
  }
  return number;
}

std::optional<Time> JsonFields::time(std::string_view key) const {
  const std::string_view text = view(key);
  if (text.empty()) return std::nullopt;
  const auto time = formats::parse_time(text);
  if (!time) {
    reject(key, fmt::format("\"{}\"", formats::shortened(text)),
           "a time such as 2026-11-15T09:00:00Z");
  }
  return time;
}

std::vector<std::string> JsonFields::texts(std::string_view key) const {
  std::vector<std::string> all;
  const auto found = find(key);
  if (!found) return all;
  simdjson::dom::array list;
  if (found->get(list) != simdjson::SUCCESS) {
    reject_type(key, *found, "a list");
    return all;
  }
  for (const element item : list) {
    std::string_view text;
    if (item.get(text) != simdjson::SUCCESS) {
      reject_type(fmt::format("{}[{}]", key, all.size()), item, "a string");
      return all;
    }
    all.emplace_back(text);
  }
  return all;
}

observe::Labels JsonFields::labels(std::string_view key) const {
  return labels(key, [](std::string_view) { return true; });
}

observe::Resources JsonFields::resources(std::string_view key) const {
  observe::Resources all;
  const JsonFields map = object(key);
  if (!map.is_there()) return all;
  for (const auto field : *map.object_) {
    // A quantity is a string, or a number where a client wrote one.
    std::string_view text;
    std::int64_t number = 0;
    if (field.value.is_null()) continue;
    if (field.value.get(number) == simdjson::SUCCESS) {
      all.set(field.key, observe::Quantity::of(number));
      continue;
    }
    if (field.value.get(text) != simdjson::SUCCESS) {
      map.reject_type(field.key, field.value, "a quantity such as \"500m\" or \"16Gi\"");
      return all;
    }
    const auto quantity = observe::read_quantity(text);
    if (!quantity) {
      map.reject(field.key, fmt::format("\"{}\"", formats::shortened(text)),
                 "a quantity such as \"500m\" or \"16Gi\"");
      return all;
    }
    all.set(field.key, *quantity);
  }
  return all;
}

std::vector<JsonFields> JsonFields::objects(std::string_view key) const {
  std::vector<JsonFields> all;
  const auto found = find(key);
  if (!found) return all;
  simdjson::dom::array list;
  if (found->get(list) != simdjson::SUCCESS) {
    reject_type(key, *found, "a list");
    return all;
  }
  all.reserve(list.size());
  for (const element item : list) {
    all.emplace_back(item, *mistake_, fmt::format("{}[{}]", path_of(key), all.size()));
  }
  return all;
}

}  // namespace weir::engine::kubernetes
