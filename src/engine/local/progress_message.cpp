// SPDX-License-Identifier: Apache-2.0
#include "engine/local/progress_message.h"

#include <algorithm>

namespace weir::engine {
namespace {

std::string_view skip_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

}  // namespace

std::optional<std::int64_t> parse_steps(std::string_view lines) {
  constexpr std::string_view kKey = "\"step\"";
  std::optional<std::int64_t> largest;
  for (std::size_t at = lines.find(kKey); at != std::string_view::npos; at = lines.find(kKey)) {
    lines = skip_spaces(lines.substr(at + kKey.size()));
    if (!lines.starts_with(':')) continue;
    lines = skip_spaces(lines.substr(1));
    const std::size_t digits = std::min(lines.find_first_not_of("0123456789"), lines.size());
    const auto step = parse_number<std::int64_t>(lines.substr(0, digits));
    if (step && (!largest || *step > *largest)) largest = step;
  }
  return largest;
}

std::string encode(const RunNews& news) {
  std::string text = std::to_string(news.run.job) + " " + std::to_string(news.run.generation);
  text += news.is_ready ? " ready" : " starting";
  if (news.progress >= 0) text += " " + std::to_string(news.progress);
  return text;
}

std::optional<RunNews> decode_run_news(std::string_view bytes) {
  RunNews news;
  const auto job = parse_number<std::uint64_t>(take_word(bytes));
  const auto generation = parse_number<std::uint32_t>(take_word(bytes));
  const std::string_view state = take_word(bytes);
  if (!job || !generation || (state != "ready" && state != "starting")) return std::nullopt;
  news.run = {*job, *generation};
  news.is_ready = state == "ready";
  if (!bytes.empty()) {
    const auto progress = parse_number<std::int64_t>(bytes);
    if (!progress) return std::nullopt;
    news.progress = *progress;
  }
  return news;
}

}  // namespace weir::engine
