// SPDX-License-Identifier: Apache-2.0
#include "simulate/live_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "domain/planned_model.h"
#include "formats/log_codec.h"
#include "formats/reserve_text.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::simulate {
namespace {

// Permille. A program whose time nobody knew may be over in a thousandth of what was assumed.
constexpr std::int64_t kSlowest = 10;
constexpr std::int64_t kFastest = 1'000'000'000;

struct SeenJob {
  TrainingSpec spec;
  Time submitted;
  PoolIndex pool;
  GpuBlock block;
  std::optional<Time> ready;  // of the present block, once it works
  std::optional<Time> asked;  // when the present block was given
  Work expected;              // what its curve would have done while it worked
  Work left;                  // as last observed
  std::optional<Time> finished;
  bool is_over = false;  // failed or cancelled
};

class HistoryReader {
 public:
  explicit HistoryReader(LiveHistory& history) : history_{history} {}

  void hear(const Event& event) {
    if (const auto* curve = std::get_if<CurveUpdated>(&event.what)) {
      curves_[curve->pool][curve->key] = curve->curve;
    } else if (const auto* cost = std::get_if<RescaleCostMeasured>(&event.what)) {
      history_.planned_cost = {cost->base, cost->per_doubling};
    } else if (const auto* tenants = std::get_if<TenantsChanged>(&event.what)) {
      history_.tenants = tenants->table;
    }
    is_report_of_ready_ = std::holds_alternative<RanksReady>(event.what);
  }

  void hear(const Record& record) {
    std::visit([&](const auto& what) { note(record, what); }, record.what);
  }

  void finish() {
    // Also of a pool of which nobody learnt a curve: who reads them counts.
    for (const PoolGpus& pool : pools_with_gpus(history_.cluster))
      history_.curves.push_back({"", curves_[pool.pool]});
    for (auto& [id, job] : jobs_) {
      stop_working(job, last_);
      const bool never_ran = job.expected == Work{};
      if (job.is_over && never_ran) continue;
      const Work all = work_of_iterations(job.spec.iterations);
      // One that says nothing of its progress is taken to have run as expected.
      const Work done = job.finished ? all : job.left == all ? job.expected : all - job.left;
      std::int64_t speed = 1000;
      if (job.expected > Work{} && done > Work{}) {
        speed =
            static_cast<std::int64_t>(done.femto_iterations * 1000 / job.expected.femto_iterations);
      }
      if (job.is_over) {
        job.spec.iterations = std::max<std::int64_t>(
            1, static_cast<std::int64_t>(done.femto_iterations / kFemtoPerIteration));
      }
      history_.workload.jobs.push_back({job.submitted, job.spec});
      history_.ids.push_back(id);
      history_.speeds.push_back(std::clamp(speed, kSlowest, kFastest));
      history_.finished.push_back(job.finished);
    }
    history_.measured_cost = {
        history_.starts > 0 ? waited_ / history_.starts : history_.planned_cost.base, Duration{0}};
  }

 private:
  template <class Other>
  void note(const Record&, const Other&) {}

  void note(const Record& record, const TrainingAccepted& made) {
    SeenJob& job = jobs_[made.job];
    job.spec = *made.spec;
    job.submitted = record.at;
    job.pool = made.pool;
    job.left = work_of_iterations(made.spec->iterations);
  }
  void note(const Record& record, const JobResized& made) {
    SeenJob& job = jobs_[made.job];
    stop_working(job, record.at);
    job.block = made.block;
    job.asked = made.block.is_none() ? std::nullopt : std::optional{record.at};
  }
  void note(const Record& record, const JobObserved& made) {
    SeenJob& job = jobs_[made.job];
    job.left = made.left;
    if (!is_report_of_ready_ || !job.asked) return;
    waited_ += record.at - *job.asked;
    ++history_.starts;
    job.asked.reset();
    job.ready = record.at;
  }
  void note(const Record& record, const JobReleased& made) {
    SeenJob& job = jobs_[made.job];
    stop_working(job, record.at);
    const bool is_well = record.reason.code == ReasonCode::as_reported;
    if (is_well) job.finished = record.at;
    job.is_over = !is_well;
  }

  void stop_working(SeenJob& job, Time at) {
    last_ = std::max(last_, at);
    if (!job.ready || job.block.is_none()) return;
    const auto& curves = curves_[job.pool];
    const auto curve = curves.find(job.spec.curve);
    if (curve != curves.end())
      job.expected += curve->second.rate_at(static_cast<std::int32_t>(job.block.size)) *
                      std::max(Duration{0}, at - *job.ready);
    job.ready.reset();
    job.block = kNoGpus;
  }

  LiveHistory& history_;
  std::map<PoolIndex, std::map<CurveKey, Curve>> curves_;
  std::map<JobId, SeenJob> jobs_;
  Time last_;
  Duration waited_{0};
  bool is_report_of_ready_ = false;
};

}  // namespace

Result<LiveHistory> read_live_history(const std::filesystem::path& log) {
  auto reader = formats::RecordLogReader::open(log);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  LiveHistory history;
  history.header = reader->header();
  history.cluster = formats::cluster_of(history.header);
  history.workload.name = log.stem().string();
  history.planned_cost = {history.header.rescale_base, history.header.rescale_per_doubling};
  HistoryReader hearer{history};
  bool has_events = false;
  while (true) {
    auto line = reader->next_line_of_any_kind();
    if (!line) return tl::unexpected(std::move(line.error()));
    if (!*line) break;
    if (const auto* event = std::get_if<Event>(&(*line)->what)) {
      has_events = true;
      hearer.hear(*event);
    } else {
      hearer.hear(std::get<formats::LogEntry>((*line)->what).record);
    }
  }
  if (!has_events) {
    return bad_input(Diagnostic{log.string(), 0, "events", "",
                                "the log of a live run, as `weir trace "
                                "export` writes it; this one has records only"});
  }
  hearer.finish();
  return history;
}

Foretold compare_finishes(const LiveHistory& live, const std::vector<std::optional<Time>>& played) {
  Foretold result;
  for (std::size_t row = 0; row < live.finished.size() && row < played.size(); ++row) {
    if (!live.finished[row] || !played[row]) continue;
    const Time submitted = live.workload.jobs[row].submitted;
    const double took = to_seconds(*live.finished[row] - submitted);
    const double error = std::abs(to_seconds(*played[row] - *live.finished[row])) / took;
    ++result.jobs;
    result.mean_error += error;
    result.worst_error = std::max(result.worst_error, error);
  }
  if (result.jobs > 0) result.mean_error /= static_cast<double>(result.jobs);
  return result;
}

namespace {

// Until the moment; the state that was reached goes to `reached`, unless that is null.
Result<Replay> replay_until(const std::filesystem::path& log, Time moment,
                            std::optional<ReplayedState>* reached) {
  auto reader = formats::RecordLogReader::open(log);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  const formats::RecordLogHeader& header = reader->header();
  schedule::CoreConfig config;
  config.policy = schedule::placement_policies().front().policy;
  config.training_policy = schedule::find_training_policy(header.policy);
  config.training.slot = header.slot;
  config.training.reserve = formats::parse_reserve(header.reserve).value_or(Reserve{});
  if (config.training_policy == nullptr) {
    return bad_input(Diagnostic{log.string(), 1, "policy", header.policy,
                                "a policy for training jobs; `weir policies` lists them"});
  }
  schedule::Core core{config,
                      schedule::initial_state_for_training(formats::cluster_of(header),
                                                           config.training_policy->size_rule())};
  Replay result;
  std::vector<Record> made;
  std::size_t compared = 0;
  std::string text;
  const auto differ = [&](std::string what) { result.difference = std::move(what); };
  while (!result.difference) {
    auto line = reader->next_line_of_any_kind();
    if (!line) return tl::unexpected(std::move(line.error()));
    if (!*line || std::holds_alternative<Event>((*line)->what)) {
      if (compared < made.size()) {
        differ(fmt::format("after event {}: {} records decided now, {} in the log", result.events,
                           made.size(), compared));
        break;
      }
      if (!*line || std::get<Event>((*line)->what).at > moment) break;
      made = core.handle(std::get<Event>((*line)->what));
      compared = 0;
      ++result.events;
      continue;
    }
    const auto& entry = std::get<formats::LogEntry>((*line)->what);
    ++result.records;
    if (compared == made.size()) {
      differ(fmt::format("record {}: in the log, but not decided now", entry.seq));
      break;
    }
    text.clear();
    formats::append_record_line(text, made[compared++], entry.seq, entry.build);
    if (text != (*line)->text) {
      differ(fmt::format("record {}:\n  in the log  {}\n  decided now {}", entry.seq, (*line)->text,
                         text));
    }
  }
  if (reached != nullptr) reached->emplace(ReplayedState{core.fork_state(), config});
  return result;
}

}  // namespace

Result<Replay> replay(const std::filesystem::path& log) {
  return replay_until(log, Time::max(), nullptr);
}

Result<std::optional<ReplayedState>> replayed_state(const std::filesystem::path& log, Time moment) {
  std::optional<ReplayedState> reached;
  const auto replayed = replay_until(log, moment, &reached);
  if (!replayed) return tl::unexpected(replayed.error());
  if (replayed->difference || replayed->events == 0) reached.reset();
  return reached;
}

}  // namespace weir::simulate
