// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/reflector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/kubernetes/api_client.h"

namespace weir::engine::kubernetes {
namespace {

using transport::HttpReply;

constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kGone = 410;
constexpr std::uint32_t kFailuresBeforeList = 5;
// A watch that is closed at once, again and again, must not become a busy loop.
constexpr Duration kShortWatch = std::chrono::seconds{1};

std::string describe(const Result<HttpReply>& reply) {
  if (!reply) {
    std::string text = to_string(reply.error().details);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  const ServerStatus status = read_status(reply->body);
  return fmt::format("{} {}: {}", reply->status, transport::reason_phrase(reply->status),
                     status.message);
}

// A server that is there and says no to this very request: asking again in a moment is of no use.
bool is_refusal(int status) {
  return status >= 400 && status < 500 && status != 401 && status != 408 && status != 429;
}

}  // namespace

Reflector::Reflector(ResourceKind kind, ReflectorSettings settings, SeededRng rng,
                     ReflectorSink& sink)
    : info_{info_of(kind)}, settings_{settings}, rng_{rng}, sink_{sink}, reader_{kind} {
  status_.kind = kind;
  stage_ = info_.is_optional ? Stage::discover : Stage::list;
}

ReflectorStep Reflector::next(Time now) {
  if (wait_ > Duration{}) return {ReflectorStep::What::wait, std::exchange(wait_, Duration{}), {}};
  switch (stage_) {
    case Stage::discover:
      return {ReflectorStep::What::get, {}, info_.discovery_path(info_.versions[version_index_])};
    case Stage::list:
      return {ReflectorStep::What::get, {}, list_path()};
    case Stage::watch:
      break;
  }
  lines_.restart();
  has_ended_itself_ = false;
  has_heard_ = false;
  watch_begun_ = now;
  ++status_.watches;
  return {ReflectorStep::What::watch, {}, watch_path()};
}

std::string Reflector::list_path() const {
  std::string path = info_.path(info_.versions[version_index_]);
  if (is_list_in_one_piece_) return path;
  path += fmt::format("?limit={}", settings_.page_size);
  if (!continue_token_.empty()) {
    path += "&continue=" + transport::percent_encoded(continue_token_);
  }
  return path;
}

std::string Reflector::watch_path() {
  const std::uint32_t spread = settings_.longest_watch_s - settings_.shortest_watch_s + 1;
  const std::uint64_t seconds = settings_.shortest_watch_s + rng_.below(spread);
  return fmt::format("{}?watch=1&resourceVersion={}&allowWatchBookmarks=true&timeoutSeconds={}",
                     info_.path(info_.versions[version_index_]),
                     transport::percent_encoded(version_), seconds);
}

void Reflector::on_reply(const Result<HttpReply>& reply, Time now) {
  if (reply) status_.bytes += reply->body.size();
  if (stage_ == Stage::discover) {
    on_discovery(reply, now);
  } else {
    on_page(reply, now);
  }
  sink_.report(status_);
}

void Reflector::on_discovery(const Result<HttpReply>& reply, Time now) {
  if (reply && reply->status == kNotFound) {
    if (++version_index_ < info_.versions.size()) return;
    be_absent(fmt::format("the server has no {}", info_.group), now);
    return;
  }
  if (!reply || !reply->succeeded()) {
    on_failure(reply, now);
    return;
  }
  const auto names = read_resource_names(reply->body);
  if (!names) {
    wait_and_retry(names.error(), {}, now);
  } else if (std::find(names->begin(), names->end(), info_.resource) == names->end()) {
    be_absent(fmt::format("the server has no {} in {}", info_.resource, info_.group), now);
  } else {
    failures_ = 0;
    begin_list();
  }
}

void Reflector::begin_list() {
  stage_ = Stage::list;
  listed_.clear();
  continue_token_.clear();
}

void Reflector::on_page(const Result<HttpReply>& reply, Time now) {
  if (reply && reply->status == kGone) {
    // The pages belong together and the server has forgotten what they were of.
    ++status_.lost;
    is_list_in_one_piece_ = true;
    begin_list();
    if (failures_++ > 0) wait_ = backoff();
    return;
  }
  if (!reply || !reply->succeeded()) {
    on_failure(reply, now);
    return;
  }
  auto page = reader_.page(reply->body);
  if (!page) {
    ++status_.errors;
    note_mistake(page.error());
    begin_list();
    wait_and_retry("the list could not be read: " + page.error(), {}, now);
    return;
  }
  if (page->mistakes > 0) {
    status_.mistakes += page->mistakes - 1;
    note_mistake(page->mistake);
  }
  std::move(page->objects.begin(), page->objects.end(), std::back_inserter(listed_));
  continue_token_ = std::move(page->continue_token);
  if (continue_token_.empty()) finish_list(std::move(page->version), now);
}

void Reflector::finish_list(std::string version, Time now) {
  sink_.replace(std::exchange(listed_, {}), now);
  version_ = std::move(version);
  stage_ = Stage::watch;
  is_list_in_one_piece_ = false;
  status_.is_known = true;
  ++status_.lists;
  set_state(SourceState::watching, "", now);
}

void Reflector::on_watch_begin(Time now) {
  if (status_.state != SourceState::watching) set_state(SourceState::watching, "", now);
}

bool Reflector::on_bytes(std::string_view bytes, Time now) {
  status_.bytes += bytes.size();
  if (has_ended_itself_) return false;
  const bool goes_on = lines_.put(bytes, [&](std::string_view line) {
    sink_.line_begins();
    const bool is_wanted = on_line(line, now);
    sink_.line_ends();
    return is_wanted;
  });
  if (lines_.is_too_long()) {
    ++status_.errors;
    note_mistake(fmt::format("a line of the watch is longer than {} bytes", kMaxWatchLine));
    lose_history("an event was too long to be read", now);
  }
  return goes_on;
}

bool Reflector::on_line(std::string_view line, Time now) {
  auto event = reader_.event(line);
  if (event) return on_event(std::move(*event), now);
  ++status_.errors;
  note_mistake(event.error());
  lose_history("an event could not be read: " + event.error(), now);
  return false;
}

bool Reflector::on_event(WatchEvent event, Time now) {
  if (event.type == WatchEventType::error) return on_error_event(event.status, now);
  if (event.version.empty() || (event.key.empty() && event.type != WatchEventType::bookmark)) {
    note_mistake("an event without a name or version");
    lose_history("an event has no name or version", now);
    return false;
  }
  has_heard_ = true;
  failures_ = 0;
  status_.last_event = now;
  version_ = std::move(event.version);
  if (status_.state != SourceState::watching) set_state(SourceState::watching, "", now);
  if (!event.mistake.empty()) note_mistake(event.mistake);
  if (event.type == WatchEventType::bookmark) {
    sink_.heard(event.type, now);
  } else if (event.type == WatchEventType::deleted) {
    sink_.erase(event.key, now);
  } else if (event.mistake.empty()) {
    sink_.put(event.type, std::move(event.key), std::move(event.object), now);
  }
  return true;
}

bool Reflector::on_error_event(const ServerStatus& status, Time now) {
  has_ended_itself_ = true;
  ++status_.errors;
  const std::string why = fmt::format("{} {}: {}", status.code, status.reason, status.message);
  if (status.code == kGone) {
    lose_history(why, now);
  } else {
    wait_and_retry(why, {}, now);
  }
  return false;
}

void Reflector::on_watch_end(const Result<HttpReply>& reply, Time now) {
  if (!has_ended_itself_) {
    if (reply && reply->status == kGone) {
      lose_history(describe(reply), now);
    } else if (!reply || !reply->succeeded()) {
      on_failure(reply, now);
    } else if (!has_heard_ && now - watch_begun_ < kShortWatch) {
      wait_and_retry("the server closes the watch at once", {}, now);
    } else if (status_.state != SourceState::watching) {
      set_state(SourceState::watching, "", now);
    }
  }
  sink_.report(status_);
}

void Reflector::on_failure(const Result<HttpReply>& reply, Time now) {
  ++status_.errors;
  if (reply && reply->status == kForbidden) {
    be_forbidden(read_status(reply->body).message, now);
    return;
  }
  if (reply && reply->status == kNotFound) {
    be_absent(describe(reply), now);
    return;
  }
  const Duration asked = reply ? retry_after(*reply).value_or(Duration{}) : Duration{};
  const bool is_useless = reply && is_refusal(reply->status);
  wait_and_retry(describe(reply), asked, now);
  // After a longer outage the server may have another history: look at everything.
  if (stage_ == Stage::watch && (is_useless || failures_ >= kFailuresBeforeList)) begin_list();
}

void Reflector::lose_history(const std::string& why, Time now) {
  has_ended_itself_ = true;
  ++status_.lost;
  begin_list();
  // The first time at once: it is a normal thing after a silence. Then not faster than other failures.
  if (failures_++ > 0) wait_ = backoff();
  set_state(SourceState::listing, why, now);
}

void Reflector::wait_and_retry(std::string why, Duration at_least, Time now) {
  ++failures_;
  wait_ = std::max(backoff(), at_least);
  set_state(SourceState::retrying, std::move(why), now);
}

void Reflector::be_forbidden(const std::string& why, Time now) {
  begin_list();
  wait_ = settings_.slow_wait;
  status_.is_known = true;
  set_state(SourceState::forbidden, why, now);
}

void Reflector::be_absent(const std::string& why, Time now) {
  begin_list();
  version_index_ = 0;
  if (info_.is_optional) stage_ = Stage::discover;
  wait_ = settings_.slow_wait;
  if (status_.state != SourceState::absent) sink_.replace({}, now);
  status_.is_known = true;
  set_state(SourceState::absent, why, now);
}

void Reflector::set_state(SourceState state, std::string detail, Time now) {
  const bool is_new = status_.state != state || status_.since == Time{};
  const bool is_bad = state == SourceState::forbidden || state == SourceState::retrying;
  if (is_new && is_bad) {
    sink_.say(fmt::format("{}: {}: {}", info_.name, to_string(state), detail));
  } else if (is_new && state == SourceState::watching && status_.lists + status_.errors > 1) {
    sink_.say(fmt::format("{}: watching again", info_.name));
  }
  if (is_new) status_.since = now;
  status_.state = state;
  status_.detail = std::move(detail);
  sink_.report(status_);
}

void Reflector::note_mistake(const std::string& what) {
  if (status_.mistakes++ == 0) sink_.say(fmt::format("{}: left out: {}", info_.name, what));
}

Duration Reflector::backoff() {
  const std::uint32_t doublings = std::min<std::uint32_t>(failures_ == 0 ? 0 : failures_ - 1, 16);
  const Duration wait =
      std::min(settings_.longest_wait, settings_.first_wait * (std::int64_t{1} << doublings));
  const auto quarter = static_cast<std::uint64_t>(wait.count() / 4);
  return wait - Duration{static_cast<std::int64_t>(quarter)} +
         Duration{static_cast<std::int64_t>(rng_.below(2 * quarter + 1))};
}

}  // namespace weir::engine::kubernetes
