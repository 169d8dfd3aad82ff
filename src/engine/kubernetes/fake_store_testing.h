// SPDX-License-Identifier: Apache-2.0
//
// The store of an API server for tests: objects with versions, lists in pages of one moment, and a history of limited
// length. Answers as a real one does, as values: no connections, no threads.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/http_client.h"
#include "transport/request_target.h"

namespace weir::engine::kubernetes {

struct FakeObject {
  std::string uid;
  std::uint64_t version = 0;
  int value = 0;
  friend bool operator==(const FakeObject&, const FakeObject&) = default;
};
using FakeObjects = std::map<std::string, FakeObject>;  // by "namespace/name"

// What the cache must hold of them: {uid, version}.
using FakeVersions = std::map<std::string, std::pair<std::string, std::string>>;

inline transport::HttpReply fake_status(int code, std::string_view reason,
                                        std::string_view message) {
  return {code,
          {},
          fmt::format(R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure",)"
                      R"("message":"{}","reason":"{}","code":{}}})",
                      message, reason, code)};
}

class FakeStore {
 public:
  // `window`: how many changes are remembered.
  explicit FakeStore(std::size_t window) : window_{window} { remember(); }

  std::uint64_t version() const { return version_; }
  const FakeObjects& objects() const { return objects_; }
  FakeVersions versions() const {
    FakeVersions all;
    for (const auto& [key, object] : objects_) {
      all[key] = {object.uid, std::to_string(object.version)};
    }
    return all;
  }

  void put(const std::string& key, int value) {
    const bool is_new = objects_.count(key) == 0;
    FakeObject& object = objects_[key];
    if (is_new) object.uid = fmt::format("uid-{}", version_ + 1);
    object.version = ++version_;
    object.value = value;
    add_event(is_new ? "ADDED" : "MODIFIED", key, object);
  }

  // The event shows the object with the version of its end.
  void erase(const std::string& key) {
    const auto at = objects_.find(key);
    if (at == objects_.end()) return;
    FakeObject last = at->second;
    last.version = ++version_;
    objects_.erase(at);
    add_event("DELETED", key, last);
  }

  // Something else in the cluster changed: versions go on, this kind does not.
  void pass_version() {
    ++version_;
    remember();
  }

  // Forgets the history, as a compaction does. Who is up to date stays so.
  void compact() {
    events_.clear();
    forgotten_ = version_;
    while (moments_.begin()->first < version_) moments_.erase(moments_.begin());
  }

  // "/api/v1/pods?limit=2&continue=..."
  transport::HttpReply list(std::string_view path) const {
    const std::size_t limit =
        std::strtoull(query(path, "limit").value_or("0").c_str(), nullptr, 10);
    const std::string token = query(path, "continue").value_or("");
    std::uint64_t moment = version_;
    std::string after;
    if (!token.empty()) {
      moment = std::strtoull(token.c_str(), nullptr, 10);
      after = token.substr(token.find('|') + 1);
    }
    const auto at = moments_.find(moment);
    if (at == moments_.end()) {
      return fake_status(410, "Expired", "The provided continue parameter is too old");
    }
    return page(*at->second, moment, after, limit);
  }

  // The lines of all changes after that version; nothing when they are forgotten.
  std::optional<std::string> lines_after(std::uint64_t version) const {
    if (version < forgotten_) return std::nullopt;
    std::string lines;
    for (const auto& [at, line] : events_) {
      if (at > version) lines += line;
    }
    return lines;
  }
  std::string bookmark() const {
    return fmt::format(
        R"({{"type":"BOOKMARK","object":{{"kind":"Pod","apiVersion":"v1","metadata":)"
        R"({{"resourceVersion":"{}","creationTimestamp":null}},"spec":{{"containers":null}},"status":{{}}}}}})"
        "\n",
        version_);
  }
  static std::string gone_line() {
    return R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
           R"("message":"too old resource version: 1, the oldest is 10","reason":"Expired","code":410}})"
           "\n";
  }

  static std::optional<std::string> query(std::string_view path, std::string_view name) {
    std::string mistake;
    const auto target = transport::parse_request_target(path, mistake);
    if (!target) return std::nullopt;
    for (const auto& [key, value] : target->query) {
      if (key == name) return value;
    }
    return std::nullopt;
  }

  static std::string json_of(const std::string& key, const FakeObject& object) {
    const std::size_t slash = key.find('/');
    return fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"{}","uid":"{}","resourceVersion":"{}",)"
        R"("creationTimestamp":"2026-11-15T09:00:00Z","labels":{{"value":"{}"}}}},)"
        R"("spec":{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{}m"}}}}}}]}},)"
        R"("status":{{"phase":"Pending"}}}})",
        key.substr(slash + 1), key.substr(0, slash), object.uid, object.version, object.value,
        object.value);
  }

 private:
  void add_event(std::string_view type, const std::string& key, const FakeObject& object) {
    events_.emplace_back(
        version_, fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, json_of(key, object)));
    while (events_.size() > window_) {
      forgotten_ = events_.front().first;
      events_.pop_front();
    }
    remember();
  }

  void remember() {
    moments_[version_] = std::make_shared<const FakeObjects>(objects_);
    while (moments_.size() > window_ + 1) moments_.erase(moments_.begin());
  }

  static transport::HttpReply page(const FakeObjects& all, std::uint64_t moment,
                                   const std::string& after, std::size_t limit) {
    std::string items;
    std::string next;
    std::size_t count = 0;
    for (auto at = all.upper_bound(after); at != all.end(); ++at) {
      if (limit > 0 && count == limit) {
        next = fmt::format(R"(,"continue":"{}|{}")", moment, std::prev(at)->first);
        break;
      }
      items += (count++ > 0 ? "," : "") + json_of(at->first, at->second);
    }
    return {200,
            {},
            fmt::format(R"({{"kind":"List","metadata":{{"resourceVersion":"{}"{}}},"items":[{}]}})",
                        moment, next, items)};
  }

  std::size_t window_;
  std::uint64_t version_ = 1;
  std::uint64_t forgotten_ = 0;  // changes up to this version are not known any more
  FakeObjects objects_;
  std::deque<std::pair<std::uint64_t, std::string>> events_;
  std::map<std::uint64_t, std::shared_ptr<const FakeObjects>> moments_;
};

}  // namespace weir::engine::kubernetes
