// SPDX-License-Identifier: Apache-2.0
//
// Tells whoever watches of every record, in order and without gaps: each watcher has its place in the
// log, and one thread carries them forward from the store. A watcher that falls behind is served from
// the store at its own pace; one that cannot keep up at all is cut off and resumes later.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "control/store.h"
#include "transport/event_stream.h"

namespace weir::control {

class EventHub {
 public:
  // Requires: `reader` is used by nobody else.
  explicit EventHub(std::unique_ptr<StoreReader> reader, LogPosition end);
  ~EventHub();

  // Records beyond that number; those of one job only, if given.
  void watch(transport::EventStream stream, std::uint64_t after_record, std::optional<JobId> job);

  // There is more in the store.
  void advance(LogPosition end);
  // Where the log ends, as far as the hub knows.
  LogPosition end() const;
  std::size_t watchers() const;

  void stop();

 private:
  struct Watcher {
    transport::EventStream stream;
    std::uint64_t after_record = 0;
    std::uint64_t after_entry = 0;
    bool has_entry = false;  // after_entry was looked up
    std::optional<JobId> job;
  };

  void run();
  // False when the stream has ended.
  bool carry_forward(Watcher& watcher, LogPosition end);

  std::unique_ptr<StoreReader> reader_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watcher> watchers_;
  std::vector<Watcher> arriving_;
  std::size_t being_served_ = 0;  // in the thread's hands, in none of the lists
  LogPosition end_;
  bool is_stopping_ = false;
  std::thread thread_;
};

// The number and the type of a record's line; nothing when it is not one.
struct RecordLineHead {
  std::uint64_t seq = 0;
  std::string_view type;
};
std::optional<RecordLineHead> record_line_head(std::string_view line);

}  // namespace weir::control
