// SPDX-License-Identifier: Apache-2.0
//
// Where a server hears what a kilowatt-hour costs: a feed over HTTP that is asked every few minutes,
// a file that is read again when it changes, or a feed with a file for as long as it has never
// answered. Nothing waits for it: while the source is down, what was known last stays (a series goes
// on as its last day), and that is told, as is that it is back.
//
// Of a long series only the days around now are passed on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "control/live_clock.h"
#include "domain/result.h"
#include "domain/supply_kind.h"
#include "domain/supply_series.h"
#include "formats/energy_yaml.h"
#include "formats/supply_csv.h"

namespace weir::control {

struct SupplyState {
  std::string source;                // as the operator wrote it
  std::optional<Time> read_at;       // when it last answered, on the wall clock
  std::optional<Time> stale_since;   // it does not answer, or what it said has ended
  std::string problem;               // why, for people; empty: none
  std::vector<std::string> repairs;  // what was mended in the series
  std::uint64_t failures = 0;        // since the server was started
  friend bool operator==(const SupplyState&, const SupplyState&) = default;
};

struct SupplyNews {
  SupplyState state;
  SupplyKind kind;
  SupplySeries series;  // empty: nothing is known yet
};

// The days around `now` of a series that is longer than that; they change once a day.
SupplySeries days_around(const SupplySeries& series, Time now);

class SupplyFeed {
 public:
  using Listener = std::function<void(const SupplyNews&)>;

  // Asks once before it returns. Bad input when there is only a file and it cannot be read: that is
  // the operator's mistake; a feed may be down. The listener is called from then on, from a thread of
  // the feed's own, when the series or the state is another.
  static Result<std::unique_ptr<SupplyFeed>> start(formats::SupplySource source, Listener listener,
                                                   const ClockSource& clocks = machine_clocks());
  ~SupplyFeed();
  SupplyFeed(const SupplyFeed&) = delete;
  SupplyFeed& operator=(const SupplyFeed&) = delete;

  // What is known now.
  SupplyNews news() const;

 private:
  SupplyFeed(formats::SupplySource source, Listener listener, const ClockSource& clocks);

  void run();
  void ask();
  std::optional<Error> ask_feed();
  std::optional<Error> read_file();
  void adopt(formats::SupplyFile file);
  bool file_has_changed();
  SupplyNews current() const;

  const formats::SupplySource source_;
  const Listener listener_;
  const ClockSource& clocks_;

  // Of the thread that asks.
  SupplyKind kind_;
  SupplySeries series_;
  SupplyState state_;
  bool feed_has_answered_ = false;
  bool is_failing_ = false;
  Time began_;
  std::int64_t file_stamp_ = 0;

  mutable std::mutex mutex_;
  SupplyNews told_;
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::control
