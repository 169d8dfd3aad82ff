// SPDX-License-Identifier: Apache-2.0
#include "control/event_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace weir::control {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kHeartbeat = std::chrono::seconds{15};
constexpr auto kSlowPoll = std::chrono::milliseconds{50};  // for watchers whose buffer is full

// What stands after `key` up to the next comma, quote or brace.
std::string_view value_after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return {};
  const auto begin = at + key.size();
  return line.substr(begin, line.find_first_of(",\"}", begin) - begin);
}

bool is_about(std::string_view line, JobId job) {
  const auto payload = line.find("\"payload\":");
  if (payload == std::string_view::npos) return false;
  const std::string_view found = value_after(line.substr(payload), "{\"job\":");
  return found == fmt::format("{}", job.value);
}

}  // namespace

std::optional<RecordLineHead> record_line_head(std::string_view line) {
  RecordLineHead head;
  const std::string_view seq = value_after(line, "\"seq\":");
  const auto parsed = std::from_chars(seq.data(), seq.data() + seq.size(), head.seq);
  head.type = value_after(line, "\"type\":\"");
  if (seq.empty() || parsed.ec != std::errc{} || head.type.empty()) return std::nullopt;
  return head;
}

EventHub::EventHub(std::unique_ptr<StoreReader> reader, LogPosition end)
    : reader_{std::move(reader)}, end_{end}, thread_{[this] { run(); }} {}

EventHub::~EventHub() {
  stop();
}

void EventHub::stop() {
  {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void EventHub::watch(transport::EventStream stream, std::uint64_t after_record,
                     std::optional<JobId> job) {
  const std::lock_guard lock{mutex_};
  arriving_.push_back({std::move(stream), after_record, 0, false, job});
  changed_.notify_one();
}

void EventHub::advance(LogPosition end) {
  const std::lock_guard lock{mutex_};
  end_ = end;
  changed_.notify_one();
}

LogPosition EventHub::end() const {
  const std::lock_guard lock{mutex_};
  return end_;
}

std::size_t EventHub::watchers() const {
  const std::lock_guard lock{mutex_};
  return watchers_.size() + arriving_.size() + being_served_;
}

void EventHub::run() {
  std::uint64_t served = 0;  // entries up to here have been looked at
  auto next_heartbeat = Clock::now() + kHeartbeat;
  bool is_behind = false;
  while (true) {
    std::vector<Watcher> watchers;
    LogPosition end;
    {
      std::unique_lock lock{mutex_};
      const auto until = is_behind ? Clock::now() + kSlowPoll : next_heartbeat;
      changed_.wait_until(lock, until, [&] {
        return is_stopping_ || !arriving_.empty() || (end_.entry != served && !watchers_.empty());
      });
      if (is_stopping_) return;
      std::move(arriving_.begin(), arriving_.end(), std::back_inserter(watchers_));
      arriving_.clear();
      watchers = std::move(watchers_);
      watchers_.clear();
      being_served_ = watchers.size();
      end = end_;
    }
    const bool is_time = Clock::now() >= next_heartbeat;
    if (is_time) next_heartbeat = Clock::now() + kHeartbeat;
    is_behind = false;
    std::erase_if(watchers, [&](Watcher& watcher) {
      if (is_time && !watcher.stream.write_comment("still here")) return true;
      if (!carry_forward(watcher, end)) return true;
      is_behind = is_behind || watcher.after_record < end.record;
      return false;
    });
    served = end.entry;
    const std::lock_guard lock{mutex_};
    std::move(watchers.begin(), watchers.end(), std::back_inserter(watchers_));
    being_served_ = 0;
  }
}

bool EventHub::carry_forward(Watcher& watcher, LogPosition end) {
  if (!watcher.stream.is_open()) return false;
  if (!watcher.has_entry && watcher.after_record < end.record) {
    const auto entry = reader_->entry_after_record(watcher.after_record);
    if (!entry || !*entry) return true;
    watcher.after_entry = **entry - 1;
    watcher.has_entry = true;
  }
  while (watcher.after_record < end.record && watcher.stream.has_room()) {
    const auto entries = reader_->entries(watcher.after_entry, kEntriesAtOnce);
    if (!entries || entries->empty()) return true;
    for (const RawEntry& entry : *entries) {
      if (!watcher.stream.has_room()) return true;
      watcher.after_entry = entry.entry;
      for (const std::string& line : entry.record_lines) {
        const auto head = record_line_head(line);
        if (!head || head->seq <= watcher.after_record) continue;
        watcher.after_record = head->seq;
        if (watcher.job && !is_about(line, *watcher.job)) continue;
        if (!watcher.stream.write(fmt::format("{}", head->seq), head->type, line)) return false;
      }
    }
  }
  return true;
}

}  // namespace weir::control
