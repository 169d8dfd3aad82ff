// SPDX-License-Identifier: Apache-2.0
#include "played_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace weir::bench {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kOneInSoManyFails = 40;
constexpr int kMostLogLines = 400;
constexpr double kShortestSeconds = 0.05;

std::chrono::steady_clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>{seconds});
}

// Falls like a loss does, with a little noise.
double loss_at(double done, double total, std::uint64_t salt) {
  const double part = total > 0 ? done / total : 0;
  return 0.3 + 4.2 * std::exp(-5 * part) + 0.02 * static_cast<double>(salt % 7);
}

}  // namespace

PlayedEngine::PlayedEngine(std::map<std::string, Curve> models, std::uint64_t seed)
    : models_{std::move(models)}, rng_{SeededRng{seed}.fork("played engine")} {}

PlayedEngine::~PlayedEngine() {
  stop();
}

void PlayedEngine::start(std::vector<RunOrder> standing, EngineListener& listener) {
  listener_ = &listener;
  for (const RunOrder& order : standing) this->order(order);
  thread_ = std::thread{[this] { work(); }};
}

void PlayedEngine::stop() {
  {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void PlayedEngine::order(const RunOrder& order) {
  const std::lock_guard lock{mutex_};
  Run& run = runs_[order.job];
  if (order.generation <= run.generation) return;
  const Instant now = Clock::now();
  halt(run, now);
  run.generation = order.generation;
  if (order.gpus.empty()) {
    reports_.push_back({order.job, order.generation, RunStopped{}});
    changed_.notify_one();
  } else {
    begin(run, order, now);
    run.place = running_.size();
    running_.push_back(order.job);
  }
}

// What it did stays done.
void PlayedEngine::halt(Run& run, Instant now) {
  if (!std::exchange(run.is_running, false)) return;
  run.done = done_at(run, now);
  runs_.at(running_.back()).place = run.place;
  running_[run.place] = running_.back();
  running_.pop_back();
}

void PlayedEngine::begin(Run& run, const RunOrder& order, Instant now) {
  const std::vector<std::string>& command = order.launch->command;
  run.gpus = static_cast<std::int32_t>(order.gpus.size());
  run.total = std::max(std::atof(command.back().c_str()), kShortestSeconds);
  run.rate = 1;
  if (const auto model = models_.find(command[1]); command.size() == 3 && model != models_.end()) {
    run.model = model->first;
    run.rate = static_cast<double>(model->second.rate_at(run.gpus).value) / 1e6;
  }
  run.rate = std::max(run.rate, 1e-3);
  run.ordered = now;
  run.ready = now + milliseconds{100 + static_cast<int>(rng_.below(400))};
  run.is_running = true;
  schedule(run.ready, order.job, order.generation, Step::ready);
}

double PlayedEngine::done_at(const Run& run, Instant now) {
  const double seconds =
      now <= run.ready ? 0 : std::chrono::duration<double>(now - run.ready).count();
  return std::min(run.total, run.done + seconds * run.rate);
}

void PlayedEngine::schedule(Instant at, JobId job, std::uint32_t generation, Step step) {
  due_.push({at, numbers_++, job, generation, step});
  changed_.notify_one();
}

std::optional<RunReport> PlayedEngine::take(const Due& due) {
  const auto at = runs_.find(due.job);
  if (at == runs_.end() || at->second.generation != due.generation || !at->second.is_running)
    return std::nullopt;  // ordered away meanwhile
  Run& run = at->second;
  if (due.step == Step::end) return end_of(due, run);
  schedule(run.ready + seconds_of((run.total - run.done) / run.rate), due.job, due.generation,
           Step::end);
  RunReady ready;
  ready.times.start = std::chrono::duration_cast<Duration>(run.ready - run.ordered);
  return RunReport{due.job, due.generation, ready};
}

RunReport PlayedEngine::end_of(const Due& due, Run& run) {
  halt(run, Clock::now());
  ++ended_;
  if (rng_.below(kOneInSoManyFails) == 0)
    return {due.job, due.generation, RunEnded{RunEndKind::exited, 1, "exit code 1"}};
  return {due.job, due.generation, RunEnded{RunEndKind::exited, 0, "exit code 0"}};
}

RunReport PlayedEngine::progress_of(JobId job, const Run& run, Instant now) const {
  RunProgress progress;
  const double done = done_at(run, now);
  progress.iterations = static_cast<std::int64_t>(done);
  progress.elapsed = std::chrono::duration_cast<Duration>(now - run.ordered);
  progress.loss = loss_at(done, run.total, job.value + static_cast<std::uint64_t>(done));
  progress.batch = {std::int64_t{64} * run.gpus, 64, 1};
  return {job, run.generation, progress};
}

std::size_t PlayedEngine::report_progress(std::size_t reports) {
  const std::lock_guard lock{mutex_};
  const Instant now = Clock::now();
  std::size_t found = 0;
  for (std::size_t looked = 0; looked < running_.size() && found < reports; ++looked) {
    if (next_to_report_ >= running_.size()) next_to_report_ = 0;
    const JobId job = running_[next_to_report_++];
    const Run& run = runs_.at(job);
    if (run.model.empty() || run.ready >= now) continue;
    reports_.push_back(progress_of(job, run, now));
    ++found;
  }
  if (found > 0) changed_.notify_one();
  return found;
}

// Reports are told without the lock: the listener may order something at once.
void PlayedEngine::work() {
  std::unique_lock lock{mutex_};
  while (!is_stopping_) {
    std::deque<RunReport> reports = std::exchange(reports_, {});
    const Instant now = Clock::now();
    while (!due_.empty() && due_.top().at <= now) {
      const Due due = due_.top();
      due_.pop();
      if (auto report = take(due)) reports.push_back(std::move(*report));
    }
    if (!reports.empty()) {
      lock.unlock();
      for (const RunReport& report : reports) listener_->on_report(report);
      lock.lock();
    } else if (due_.empty()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, due_.top().at);
    }
  }
}

void PlayedEngine::forget(JobId job) {
  const std::lock_guard lock{mutex_};
  const auto at = runs_.find(job);
  if (at == runs_.end()) return;
  halt(at->second, Clock::now());
}

void PlayedEngine::remove_logs(const std::vector<JobId>& jobs) {
  const std::lock_guard lock{mutex_};
  for (const JobId job : jobs) {
    if (const auto at = runs_.find(job); at != runs_.end() && !at->second.is_running)
      runs_.erase(at);
  }
}

std::string PlayedEngine::log_of(JobId job, const Run& run, std::int32_t rank, Instant now) const {
  std::string text = fmt::format("rank {} of {}, generation {}: played, nothing runs\n", rank,
                                 run.gpus, run.generation);
  if (run.model.empty()) return text + "working\n";
  const double done = done_at(run, now);
  for (int line = 1; line <= kMostLogLines; ++line) {
    const double step = std::floor(run.total * line / kMostLogLines);
    if (step > done) break;
    text += fmt::format("step {:.0f} of {:.0f} loss {:.4f}\n", step, run.total,
                        loss_at(step, run.total, job.value + static_cast<std::uint64_t>(step)));
  }
  return text;
}

Result<LogChunk> PlayedEngine::read_log(const LogPlace& place, std::size_t most_bytes) {
  const std::lock_guard lock{mutex_};
  const auto at = runs_.find(place.job);
  const bool is_there = at != runs_.end() && place.rank >= 0 &&
                        place.rank < std::max(at->second.gpus, 1) &&
                        (place.generation == 0 || place.generation == at->second.generation);
  if (!is_there) {
    return bad_input(Diagnostic{"", 0, "rank or generation", "",
                                "those of the last run, which alone has a log"});
  }
  const Run& run = at->second;
  const std::string text = log_of(place.job, run, place.rank, Clock::now());
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t begin =
      std::clamp<std::int64_t>(place.offset < 0 ? size + place.offset : place.offset, 0, size);
  LogChunk chunk{run.generation, begin, text.substr(static_cast<std::size_t>(begin), most_bytes),
                 false};
  chunk.is_over = !run.is_running && begin + static_cast<std::int64_t>(chunk.bytes.size()) == size;
  return chunk;
}

std::size_t PlayedEngine::running() const {
  const std::lock_guard lock{mutex_};
  return running_.size();
}

std::uint64_t PlayedEngine::ended() const {
  const std::lock_guard lock{mutex_};
  return ended_;
}

std::optional<JobId> PlayedEngine::any_job() {
  const std::lock_guard lock{mutex_};
  if (running_.empty()) return std::nullopt;
  return running_[rng_.below(running_.size())];
}

}  // namespace weir::bench
