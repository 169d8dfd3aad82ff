// SPDX-License-Identifier: Apache-2.0
#include "control/query_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace weir::control {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return value;
}

QueryReader::QueryReader(const transport::HttpRequest& request,
                         std::initializer_list<std::string_view> known)
    : request_{request} {
  for (const auto& parameter : request.query) {
    const auto& name = parameter.first;
    const auto& value = parameter.second;
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      note(name, value, fmt::format("one of {}", fmt::join(known, ", ")));
    } else if (std::count_if(request.query.begin(), request.query.end(),
                             [&](const auto& other) { return other.first == name; }) > 1) {
      note(name, value, "to be given once");
    }
  }
}

std::int64_t QueryReader::number(std::string_view name, std::int64_t fallback, std::int64_t least,
                                 std::int64_t most) {
  const auto text = request_.query_value(name);
  if (!text) return fallback;
  const auto value = whole_number(*text);
  if (value && *value >= least && *value <= most) return *value;
  note(name, *text, fmt::format("a whole number from {} to {}", least, most));
  return fallback;
}

std::string QueryReader::choice(std::string_view name, std::string_view fallback,
                                std::initializer_list<std::string_view> choices) {
  const auto text = request_.query_value(name);
  if (!text) return std::string{fallback};
  if (std::find(choices.begin(), choices.end(), *text) == choices.end())
    note(name, *text, fmt::format("one of {}", fmt::join(choices, ", ")));
  return std::string{*text};
}

std::string QueryReader::text(std::string_view name) const {
  return std::string{request_.query_value(name).value_or("")};
}

void QueryReader::refuse_beside(std::string_view name,
                                std::initializer_list<std::string_view> others) {
  if (!has(name)) return;
  for (const std::string_view other : others) {
    if (const auto value = request_.query_value(other))
      note(other, *value, fmt::format("to be left out beside {}", name));
  }
}

bool QueryReader::is_refused(transport::Responder& responder) const {
  if (mistakes_.empty()) return false;
  responder.send(transport::problem(400, "", "the query has mistakes", mistakes_));
  return true;
}

void QueryReader::note(std::string_view name, std::string_view found, std::string expected) {
  mistakes_.add({"query", 0, std::string{name}, std::string{found}, std::move(expected)});
}

}  // namespace weir::control
