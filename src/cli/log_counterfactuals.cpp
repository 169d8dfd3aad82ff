// SPDX-License-Identifier: Apache-2.0
#include "cli/log_counterfactuals.h"

#include <chrono>

#include "control/what_if.h"
#include "report/clock_text.h"
#include "schedule/foresee/counterfactuals.h"
#include "simulate/live_history.h"

namespace weir::cli {
namespace {

// Far more than a search takes on clusters of some hundred GPUs.
constexpr std::chrono::seconds kLongestSearch{20};

}  // namespace

Result<std::string> counterfactuals_in_log(const std::filesystem::path& log,
                                           const report::JobStory& story, Time moment) {
  auto reached = simulate::replayed_state(log, moment);
  if (!reached) return tl::unexpected(std::move(reached.error()));
  control::ShownCounterfactuals shown;
  shown.now = moment;
  if (!*reached) return control::to_json(shown);
  schedule::Asked asked{story.id, {}};
  if (story.answer == report::JobStory::Answer::refused)
    asked.again = schedule::SupposedJob{*story.spec, {}};
  schedule::CounterfactualLimits limits;
  const auto until = std::chrono::steady_clock::now() + kLongestSearch;
  limits.may_go_on = [until] { return std::chrono::steady_clock::now() < until; };
  shown.told =
      schedule::counterfactuals((*reached)->state, (*reached)->config, moment, asked, limits);
  const schedule::TrainingState& training = (*reached)->state.training;
  for (const schedule::Counterfactual& line : shown.told) {
    const bool names_other = training.knows(line.other);
    shown.others.push_back(names_other ? training.job(line.other).spec->name : "");
  }
  return control::to_json(shown, report::clock_text);
}

}  // namespace weir::cli
