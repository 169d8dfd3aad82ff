// SPDX-License-Identifier: Apache-2.0
#include "formats/job_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/job_document.h"
#include "formats/json_cursor.h"
#include "formats/json_string.h"
#include "formats/json_values.h"

namespace weir::formats {

std::uint64_t JobTree::line_at(std::size_t offset) {
  const std::string_view passed = text_.substr(counted_to_, offset - counted_to_);
  line_ += static_cast<std::uint64_t>(std::count(passed.begin(), passed.end(), '\n'));
  counted_to_ = offset;
  return line_;
}

bool JobTree::add_json(JsonCursor& json, std::string_view key) {
  const JsonKind kind = json.kind();
  const std::size_t at = nodes_.size();
  nodes_.push_back(Node{Kind::null, line_at(json.offset()), {}, key, 0});
  const auto kept = [&](std::string_view taken) {
    const bool is_in_text =
        taken.data() >= text_.data() && taken.data() + taken.size() <= text_.data() + text_.size();
    return is_in_text ? taken : std::string_view{unescaped_.emplace_back(taken)};
  };
  std::string_view text;
  bool truth = false;
  switch (kind) {
    case JsonKind::object:
      nodes_[at].kind = Kind::map;
      if (!json.enter_object()) return false;
      while (json.next_key()) {
        if (!add_json(json, kept(json.key()))) return false;
      }
      break;
    case JsonKind::array:
      nodes_[at].kind = Kind::list;
      if (!json.enter_array()) return false;
      while (json.next_element()) {
        if (!add_json(json, {})) return false;
      }
      break;
    case JsonKind::string:
      if (!json.take_string_view(text)) return false;
      nodes_[at].kind = Kind::string;
      nodes_[at].text = kept(text);
      break;
    case JsonKind::number:
      if (!json.take_number(nodes_[at].text)) return false;
      nodes_[at].kind = Kind::number;
      break;
    case JsonKind::boolean:
      nodes_[at].kind = Kind::boolean;
      if (json.take_bool(truth)) {
        nodes_[at].text = truth ? "true" : "false";
        break;
      }
      return json.skip_value(text);  // notes that it is none
    case JsonKind::null:
    case JsonKind::nothing:
      if (!json.skip_value(text)) return false;
      break;
  }
  nodes_[at].next = nodes_.size();
  return !json.is_broken();
}

Result<JobTree> JobTree::from_json(std::string_view text, std::string source_name, int max_depth) {
  if (text.size() > kMaxJobJsonBytes) {
    return bad_input(Diagnostic{std::move(source_name), 0, "text", "longer than 1 MiB",
                                "at most 1 MiB of JSON"});
  }
  JobTree tree;
  tree.source_name_ = std::move(source_name);
  tree.text_ = text;
  tree.nodes_.reserve(32);
  JsonCursor json{text, max_depth};
  if (tree.add_json(json, {}) && json.at_end()) return tree;
  const std::string expected =
      json.is_broken() ? std::string{json.why()} : std::string{"nothing after the document"};
  return bad_input(Diagnostic{tree.source_name_, json.line(), "text",
                              why_no_json(text, json.offset()), expected});
}

void JobTree::add_yaml(const YamlValue& value, std::string_view key) {
  const std::size_t at = nodes_.size();
  const Kind kind = value.is_map()    ? Kind::map
                    : value.is_list() ? Kind::list
                    : value.is_text() ? Kind::word
                                      : Kind::null;
  nodes_.push_back(Node{kind, value.line(), value.text(), key, 0});
  for (const YamlValue& item : value.items()) add_yaml(item, {});
  for (const auto& [name, member] : value.entries()) {
    // A key that is a list or a map is no field of ours; its words say so.
    add_yaml(member, name.is_text() ? name.text()
                                    : std::string_view{unescaped_.emplace_back(name.describe())});
  }
  nodes_[at].next = nodes_.size();
}

JobTree JobTree::from_yaml(const YamlValue& value, std::string source_name) {
  JobTree tree;
  tree.source_name_ = std::move(source_name);
  tree.add_yaml(value, {});
  return tree;
}

JobTree JobTree::from_yaml(const YamlDocument& document) {
  return from_yaml(document.root(), document.name());
}

std::vector<const JobTree::Node*> JobTree::children(const Node& parent) const {
  std::vector<const Node*> found;
  const auto first = static_cast<std::size_t>(&parent - nodes_.data()) + 1;
  for (std::size_t at = first; at < parent.next; at = nodes_[at].next) found.push_back(&nodes_[at]);
  return found;
}

std::string JobTree::describe(const Node& node) {
  switch (node.kind) {
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::null:
      return "nothing";
    case Kind::word:
    case Kind::string:
    case Kind::number:
    case Kind::boolean:
      break;
  }
  return node.text.empty() ? "an empty text" : shortened(node.text);
}

}  // namespace weir::formats
