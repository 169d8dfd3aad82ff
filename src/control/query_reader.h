// SPDX-License-Identifier: Apache-2.0
//
// The query's parameters, each known and read once; notes every mistake.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "domain/diagnostics.h"
#include "transport/http_message.h"
#include "transport/router.h"

namespace weir::control {

std::optional<std::int64_t> whole_number(std::string_view text);

class QueryReader {
 public:
  // Requires: the request outlives it.
  QueryReader(const transport::HttpRequest& request, std::initializer_list<std::string_view> known);

  bool has(std::string_view name) const { return request_.query_value(name).has_value(); }
  std::int64_t number(std::string_view name, std::int64_t fallback, std::int64_t least,
                      std::int64_t most);
  std::string choice(std::string_view name, std::string_view fallback,
                     std::initializer_list<std::string_view> choices);
  std::string text(std::string_view name) const;
  // Notes those that are given although that one is.
  void refuse_beside(std::string_view name, std::initializer_list<std::string_view> others);

  // Answers 400 when there were mistakes.
  bool is_refused(transport::Responder& responder) const;

 private:
  void note(std::string_view name, std::string_view found, std::string expected);

  const transport::HttpRequest& request_;
  Diagnostics mistakes_;
};

}  // namespace weir::control
