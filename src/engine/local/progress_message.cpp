// SPDX-License-Identifier: Apache-2.0
#include "engine/local/progress_message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "engine/local/run_token.h"

namespace weir::engine {
namespace {

using Json = nlohmann::json;
constexpr double kMostSeconds = 1e9;

const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<std::int64_t> count_of(const Json* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->get<double>();
  // The largest number below which a double counts exactly.
  constexpr double kMost = 9007199254740992.0;
  if (!(number >= 0) || number > kMost) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

void read_progress(const Json& line, JobMessage& message) {
  const auto step = count_of(member(line, "step"));
  if (step && (!message.step || *step >= *message.step)) {
    message.step = step;
    const Json* loss = member(line, "loss");
    message.loss = loss != nullptr && loss->is_number() && std::isfinite(loss->get<double>())
                       ? std::optional{loss->get<double>()}
                       : std::nullopt;
  }
  const Json* batch = member(line, "batch");
  if (batch == nullptr || !batch->is_array() || batch->size() != 3) return;
  message.batch = {count_of(&(*batch)[0]).value_or(0), count_of(&(*batch)[1]).value_or(0),
                   count_of(&(*batch)[2]).value_or(0)};
}

void read_event(const Json& line, JobMessage& message) {
  const Json* event = member(line, "event");
  if (event == nullptr || !event->is_string()) return;
  const auto& name = event->get_ref<const std::string&>();
  if (name == "started") message.has_started = true;
  if (name == "loaded") message.has_loaded = true;
  if (name != "saved") return;
  const Json* seconds = member(line, "seconds");
  const double took = seconds != nullptr && seconds->is_number() ? seconds->get<double>() : 0;
  message.saved = took > 0 && took < kMostSeconds ? Duration{static_cast<std::int64_t>(took * 1e9)}
                                                  : Duration{0};
}

// The numbers after the first words, each with its name.
template <class News, class Visit>
void for_each_number(News& news, Visit visit) {
  visit("start", news.start.start);
  visit("import", news.start.import);
  visit("load", news.start.load);
  visit("step", news.start.step);
  visit("warm", news.start.is_warm);
  visit("at", news.progress_at);
  visit("global", news.batch.global_batch);
  visit("local", news.batch.local_batch);
  visit("passes", news.batch.passes);
  visit("save", news.longest_save);
}

std::int64_t to_number(Duration value) {
  return value.count();
}
std::int64_t to_number(std::int64_t value) {
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Names that are not known, as a supervisor of another version may have, are ignored.
bool read_named(std::string_view word, RunNews& news) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  if (name == "loss") {
    news.loss = parse_real(value);
    return news.loss.has_value();
  }
  bool is_good = true;
  for_each_number(news, [&](std::string_view known, auto& place) {
    if (known != name) return;
    const auto parsed = parse_number<std::int64_t>(value);
    is_good = parsed.has_value();
    place = std::remove_reference_t<decltype(place)>(parsed.value_or(0));
  });
  return is_good;
}

}  // namespace

JobMessage read_job_message(std::string_view lines) {
  JobMessage message;
  while (!lines.empty()) {
    const std::string_view text = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), text.size() + 1));
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) continue;
    read_progress(line, message);
    read_event(line, message);
  }
  return message;
}

std::string encode(const RunNews& news) {
  std::string text = std::to_string(news.run.job) + " " + std::to_string(news.run.generation);
  text += news.is_ready ? " ready" : " starting";
  text += news.progress >= 0 ? " " + std::to_string(news.progress) : " -";
  for_each_number(news, [&](std::string_view name, const auto& value) {
    if (const std::int64_t number = to_number(value); number > 0)
      text += " " + std::string{name} + "=" + std::to_string(number);
  });
  if (news.loss) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *news.loss).ptr;
    text += " loss=" + std::string{digits.data(), end};
  }
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
  if (const std::string_view word = take_word(bytes); !word.empty() && word != "-") {
    const auto progress = parse_number<std::int64_t>(word);
    if (!progress) return std::nullopt;
    news.progress = *progress;
  }
  while (!bytes.empty())
    if (!read_named(take_word(bytes), news)) return std::nullopt;
  return news;
}

}  // namespace weir::engine
