// SPDX-License-Identifier: Apache-2.0
#include "formats/job_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "domain/nearest_name.h"
#include "formats/json_string.h"
#include "formats/quantity_text.h"

namespace weir::formats {

JobFields::JobFields(const JobTree& tree, const Node& map, std::span<const std::string_view> keys,
                     Diagnostics& mistakes, std::string_view what, std::string_view prefix)
    : tree_{tree}, map_{map}, mistakes_{mistakes}, prefix_{prefix} {
  if (map.kind != JobTree::Kind::map) {
    note(map, std::string{what}, JobTree::describe(map),
         fmt::format("a map with some of the fields {}", fmt::join(keys, ", ")));
    return;
  }
  is_usable_ = true;
  members_ = tree.children(map);
  check_keys(keys);
}

void JobFields::check_keys(std::span<const std::string_view> keys) {
  for (std::size_t i = 0; i < members_.size() && !mistakes_.full(); ++i) {
    const Node& member = *members_[i];
    const auto end = members_.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(keys.begin(), keys.end(), member.key) == keys.end()) {
      std::string expected = fmt::format("one of {}", fmt::join(keys, ", "));
      if (const auto meant = nearest_name(member.key, keys)) {
        expected += fmt::format("; did you mean {}?", *meant);
        misspelt_.push_back(*meant);
      }
      note(member, named("field"), member.key.empty() ? "an empty text" : shortened(member.key),
           expected);
    } else if (std::any_of(members_.begin(), end,
                           [&](const Node* other) { return other->key == member.key; })) {
      note(member, named(member.key), "given twice", "one value");
    }
  }
}

const JobTree::Node* JobFields::find(std::string_view key) const {
  for (const Node* member : members_) {
    if (member->key == key) return member;
  }
  return nullptr;
}

std::optional<std::int64_t> JobFields::integer(std::string_view key, std::int64_t least,
                                               std::int64_t most) const {
  return get(key, JobTree::is_number, fmt::format("an integer from {} to {}", least, most),
             [&](std::string_view text) -> std::optional<std::int64_t> {
               const auto number = parse_integer(text);
               return number && *number >= least && *number <= most ? number : std::nullopt;
             });
}

void JobFields::reject(std::string_view key, std::string_view expected) const {
  if (const Node* const node = find(key)) {
    note(*node, named(key), JobTree::describe(*node), expected);
  } else if (std::find(misspelt_.begin(), misspelt_.end(), key) == misspelt_.end()) {
    note(map_, named(key), "", expected);
  }
}

void JobFields::note(const Node& node, std::string field, std::string found,
                     std::string_view expected) const {
  mistakes_.add(Diagnostic{tree_.source_name(), node.line, std::move(field), std::move(found),
                           std::string{expected}});
}

}  // namespace weir::formats
