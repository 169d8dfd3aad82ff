// SPDX-License-Identifier: Apache-2.0
#include "engine/local/run_token.h"

#include <algorithm>
#include <charconv>

namespace weir::engine {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}
template std::optional<std::uint64_t> parse_number(std::string_view);
template std::optional<std::uint32_t> parse_number(std::string_view);
template std::optional<std::int64_t> parse_number(std::string_view);
template std::optional<std::int32_t> parse_number(std::string_view);

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

std::string run_token(std::string_view store, RunKey run) {
  std::string token{store};
  token += '.';
  token += std::to_string(run.job);
  token += '.';
  token += std::to_string(run.generation);
  return token;
}

std::optional<RunKey> parse_run_token(std::string_view store, std::string_view token) {
  if (!token.starts_with(store) || token.size() <= store.size() || token[store.size()] != '.')
    return std::nullopt;
  token.remove_prefix(store.size() + 1);
  const std::size_t dot = token.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto job = parse_number<std::uint64_t>(token.substr(0, dot));
  const auto generation = parse_number<std::uint32_t>(token.substr(dot + 1));
  if (!job || !generation) return std::nullopt;
  return RunKey{*job, *generation};
}

}  // namespace weir::engine
