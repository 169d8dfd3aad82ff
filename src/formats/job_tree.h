// SPDX-License-Identifier: Apache-2.0
//
// A job document before it is understood: maps, lists and scalars with their lines, the same
// whether it was written as JSON or as YAML. JSON tells numbers from strings; in YAML every scalar
// is a word that may be either.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "formats/yaml_document.h"

namespace weir::formats {

class JsonCursor;

class JobTree {
 public:
  enum class Kind : std::uint8_t { null, word, string, number, boolean, list, map };

  struct Node {
    Kind kind = Kind::null;
    std::uint64_t line = 0;
    std::string_view text;  // of scalars
    std::string_view key;   // of a map's members
    std::size_t next = 0;   // behind the last node inside of this one
  };

  // Requires: the text outlives the tree.
  static Result<JobTree> from_json(std::string_view text, std::string source_name, int max_depth);
  // Requires: the document outlives the tree.
  static JobTree from_yaml(const YamlDocument& document);
  // A part of a document that is read in another way.
  static JobTree from_yaml(const YamlValue& value, std::string source_name);

  const std::string& source_name() const { return source_name_; }
  const Node& root() const { return nodes_.front(); }
  // Of a list or map.
  std::vector<const Node*> children(const Node& parent) const;

  // The node may be read as that.
  static bool is_text(const Node& node) {
    return node.kind == Kind::string || node.kind == Kind::word;
  }
  static bool is_number(const Node& node) {
    return node.kind == Kind::number || node.kind == Kind::word;
  }
  static bool is_truth(const Node& node) {
    return node.kind == Kind::boolean || node.kind == Kind::word;
  }
  // For a Diagnostic's `found`.
  static std::string describe(const Node& node);

 private:
  bool add_json(JsonCursor& json, std::string_view key);
  void add_yaml(const YamlValue& value, std::string_view key);
  std::uint64_t line_at(std::size_t offset);

  std::string source_name_;
  std::string_view text_;  // of JSON
  std::size_t counted_to_ = 0;
  std::uint64_t line_ = 1;  // of counted_to_
  std::vector<Node> nodes_;
  std::deque<std::string> unescaped_;
};

using JobNode = JobTree::Node;

}  // namespace weir::formats
