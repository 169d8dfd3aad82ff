// SPDX-License-Identifier: Apache-2.0
//
// The values of a JSON document, each with the path to it, and every mistake in them. No tree is
// built: a value is the stretch of text that it was written as, so a large document costs no more
// than its text.
//
//   JsonValues json{"plan.json", text};
//   if (const auto root = json.root()) {
//     const auto members = json.members(*root, kKeys);
//     const auto gpus = json.integer(members->at("gpus"), 1, 64);   // nothing when wrong, and noted
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/diagnostics.h"

namespace weir::formats {

struct JsonValue {
  std::string_view text;  // syntax that was checked
  std::string path;       // "stages[2].tp"; of the document itself: empty
};

class JsonValues {
 public:
  using Members = std::map<std::string_view, JsonValue, std::less<>>;

  // Requires: the text outlives the object and what it gives out.
  JsonValues(std::string file, std::string_view text) : file_{std::move(file)}, text_{text} {}

  // The document; nothing when it is not JSON, which is noted.
  std::optional<JsonValue> root();

  // Those of `keys` that an object has; empty when it is none. Others are passed over, twice the
  // same is noted. Requires: the keys outlive the result.
  Members members(const JsonValue& object, std::span<const std::string_view> keys);
  // Of a list with at most that many; otherwise nothing.
  std::optional<std::vector<std::string_view>> elements(const JsonValue& list, std::size_t most);

  std::optional<std::int64_t> integer(const JsonValue& value, std::int64_t least,
                                      std::int64_t most);
  // Above 0, up to `most`.
  std::optional<double> positive_number(const JsonValue& value, double most);
  // A string that may be shown to people.
  std::optional<std::string> name(const JsonValue& value);

  void reject(const JsonValue& value, std::string expected);
  void reject(const JsonValue& value, std::string found, std::string expected);
  // The object or document does not have the key.
  void reject_missing(const JsonValue& object, std::string_view key, std::string expected);

  Diagnostics& mistakes() { return mistakes_; }

 private:
  std::uint64_t line_of(std::string_view part) const;

  std::string file_;
  std::string_view text_;
  Diagnostics mistakes_;
};

// "stages[2]" and "stages[2].tp"
JsonValue element_of(const JsonValue& list, std::size_t index, std::string_view text);
std::string member_path(const JsonValue& object, std::string_view key);

bool is_json_list(std::string_view value);
// What a text is that is no JSON from `offset` on: "empty", "binary", "not JSON at byte 7".
std::string why_no_json(std::string_view text, std::size_t offset);
// Nothing when the value is not a number, or not a whole one within 64 bits.
std::optional<std::int64_t> json_integer(std::string_view value);

}  // namespace weir::formats
