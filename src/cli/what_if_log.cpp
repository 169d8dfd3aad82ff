// SPDX-License-Identifier: Apache-2.0
#include "cli/what_if_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cli/curve_planner.h"
#include "control/live_clock.h"
#include "control/submission.h"
#include "formats/reserve_text.h"
#include "simulate/live_history.h"
#include "simulate/training_run.h"

namespace weir::cli {
namespace {

using schedule::Forecast;
using schedule::ForeseenAnswer;
using schedule::ForeseenJob;

// A wall clock that stands at the beginning of the log.
class StandingClock final : public control::ClockSource {
 public:
  explicit StandingClock(Time at) : at_{at} {}
  Time wall() const override { return at_; }
  Duration since_boot() const override { return Duration{0}; }
  std::string boot_id() const override { return "log"; }

 private:
  Time at_;
};

struct Day {
  Cluster cluster;
  TrainingWorkload workload;
  std::vector<CurveBook> curves;
  simulate::TrainingRunConfig config;
  std::vector<JobId> ids;  // by row; rows after them are supposed
};

// The most GPUs each row had. The run has numbers of its own for jobs: they come in the order of
// arrival, and one that cannot be planned any more has none.
class MostGpus {
 public:
  explicit MostGpus(const TrainingWorkload& workload)
      : workload_{workload}, by_row_(workload.jobs.size(), 0) {
    for (std::size_t row = 0; row < workload.jobs.size(); ++row) to_come_.push_back(row);
    std::stable_sort(to_come_.begin(), to_come_.end(), [&](std::size_t a, std::size_t b) {
      return workload.jobs[a].submitted < workload.jobs[b].submitted;
    });
  }

  void hear(const Record& record) {
    if (const auto* accepted = std::get_if<TrainingAccepted>(&record.what)) {
      while (next_ < to_come_.size() && workload_.jobs[to_come_[next_]].spec != *accepted->spec)
        ++next_;
      if (next_ < to_come_.size()) row_of_[accepted->job] = to_come_[next_++];
    } else if (const auto* resized = std::get_if<JobResized>(&record.what)) {
      const auto row = row_of_.find(resized->job);
      if (row != row_of_.end())
        by_row_[row->second] = std::max(by_row_[row->second], resized->block.size);
    }
  }

  std::uint32_t of(std::size_t row) const { return by_row_[row]; }

 private:
  const TrainingWorkload& workload_;
  std::vector<std::uint32_t> by_row_;
  std::vector<std::size_t> to_come_;
  std::size_t next_ = 0;
  std::map<JobId, std::size_t> row_of_;
};

Forecast play(const Day& day, bool keeps_records) {
  Forecast forecast;
  simulate::TrainingRunConfig config = day.config;
  MostGpus most_gpus{day.workload};
  config.on_record = [&](const Record& record) {
    most_gpus.hear(record);
    if (keeps_records) forecast.records.push_back(record);
  };
  const auto outcome = simulate::run_training(day.cluster, day.workload, day.curves, config);
  forecast.from = Time::max();
  for (const TrainingArrival& job : day.workload.jobs)
    forecast.from = std::min(forecast.from, job.submitted);
  forecast.until = forecast.from;
  for (std::size_t row = 0; row < outcome.by_job.size(); ++row) {
    const simulate::TrainingJobOutcome& played = outcome.by_job[row];
    ForeseenJob job;
    if (row < day.ids.size()) job.job = day.ids[row];
    job.most_gpus = most_gpus.of(row);
    job.spec = std::make_shared<const TrainingSpec>(day.workload.jobs[row].spec);
    job.came = played.submitted;
    job.answer = played.is_refused    ? ForeseenAnswer::refused
                 : played.is_promised ? ForeseenAnswer::promised
                                      : ForeseenAnswer::no_promise;
    job.is_at_risk = played.warned_at.has_value();
    job.started = played.started;
    job.finished = played.finished;
    job.earliest = played.counter_offer;
    if (played.finished) forecast.until = std::max(forecast.until, *played.finished);
    forecast.jobs.push_back(std::move(job));
  }
  forecast.gpu_time = static_cast<WideInteger>(outcome.gpu_seconds * 1e9);
  const auto state = schedule::initial_training_state(day.cluster, schedule::SizeRule::useful);
  for (const schedule::PoolState& pool : state.pools) {
    forecast.gpus += pool.gpus_up();
    forecast.pools.push_back(pool.pool);
  }
  for (const simulate::NodeOutage& outage : day.config.outages)
    forecast.gpus -= day.cluster.nodes[outage.node].gpu_count;
  return forecast;
}

Day as_it_was(const simulate::LiveHistory& history) {
  Day day;
  day.cluster = history.cluster;
  day.workload = history.workload;
  day.curves = history.curves;
  day.ids = history.ids;
  day.config.policy = history.header.policy;
  day.config.training.slot = history.header.slot;
  day.config.training.reserve = formats::parse_reserve(history.header.reserve).value_or(Reserve{});
  day.config.speeds.by_row = history.speeds;
  day.config.planned_cost = history.planned_cost;
  day.config.real_cost = history.measured_cost;
  return day;
}

void add_nodes(Cluster& cluster, const schedule::MoreNodes& more) {
  const auto like = std::find_if(cluster.nodes.begin(), cluster.nodes.end(), [&](const Node& node) {
    return node.pool == more.pool && node.gpu_count == more.gpus_each;
  });
  Node node = *like;
  for (std::int32_t i = 0; i < more.nodes; ++i) {
    std::uint64_t last = 0;
    for (const Node& known : cluster.nodes) last = std::max(last, known.id.value);
    node.id = NodeId{last + 1};
    node.name = fmt::format("supposed-{}", node.id.value);
    cluster.nodes.push_back(node);
  }
}

bool has_curve(const std::vector<CurveBook>& books, const CurveKey& key) {
  return std::any_of(books.begin(), books.end(),
                     [&](const CurveBook& book) { return book.find(key) != nullptr; });
}

// As a server refuses it: no pool has a plan for exactly the GPUs of a job that cannot change its size.
Result<void> check_exact_size(const std::vector<CurveBook>& books, const TrainingSpec& spec) {
  std::set<std::int32_t> sizes;
  for (const CurveBook& book : books) {
    const Curve* curve = book.find(spec.curve);
    if (curve == nullptr) continue;
    for (const CurvePoint& point : curve->measured()) sizes.insert(point.gpus);
  }
  if (!spec.is_rigid || sizes.contains(spec.asked_gpus)) return {};
  return bad_input(
      Diagnostic{"", 0, "gpus", fmt::format("{}", spec.asked_gpus),
                 fmt::format("a size on which the model fits, because it runs on exactly these: {}",
                             fmt::join(sizes, ", "))});
}

// Plans the models that the log does not know.
class SupposedModels {
 public:
  SupposedModels(const std::vector<CurveBook>& books, const formats::PlanForJobs& plan)
      : books_{books}, plan_{plan} {}

  Result<void> learn(const formats::JobDocument& document, const TrainingSpec& spec) {
    if (!document.planned) return {};
    // What was planned here is asked for again: another model of the same name is refused there.
    const bool is_in_log = has_curve(books_, spec.curve) && !planned_.contains(spec.curve);
    if (!is_in_log) {
      const auto planned = plan_(spec.curve, *document.planned);
      if (!planned) return tl::unexpected<Error>(planned.error());
      planned_.insert(spec.curve);
    }
    return check_exact_size(books_, spec);
  }

 private:
  const std::vector<CurveBook>& books_;
  const formats::PlanForJobs& plan_;
  std::set<CurveKey> planned_;
};

// The supposed jobs come at the beginning.
Result<void> add_jobs(Day& day, const control::WhatIfQuestion& question, Time start,
                      const formats::PlanForJobs& plan) {
  auto state = schedule::initial_training_state(day.cluster, schedule::SizeRule::useful);
  const StandingClock source{start};
  const control::LiveClock clock{std::nullopt, source};
  Diagnostics mistakes;
  SupposedModels models{day.curves, plan};
  for (const formats::JobDocument& document : question.submit) {
    const auto spec = control::training_spec(document, state, start, clock);
    if (!spec) {
      mistakes.append(spec.error().details);
      continue;
    }
    for (CurveBook& book : day.curves) {
      if (document.throughput) book.curves[spec->curve] = *document.throughput;
    }
    if (const auto learnt = models.learn(document, *spec); !learnt) {
      mistakes.append(learnt.error().details);
      continue;
    }
    if (!has_curve(day.curves, spec->curve)) {
      mistakes.add({"", 0, "throughput", document.name,
                    "rates in the job's file: nobody in the log trained such a model"});
      continue;
    }
    day.workload.jobs.push_back({start, *spec});
    day.config.speeds.by_row.push_back(1000);
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return {};
}

}  // namespace

Result<control::WhatIfAnswer> what_if_in_log(const std::filesystem::path& log,
                                             const control::WhatIfQuestion& question,
                                             const predict::GpuCatalogue& gpus,
                                             std::set<std::string>& notes) {
  auto history = simulate::read_live_history(log);
  if (!history) return tl::unexpected(std::move(history.error()));
  if (history->workload.jobs.empty()) {
    return bad_input(Diagnostic{log.string(), 0, "jobs", "none",
                                "the log of a run with at least one job that ran"});
  }
  const Day now = as_it_was(*history);
  Day then = now;
  const auto state = schedule::initial_training_state(now.cluster, schedule::SizeRule::useful);
  auto what = control::supposition_about(question, now.cluster, state);
  Time start = Time::max();
  for (const TrainingArrival& job : now.workload.jobs) start = std::min(start, job.submitted);
  Diagnostics mistakes;
  if (!what) {
    mistakes.append(what.error().details);
  } else {
    for (const schedule::MoreNodes& more : what->more_nodes) add_nodes(then.cluster, more);
    for (const NodeId lost : what->lost) {
      for (std::size_t i = 0; i < then.cluster.nodes.size(); ++i) {
        if (then.cluster.nodes[i].id == lost) then.config.outages.push_back({i, start});
      }
    }
    if (!question.policy.empty()) then.config.policy = question.policy;
  }
  const auto plan = plan_into(then.cluster, then.curves, gpus, notes);
  if (auto added = add_jobs(then, question, start, plan); !added)
    mistakes.append(added.error().details);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  control::WhatIfAnswer answer;
  answer.pools = now.cluster.pools;
  answer.now = play(now, question.wants_records);
  answer.then = play(then, question.wants_records);
  return answer;
}

}  // namespace weir::cli
