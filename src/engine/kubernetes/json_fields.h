// SPDX-License-Identifier: Apache-2.0
//
// Reading the fields of one JSON object that another program wrote: in any order, unknown ones ignored, absent or
// null ones left at what they are. A field of another type is a mistake; the first one is kept, with its path.
//
//   FieldMistake mistake;
//   const JsonFields pod{element, mistake};
//   const JsonFields spec = pod.object("spec");
//   node = spec.text("nodeName");
//
// For files that read JSON only: simdjson's header is large.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/time.h"
#include "observe/kubernetes/objects.h"

namespace weir::engine::kubernetes {

// "spec.containers[2].resources is a string, expected an object"
struct FieldMistake {
  std::string text;  // empty: none
  void note(std::string_view where, std::string_view field, std::string_view found,
            std::string_view expected);
};

std::string_view type_name(simdjson::dom::element element);

class JsonFields {
 public:
  // An element that is no object is a mistake.
  JsonFields(simdjson::dom::element element, FieldMistake& mistake, std::string where = "");

  bool is_there() const { return object_.has_value(); }
  bool has(std::string_view key) const { return find(key).has_value(); }

  // Nothing when absent or null.
  JsonFields object(std::string_view key) const;
  std::string_view view(std::string_view key) const;  // as long as the document
  std::string text(std::string_view key) const { return std::string{view(key)}; }
  bool flag(std::string_view key) const;
  template <class Integer>
  std::optional<Integer> integer(std::string_view key) const {
    const auto number = integer_between(key, std::numeric_limits<Integer>::min(),
                                        std::numeric_limits<Integer>::max());
    return number ? std::optional{static_cast<Integer>(*number)} : std::nullopt;
  }
  std::optional<Time> time(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  observe::Labels labels(std::string_view key) const;
  // Only those that `is_kept` says.
  template <class IsKept>
  observe::Labels labels(std::string_view key, IsKept is_kept) const {
    observe::Labels all;
    for_each_text(key, [&](std::string_view name, std::string_view value) {
      if (is_kept(name)) all.set(name, std::string{value});
    });
    return all;
  }
  observe::Resources resources(std::string_view key) const;
  // The objects of a list.
  std::vector<JsonFields> objects(std::string_view key) const;

  void reject(std::string_view key, std::string_view found, std::string_view expected) const;

 private:
  explicit JsonFields(FieldMistake& mistake, std::string where)
      : mistake_{&mistake}, where_{std::move(where)} {}

  std::optional<simdjson::dom::element> find(std::string_view key) const;
  std::optional<std::int64_t> integer_between(std::string_view key, std::int64_t least,
                                              std::int64_t most) const;
  void reject_type(std::string_view key, simdjson::dom::element found,
                   std::string_view expected) const;
  std::string path_of(std::string_view key) const;

  template <class Use>
  void for_each_text(std::string_view key, Use use) const {
    const JsonFields map = object(key);
    if (!map.is_there()) return;
    for (const auto field : *map.object_) {
      if (field.value.is_null()) continue;
      std::string_view value;
      if (field.value.get(value) != simdjson::SUCCESS) {
        map.reject_type(field.key, field.value, "a string");
        return;
      }
      use(field.key, value);
    }
  }

  std::optional<simdjson::dom::object> object_;
  FieldMistake* mistake_;
  std::string where_;
};

}  // namespace weir::engine::kubernetes
