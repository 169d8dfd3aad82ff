// SPDX-License-Identifier: Apache-2.0
//
// The controller's part that looks ahead: on forks, off the loop, for a bounded time.
#include <chrono>
#include <utility>

#include "control/controller.h"
#include "control/submission.h"
#include "schedule/foresee/counterfactuals.h"

namespace weir::control {
namespace {

using Stopwatch = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestForecast{5};  // each
constexpr std::chrono::seconds kLongestSearch{3};

std::function<bool()> for_at_most(std::chrono::seconds time) {
  return [until = Stopwatch::now() + time] { return Stopwatch::now() < until; };
}

tl::unexpected<Error> busy(std::string why) {
  Diagnostics details;
  details.add({"", 0, "", std::move(why), "try again later"});
  return tl::unexpected<Error>(Error{ErrorCode::unavailable, std::move(details)});
}

}  // namespace

Result<schedule::SupposedJob> Controller::supposed_job(const formats::JobDocument& document) const {
  const schedule::TrainingState& training = core_->state().training;
  auto spec = training_spec(document, training, now_, *clock_, config_.margin_permille);
  if (!spec) return tl::unexpected<Error>(std::move(spec.error()));
  std::optional<Curve> curve = document.throughput;
  schedule::SupposedJob job{std::move(*spec), {}};
  if (runs_to_be_measured(document)) {
    job.spec = spec_to_be_measured(std::move(job.spec));
    curve = any_rate();
  }
  if (!curve) return job;
  for (const schedule::PoolState& pool : training.pools) {
    const auto known = pool.curves.find(job.spec.curve);
    const Curve* before = known == pool.curves.end() ? nullptr : known->second.get();
    job.curves.push_back({pool.pool->id, job.spec.curve, curve_when_stated(before, *curve)});
  }
  return job;
}

void Controller::what_if(WhatIfQuestion question,
                         std::function<void(Result<WhatIfAnswer>)> answer) {
  const auto look = [this, answer, question = std::move(question)] {
    auto what = supposition_about(question, config_.cluster, core_->state().training);
    Diagnostics mistakes;
    if (!what) mistakes.append(what.error().details);
    std::vector<schedule::SupposedJob> jobs;
    for (const formats::JobDocument& document : question.submit) {
      auto job = supposed_job(document);
      if (!job) mistakes.append(job.error().details);
      if (job) jobs.push_back(std::move(*job));
    }
    if (!mistakes.empty()) return answer(bad_input(std::move(mistakes)));
    what->submitted = std::move(jobs);
    auto forks = std::make_shared<std::pair<schedule::State, schedule::State>>(core_->fork_state(),
                                                                               core_->fork_state());
    const bool is_accepted =
        foresights_.post([answer, forks, config = core_config(), now = now_,
                          wall_ahead = clock_->wall_ahead(), pools = config_.cluster.pools,
                          what = std::move(*what), keeps_records = question.wants_records] {
          schedule::ForeseeLimits limits;
          limits.keeps_records = keeps_records;
          limits.may_go_on = for_at_most(kLongestForecast);
          WhatIfAnswer made;
          made.wall_ahead = wall_ahead;
          made.pools = pools;
          made.now = foresee(std::move(forks->first), config, now, {}, limits);
          limits.may_go_on = for_at_most(kLongestForecast);
          made.then = foresee(std::move(forks->second), config, now, what, limits);
          answer(std::move(made));
        });
    if (!is_accepted) answer(busy("too many questions are waiting"));
  };
  const auto refuse = [answer] { answer(busy("the store cannot be written")); };
  if (!post(LookItem{look, refuse})) answer(busy("the server is stopping or overloaded"));
}

void Controller::counterfactuals(JobId job, formats::JobDocument document,
                                 std::function<void(Result<ShownCounterfactuals>)> answer) {
  const auto look = [this, answer, job, document = std::move(document)] {
    schedule::Asked asked{job, {}};
    const schedule::TrainingState& training = core_->state().training;
    if (training.knows(job) && training.job(job).phase == schedule::TrainingPhase::refused) {
      auto again = supposed_job(document);
      if (!again) {  // its deadline has passed: it could have another
        formats::JobDocument hurried = document;
        hurried.deadline = Duration{1};
        again = supposed_job(hurried);
      }
      if (again) asked.again = std::move(*again);
    }
    auto fork = std::make_shared<schedule::State>(core_->fork_state());
    const bool is_accepted =
        foresights_.post([answer, fork, config = core_config(), now = now_,
                          wall_ahead = clock_->wall_ahead(), asked = std::move(asked)] {
          schedule::CounterfactualLimits limits;
          limits.may_go_on = for_at_most(kLongestSearch);
          ShownCounterfactuals shown;
          shown.now = now;
          shown.wall_ahead = wall_ahead;
          shown.told = schedule::counterfactuals(*fork, config, now, asked, limits);
          for (const schedule::Counterfactual& line : shown.told) {
            const bool names_other = fork->training.knows(line.other);
            shown.others.push_back(names_other ? fork->training.job(line.other).spec->name : "");
          }
          answer(std::move(shown));
        });
    if (!is_accepted) answer(busy("too many questions are waiting"));
  };
  const auto refuse = [answer] { answer(busy("the store cannot be written")); };
  if (!post(LookItem{look, refuse})) answer(busy("the server is stopping or overloaded"));
}

}  // namespace weir::control
