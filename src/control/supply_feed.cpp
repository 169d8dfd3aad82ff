// SPDX-License-Identifier: Apache-2.0
#include "control/supply_feed.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "formats/supply_csv.h"
#include "transport/http_client.h"

namespace weir::control {
namespace {

constexpr Duration kSupplyDay = std::chrono::hours{24};
constexpr Duration kDaysAhead = 33 * kSupplyDay;
constexpr Duration kLookAtFileEvery = std::chrono::seconds{2};
constexpr std::size_t kMostFeedBytes = std::size_t{64} << 20;

Error feed_problem(const std::string& url, std::string found) {
  Diagnostics details;
  details.add({url, 0, "supply", std::move(found), "a series as CSV"});
  return Error{ErrorCode::unavailable, std::move(details)};
}

std::string in_one_line(const Error& error) {
  std::string text = to_string(error.details);
  while (text.ends_with('\n')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

}  // namespace

SupplySeries days_around(const SupplySeries& series, Time now) {
  if (series.empty() || series.end() - series.begin() <= kDaysAhead + 2 * kSupplyDay) return series;
  const Duration today = now.time_since_epoch() - now.time_since_epoch() % kSupplyDay;
  const Time last_begin = series.end() - 2 * kSupplyDay;
  const Time begin = std::clamp(Time{today} - kSupplyDay, series.begin(), last_begin);
  const Time end = std::min(begin + kDaysAhead + kSupplyDay, series.end());
  const auto first = static_cast<std::size_t>((begin - series.begin()) / series.step());
  const auto count = static_cast<std::size_t>((end - begin) / series.step());
  const auto from = series.values().begin() + static_cast<std::ptrdiff_t>(first);
  return {series.begin() + series.step() * static_cast<std::int64_t>(first), series.step(),
          std::vector<double>(from, from + static_cast<std::ptrdiff_t>(
                                               std::min(count, series.values().size() - first)))};
}

SupplyFeed::SupplyFeed(formats::SupplySource source, Listener listener, const ClockSource& clocks)
    : source_{std::move(source)},
      listener_{std::move(listener)},
      clocks_{clocks},
      began_{clocks.wall()} {
  state_.source = source_.url.empty() ? source_.file.string() : source_.url;
}

Result<std::unique_ptr<SupplyFeed>> SupplyFeed::start(formats::SupplySource source,
                                                      Listener listener,
                                                      const ClockSource& clocks) {
  std::unique_ptr<SupplyFeed> feed{new SupplyFeed{std::move(source), std::move(listener), clocks}};
  if (feed->source_.url.empty()) {
    feed->file_has_changed();
    if (auto error = feed->read_file()) return tl::unexpected<Error>(std::move(*error));
  } else {
    feed->ask();
  }
  feed->told_ = feed->current();
  feed->thread_ = std::thread{[raw = feed.get()] { raw->run(); }};
  return feed;
}

SupplyFeed::~SupplyFeed() {
  {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
    stopping_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

SupplyNews SupplyFeed::news() const {
  const std::lock_guard lock{mutex_};
  return told_;
}

void SupplyFeed::run() {
  const Duration pause = source_.url.empty() ? kLookAtFileEvery : source_.every;
  while (true) {
    {
      std::unique_lock lock{mutex_};
      if (stopping_.wait_for(lock, pause, [&] { return is_stopping_; })) return;
    }
    ask();
    SupplyNews now = current();
    {
      const std::lock_guard lock{mutex_};
      const bool is_same =
          now.state == told_.state && now.kind == told_.kind && now.series == told_.series;
      if (is_same) continue;
      told_ = now;
    }
    listener_(now);
  }
}

void SupplyFeed::ask() {
  std::optional<Error> error;
  if (source_.url.empty()) {
    if (!is_failing_ && !file_has_changed()) return;
    file_has_changed();
    error = read_file();
  } else {
    error = ask_feed();
    // Until it answers for the first time, what the file says is better than nothing.
    if (error && !feed_has_answered_ && !source_.file.empty() &&
        (series_.empty() || file_has_changed())) {
      file_has_changed();
      if (auto also = read_file()) error->details.append(also->details);
    }
  }
  is_failing_ = error.has_value();
  if (error) ++state_.failures;
  state_.problem = error ? in_one_line(*error) : std::string{};
}

std::optional<Error> SupplyFeed::ask_feed() {
  const std::size_t host = source_.url.find("//") + 2;
  const std::size_t path = std::min(source_.url.find('/', host), source_.url.size());
  transport::HttpClientOptions options;
  options.base_url = source_.url.substr(0, path);
  options.expected_server = "a feed there";
  options.limits.connect_time = std::chrono::seconds{5};
  options.limits.total_time = std::chrono::seconds{20};
  options.limits.reply_bytes = kMostFeedBytes;
  transport::HttpClient client{options};
  const auto reply =
      client.get(path == source_.url.size() ? std::string{"/"} : source_.url.substr(path));
  if (!reply) return reply.error();
  if (!reply->succeeded())
    return feed_problem(source_.url, fmt::format("status {}", reply->status));
  auto input = formats::InputFile::from_memory(source_.url, reply->body);
  if (!input) return input.error();
  auto file = formats::read_supply(std::move(*input));
  if (!file) return file.error();
  if (file->kind.quantity == SupplyQuantity::power_cap)
    return feed_problem(source_.url, to_string(file->kind));
  feed_has_answered_ = true;
  adopt(std::move(*file));
  return std::nullopt;
}

std::optional<Error> SupplyFeed::read_file() {
  auto file = formats::read_supply(source_.file);
  if (!file) return file.error();
  if (file->kind.quantity == SupplyQuantity::power_cap) {
    Diagnostics details;
    details.add({source_.file.string(), 1, "unit", to_string(file->kind),
                 "carbon or a price: a cap is given as power_cap"});
    return Error{ErrorCode::bad_input, std::move(details)};
  }
  adopt(std::move(*file));
  return std::nullopt;
}

void SupplyFeed::adopt(formats::SupplyFile file) {
  kind_ = std::move(file.kind);
  series_ = std::move(file.series);
  state_.repairs = formats::to_lines(file.repairs);
  state_.read_at = clocks_.wall();
}

// By its size and time; a file that is gone is another one, too.
bool SupplyFeed::file_has_changed() {
  struct stat about {};
  std::int64_t stamp = -1;
  if (::stat(source_.file.c_str(), &about) == 0) {
    stamp = about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec + about.st_size +
            static_cast<std::int64_t>(about.st_ino);
  }
  return std::exchange(file_stamp_, stamp) != stamp;
}

SupplyNews SupplyFeed::current() const {
  const Time now = clocks_.wall();
  SupplyNews news{state_, kind_, days_around(series_, now)};
  std::optional<Time> since;
  if (is_failing_) since = state_.read_at.value_or(began_);
  if (is_failing_ && !source_.url.empty() && !feed_has_answered_) since = began_;
  if (!series_.empty() && series_.end() <= now) {
    since = std::min(since.value_or(series_.end()), series_.end());
    if (news.state.problem.empty())
      news.state.problem = "the series has ended; its last day repeats";
  }
  news.state.stale_since = since;
  return news;
}

}  // namespace weir::control
