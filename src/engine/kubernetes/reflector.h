// SPDX-License-Identifier: Apache-2.0
//
// Keeps a copy of all objects of one kind equal to the server's: lists them once, then watches what changes, and
// finds its way back after everything that can go wrong. A state machine without threads, clocks or connections:
//
//   while (!stopped) {
//     const ReflectorStep step = reflector.next(now);
//     // do what it says, and tell:
//     //   wait    nothing; sleep for step.wait
//     //   get     reflector.on_reply(reply, now)
//     //   watch   reflector.on_watch_begin(now) when it is granted, reflector.on_bytes(bytes, now)...,
//     //           then reflector.on_watch_end(reply, now)
//   }
//
// The rules (and what would go wrong otherwise):
//   * A list may come in pages, of one moment. When that moment is forgotten (410), it begins again, in one piece.
//   * A complete list replaces everything at once: what is not in it was deleted while nobody looked.
//   * A watch goes on from the version of the last event or bookmark. Its end is normal and no reason to list again.
//   * 410, as an answer or as an event: the server has forgotten that version. List again.
//   * A line that cannot be read: an event is lost, so list again.
//   * 403 and 404 are states to wait in, asked again once a minute. All else waits 0.8 s, then twice as long each
//     time up to 30 s, give or take a quarter, or as long as the server says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "domain/seeded_rng.h"
#include "engine/kubernetes/read_objects.h"
#include "engine/kubernetes/source_status.h"
#include "engine/kubernetes/watch_lines.h"
#include "transport/http_client.h"

namespace weir::engine::kubernetes {

// Who keeps the copy.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  // These are all there are.
  virtual void replace(std::vector<AnyObject> objects, Time now) = 0;
  // New, or another version of one that is there.
  virtual void put(WatchEventType type, std::string key, AnyObject object, Time now) = 0;
  virtual void erase(const std::string& key, Time now) = 0;
  // Bookmarks: nothing changed, but the server is there.
  virtual void heard(WatchEventType type, Time now) = 0;
  // Around each line of a watch, for who measures.
  virtual void line_begins() {}
  virtual void line_ends() {}
  virtual void report(const SourceStatus& status) = 0;
  // A state that a person should know of: "pods: forbidden: ...".
  virtual void say(std::string line) = 0;
};

struct ReflectorSettings {
  std::uint32_t page_size = 500;
  Duration first_wait = std::chrono::milliseconds{800};
  Duration longest_wait = std::chrono::seconds{30};
  Duration slow_wait = std::chrono::seconds{60};  // after 403 and 404
  std::uint32_t shortest_watch_s = 300;
  std::uint32_t longest_watch_s = 600;
};

struct ReflectorStep {
  enum class What : std::uint8_t { wait, get, watch };
  What what = What::wait;
  Duration wait{};   // of `wait`
  std::string path;  // of the others
};

class Reflector {
 public:
  // Requires: the sink outlives it.
  Reflector(ResourceKind kind, ReflectorSettings settings, SeededRng rng, ReflectorSink& sink);

  ReflectorStep next(Time now);

  void on_reply(const Result<transport::HttpReply>& reply, Time now);
  void on_watch_begin(Time now);
  // False: this stream is of no use any more, end it.
  bool on_bytes(std::string_view bytes, Time now);
  void on_watch_end(const Result<transport::HttpReply>& reply, Time now);

  const SourceStatus& status() const { return status_; }

 private:
  enum class Stage : std::uint8_t { discover, list, watch };

  std::string list_path() const;
  std::string watch_path();
  void on_discovery(const Result<transport::HttpReply>& reply, Time now);
  void on_page(const Result<transport::HttpReply>& reply, Time now);
  void finish_list(std::string version, Time now);
  void begin_list();
  bool on_line(std::string_view line, Time now);
  bool on_event(WatchEvent event, Time now);
  bool on_error_event(const ServerStatus& status, Time now);

  // What follows a failed request.
  void on_failure(const Result<transport::HttpReply>& reply, Time now);
  void lose_history(const std::string& why, Time now);
  void wait_and_retry(std::string why, Duration at_least, Time now);
  void be_forbidden(const std::string& why, Time now);
  void be_absent(const std::string& why, Time now);
  void set_state(SourceState state, std::string detail, Time now);
  void note_mistake(const std::string& what);
  Duration backoff();

  const ResourceKindInfo& info_;
  ReflectorSettings settings_;
  SeededRng rng_;
  ReflectorSink& sink_;
  ObjectReader reader_;
  WatchLines lines_;
  SourceStatus status_;

  Stage stage_ = Stage::list;
  Duration wait_{};             // before the next step
  std::uint32_t failures_ = 0;  // in a row

  std::size_t version_index_ = 0;  // of info_.versions
  std::vector<AnyObject> listed_;  // the pages so far
  std::string continue_token_;
  bool is_list_in_one_piece_ = false;
  std::string version_;  // to watch from

  // Of the watch that is open.
  bool has_ended_itself_ = false;  // because of what it carried; the next stage is chosen
  bool has_heard_ = false;         // something came
  Time watch_begun_;
};

}  // namespace weir::engine::kubernetes
