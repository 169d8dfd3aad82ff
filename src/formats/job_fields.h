// SPDX-License-Identifier: Apache-2.0
//
// One map of a job document: finds its fields and notes every mistake in them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/diagnostics.h"
#include "formats/job_tree.h"

namespace weir::formats {

class JobFields {
 public:
  using Node = JobTree::Node;
  using KindTest = bool (*)(const Node&);

  // Notes when the node is no map, and every key that is unknown or given twice. `what` names the map
  // in messages, and `prefix` stands before its fields: "model.". Requires: tree, keys and mistakes
  // outlive it.
  JobFields(const JobTree& tree, const Node& map, std::span<const std::string_view> keys,
            Diagnostics& mistakes, std::string_view what = "job", std::string_view prefix = "");

  bool is_usable() const { return is_usable_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const Node* find(std::string_view key) const;
  const JobTree& tree() const { return tree_; }

  // What `parse` makes of the field's text. Nothing when it is absent, or when it is of another
  // kind or does not parse, which is noted.
  template <class Parse>
  auto get(std::string_view key, KindTest is_right_kind, std::string_view expected,
           Parse parse) const -> decltype(parse(std::string_view{})) {
    const Node* const node = find(key);
    if (node == nullptr) return {};
    auto parsed = is_right_kind(*node) ? parse(node->text) : decltype(parse(std::string_view{})){};
    if (!parsed) reject(key, expected);
    return parsed;
  }
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least,
                                      std::int64_t most) const;

  // The field's value is wrong, or it is missing (unless a misspelt key was noted in its place: one
  // mistake, one line).
  void reject(std::string_view key, std::string_view expected) const;
  void note(const Node& node, std::string field, std::string found,
            std::string_view expected) const;

 private:
  void check_keys(std::span<const std::string_view> keys);
  std::string named(std::string_view key) const { return prefix_ + std::string{key}; }

  const JobTree& tree_;
  const Node& map_;
  Diagnostics& mistakes_;
  std::string prefix_;
  std::vector<const Node*> members_;
  std::vector<std::string_view> misspelt_;  // known keys that an unknown one probably means
  bool is_usable_ = false;
};

}  // namespace weir::formats
