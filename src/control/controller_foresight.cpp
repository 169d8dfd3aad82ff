// SPDX-License-Identifier: Apache-2.0
//
// The controller's part that looks ahead: on forks, off the loop, for a bounded time.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
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

// As if they came one after the other: the second model of a name would be refused.
void note_shared_names(const std::vector<formats::JobDocument>& documents, Diagnostics& mistakes) {
  std::map<CurveKey, const formats::JobDocument*> first;
  for (const formats::JobDocument& document : documents) {
    if (!document.planned) continue;
    const auto [at, is_new] = first.emplace(document.curve, &document);
    if (is_new || at->second->planned == document.planned) continue;
    mistakes.add({"", 0, "model.name", document.curve.model,
                  fmt::format("another name: job {} beside it has this one with batch {}, and its "
                              "model is another one",
                              at->second->name, document.curve.global_batch)});
  }
}

}  // namespace

Result<schedule::SupposedJob> Controller::supposed_job(const formats::JobDocument& document,
                                                       const Result<PoolCurves>& planned) const {
  const schedule::TrainingState& training = core_->state().training;
  auto spec = training_spec(document, training, now_, *clock_, config_.margin_permille);
  if (!spec) return tl::unexpected<Error>(std::move(spec.error()));
  const auto plan = needed_plan(document, planned);
  if (!plan) return tl::unexpected<Error>(plan.error());
  std::optional<Curve> curve = document.throughput;
  schedule::SupposedJob job{std::move(*spec), {}};
  if (runs_to_be_measured(document)) {
    job.spec = spec_to_be_measured(std::move(job.spec));
    curve = any_rate();
  }
  job.curves = curves_said(job.spec.curve, curve ? &*curve : nullptr, *plan);
  return job;
}

void Controller::what_if(WhatIfQuestion question,
                         std::function<void(Result<WhatIfAnswer>)> answer) {
  std::vector<std::optional<ModelToPlan>> models;
  for (const formats::JobDocument& document : question.submit)
    models.push_back(model_to_plan(document));
  plan_curves(std::move(models), [this, answer, question = std::move(question)](auto planned) {
    const auto is_busy = [](const Result<PoolCurves>& curves) {
      return !curves && curves.error().code == ErrorCode::unavailable;
    };
    const auto busy_one = std::find_if(planned.begin(), planned.end(), is_busy);
    if (busy_one != planned.end()) return answer(tl::unexpected<Error>(busy_one->error()));
    what_if_planned(question, std::move(planned), answer);
  });
}

void Controller::what_if_planned(WhatIfQuestion question, std::vector<Result<PoolCurves>> planned,
                                 const std::function<void(Result<WhatIfAnswer>)>& answer) {
  const auto look = [this, answer, question = std::move(question), planned = std::move(planned)] {
    auto what = supposition_about(question, config_.cluster, core_->state().training);
    Diagnostics mistakes;
    if (!what) mistakes.append(what.error().details);
    note_shared_names(question.submit, mistakes);
    std::vector<schedule::SupposedJob> jobs;
    for (std::size_t i = 0; i < question.submit.size(); ++i) {
      auto job = supposed_job(question.submit[i], planned[i]);
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
      // What was planned when it came is known since.
      auto again = supposed_job(document, {});
      if (!again) {  // its deadline has passed: it could have another
        formats::JobDocument hurried = document;
        hurried.deadline = Duration{1};
        again = supposed_job(hurried, {});
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
