// SPDX-License-Identifier: Apache-2.0
//
// A small, strict reading of YAML for weir's own files: maps, lists and text, each with its line.
// Every value is text; the reader of a field decides whether "010" or "yes" is what it wants.
//
// Input is not trusted. At most kMaxYamlBytes, kMaxYamlDepth levels deep, one document, no anchors
// and aliases (they can blow up memory), no tags, no control characters (yaml-cpp takes byte 4 for
// the end of the file). The document is kept flat, 20 bytes per value beside its text.
//
// yaml-cpp can hold back a [ ] or { } until it ends, at some 240 bytes of memory per byte of input
// (16 MiB of "{" took 3.8 GB). So kMaxYamlValueBytes without a complete value is an error.
//
// YamlFields reads one map with known keys and notes every mistake in it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

inline constexpr std::uint64_t kMaxYamlBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kMaxYamlValueBytes = std::uint64_t{1} << 20;
inline constexpr int kMaxYamlDepth = 8;

class YamlDocument;

// A value inside a YamlDocument, which must outlive it. Cheap to copy.
class YamlValue {
 public:
  bool is_empty() const;  // nothing after the colon, or null
  bool is_text() const;
  bool is_list() const;
  bool is_map() const;
  std::uint64_t line() const;
  std::string_view text() const;  // empty unless is_text()
  // For a Diagnostic's `found`: the text, "a list", "a map", or nothing.
  std::string describe() const;

  std::vector<YamlValue> items() const;                          // of a list, else none
  std::vector<std::pair<YamlValue, YamlValue>> entries() const;  // of a map, else none

 private:
  friend class YamlDocument;
  YamlValue(const YamlDocument& document, std::uint32_t index)
      : document_{&document}, index_{index} {}
  std::vector<YamlValue> children() const;

  const YamlDocument* document_;
  std::uint32_t index_;
};

class YamlDocument {
 public:
  // Files of other programs may be deeper than ours.
  static Result<YamlDocument> read(InputFile input, int max_depth = kMaxYamlDepth);

  const std::string& name() const { return name_; }
  // The whole document; empty when the file has none.
  YamlValue root() const { return YamlValue{*this, 0}; }

 private:
  friend class YamlValue;
  class Builder;

  enum class Kind : std::uint8_t { empty, text, list, map };
  struct Entry {
    Kind kind = Kind::empty;
    std::uint32_t line = 0;
    std::uint32_t next = 0;  // behind the last entry inside this one
    std::uint32_t text_begin = 0;
    std::uint32_t text_size = 0;
  };

  std::string name_;
  std::string text_;            // of all values, one behind the other
  std::vector<Entry> entries_;  // in document order; a map's are key, value, key, value
};

class YamlFields {
 public:
  // Notes in `mistakes` when `value` is no map, and every key that is unknown or given twice.
  // `what` names the map in messages. Requires: document, keys and mistakes outlive it.
  YamlFields(const YamlDocument& document, YamlValue value, std::string what,
             std::span<const std::string_view> keys, Diagnostics& mistakes);

  bool is_usable() const { return is_usable_; }
  std::uint64_t line() const { return value_.line(); }
  bool has(std::string_view key) const { return find(key).has_value(); }
  std::optional<YamlValue> find(std::string_view key) const;

  // What `parse` makes of the key's text. Nothing when the key is absent, or when its value is no
  // text or does not parse, which is noted.
  template <class Parse>
  auto get(std::string_view key, std::string_view expected, Parse parse) const
      -> decltype(parse(std::string_view{})) {
    const auto value = find(key);
    if (!value) return {};
    auto parsed = value->is_text() ? parse(value->text()) : decltype(parse(std::string_view{})){};
    if (!parsed) reject(key, expected);
    return parsed;
  }
  // The same for a key that must be there.
  template <class Parse>
  auto require(std::string_view key, std::string_view expected, Parse parse) const
      -> decltype(parse(std::string_view{})) {
    if (!has(key)) reject(key, expected);
    return get(key, expected, parse);
  }
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least,
                                      std::int64_t most) const;

  // Notes that the key's value is wrong, or missing when it is not there (unless a misspelt key was
  // noted in its place: one mistake, one line).
  void reject(std::string_view key, std::string_view expected) const;
  void note(std::uint64_t line, std::string_view field, std::string found,
            std::string_view expected) const;

 private:
  void check_keys(std::span<const std::string_view> keys);

  const YamlDocument& document_;
  YamlValue value_;
  std::string what_;
  Diagnostics& mistakes_;
  std::vector<std::pair<YamlValue, YamlValue>> entries_;
  std::vector<std::string_view> misspelt_;  // known keys that an unknown one probably means
  bool is_usable_ = false;
};

// Text as a YAML scalar that reads back equal: bare where that is safe, otherwise in double quotes.
// Requires: no control characters.
std::string yaml_scalar(std::string_view text);

}  // namespace weir::formats
