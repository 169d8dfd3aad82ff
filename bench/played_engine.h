// SPDX-License-Identifier: Apache-2.0
//
// An engine that only plays: nothing runs, but everything is reported as if it did, in real time. For benchmarks and
// browser tests at sizes that no test machine has.
//
// What a job does stands in its command: `train MODEL ITERATIONS` works at the model's rate for its GPUs, any other is
// over after `sleep SECONDS`. A job is ready a moment after its order. It ends by itself when its work is done; one in
// forty fails. Progress is reported when somebody asks for it, so that a benchmark can choose how much there is.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "domain/curve.h"
#include "domain/engine.h"
#include "domain/seeded_rng.h"

namespace weir::bench {

class PlayedEngine final : public Engine {
 public:
  // `models`: how fast each trains.
  PlayedEngine(std::map<std::string, Curve> models, std::uint64_t seed);
  ~PlayedEngine() override;

  void start(std::vector<RunOrder> standing, EngineListener& listener) override;
  void order(const RunOrder& order) override;
  void forget(JobId job) override;
  Result<LogChunk> read_log(const LogPlace& place, std::size_t most_bytes) override;
  void remove_logs(const std::vector<JobId>& jobs) override;
  void stop() override;

  // The next so many jobs that train tell how far they are, one after the other. How many did; fewer when fewer train.
  std::size_t report_progress(std::size_t reports);

  std::size_t running() const;     // ready, or about to be
  std::uint64_t ended() const;     // by themselves, since the start
  std::optional<JobId> any_job();  // one that runs, by chance

 private:
  using Clock = std::chrono::steady_clock;
  using Instant = Clock::time_point;

  struct Run {
    std::uint32_t generation = 0;
    std::int32_t gpus = 0;
    std::string model;  // empty: it does not train
    double total = 0;   // iterations, or seconds
    double rate = 1;    // of these per second
    double done = 0;    // before this generation
    Instant ordered;
    Instant ready;  // may be still to come
    bool is_running = false;
    std::size_t place = 0;  // in running_
  };
  enum class Step : std::uint8_t { ready, end };
  struct Due {
    Instant at;
    std::uint64_t number;  // first come, first served
    JobId job;
    std::uint32_t generation;
    Step step;
    friend bool operator<(const Due& a, const Due& b) {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  void work();
  void begin(Run& run, const RunOrder& order, Instant now);
  void halt(Run& run, Instant now);
  std::optional<RunReport> take(const Due& due);
  RunReport end_of(const Due& due, Run& run);
  RunReport progress_of(JobId job, const Run& run, Instant now) const;
  static double done_at(const Run& run, Instant now);
  void schedule(Instant at, JobId job, std::uint32_t generation, Step step);
  std::string log_of(JobId job, const Run& run, std::int32_t rank, Instant now) const;

  const std::map<std::string, Curve> models_;
  SeededRng rng_;
  EngineListener* listener_ = nullptr;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<JobId, Run> runs_;
  std::vector<JobId> running_;
  std::priority_queue<Due> due_;
  std::deque<RunReport> reports_;  // to be told now
  std::size_t next_to_report_ = 0;
  std::uint64_t numbers_ = 0;
  std::uint64_t ended_ = 0;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::bench
