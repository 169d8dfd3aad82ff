// SPDX-License-Identifier: Apache-2.0
#include "report/job_story_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/block_text.h"
#include "report/clock_text.h"
#include "report/table.h"
#include "report/text_table.h"

namespace weir::report {
namespace {

using Answer = JobStory::Answer;

constexpr std::size_t kMostChanges = 40;  // lines of the table of what happened
constexpr std::size_t kMostNames = 5;     // of other jobs in a sentence

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string name_of(const StoryContext& context, std::uint64_t job) {
  const auto name = context.names.find(JobId{job});
  return name == context.names.end() ? fmt::format("job {}", job) : name->second;
}

// The reason as a sentence about this job; other jobs by name rather than number.
std::string reason_text(const Reason& reason, const StoryContext& context) {
  if (reason.code == ReasonCode::makes_room)
    return fmt::format("planned anew to make room for {}", name_of(context, reason.detail));
  if (reason.code == ReasonCode::gives_way)
    return fmt::format("it was not promised yet and gave way to {}",
                       name_of(context, reason.detail));
  if (reason.code == ReasonCode::node_lost) return "a node under it was lost";
  if (reason.code == ReasonCode::fits_after_replan && reason.detail == 1)
    return "there is room for it once 1 other job is planned anew";
  return to_string(reason);
}

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

std::string some_of(std::vector<std::string> names) {
  const std::size_t more = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

// "40m before its deadline"
std::string beside_deadline(const JobStory& story, Time finish) {
  const Duration slack = story.spec->deadline - finish;
  if (slack == Duration{0}) return "just at its deadline";
  return fmt::format("{} {} its deadline", length_text(slack),
                     slack > Duration{0} ? "before" : "after");
}

bool has_plan(const JobStory& story) {
  return !story.plans.empty() && story.answer != Answer::unpromised;
}

// The control plane lets any program make a thousand iterations per second, under a name that no
// model can have.
std::string asked_text(const JobStory& story) {
  const TrainingSpec& spec = *story.spec;
  const std::string what =
      spec.curve == CurveKey{"any program", 0}
          ? fmt::format("run a program for {}",
                        length_text(std::chrono::milliseconds{spec.iterations}))
          : fmt::format("train {} with batch {} for {} iterations", spec.curve.model,
                        spec.curve.global_batch, spec.iterations);
  std::string text = fmt::format(
      "{} (job {}) asks to {}{}.\n", spec.name, story.id.value, what,
      spec.is_rigid ? " on exactly " + counted(static_cast<std::size_t>(spec.asked_gpus), "GPU")
                    : "");
  text += fmt::format("It came at {}", clock_text(story.came));
  if (!story.has_deadline()) return text + " and has no deadline.\n";
  const bool is_soft = spec.deadline_kind == DeadlineKind::soft;
  return text + fmt::format(" and is to be done by {}, {} later{}.\n", clock_text(spec.deadline),
                            length_text(spec.deadline - story.came),
                            is_soft ? "; late is better than not at all" : "");
}

std::string refusal_text(const JobStory& story) {
  if (!story.earliest) return "No other deadline is offered.\n";
  // A whole second, and not one too early: who asks for it is to get it.
  const Time earliest = std::chrono::ceil<std::chrono::seconds>(*story.earliest);
  return fmt::format(
      "The earliest deadline that can be promised is {}: {} after it came, {} later than asked.\n",
      clock_text(earliest), length_text(earliest - story.came),
      length_text(earliest - story.spec->deadline));
}

std::string answer_text(const JobStory& story, const StoryContext& context) {
  if (story.waits_for_curve)
    return sentence("it waits: " + to_string(Reason{ReasonCode::waits_for_a_curve, 0})) + "\n";
  const std::string why = sentence(reason_text(story.answer_reason, context));
  switch (story.answer) {
    case Answer::none:
      return "It was not answered yet.\n";
    case Answer::promised: {
      std::string text =
          story.answer_reason.code == ReasonCode::ahead_of_plan
              ? fmt::format("Planned at {}, promised at {}, when enough of it was done.\n",
                            clock_text(story.plans.front().made), clock_text(story.answered))
              : fmt::format("Promised at {}. {}\n", clock_text(story.answered), why);
      if (!story.made_room.empty())
        text += fmt::format("Planned anew for it: {}.\n", some_of(story.made_room));
      return text;
    }
    case Answer::planned:
      return fmt::format("Planned at {}, but not promised yet. {}\n", clock_text(story.answered),
                         why);
    case Answer::refused:
      return fmt::format("Refused at {}. {}\n", clock_text(story.answered), why) +
             refusal_text(story);
    case Answer::unpromised:
      break;
  }
  if (!context.makes_promises) return fmt::format("Policy {} promises nothing.\n", context.policy);
  const std::string expected =
      story.expected_start && story.expected_finish
          ? fmt::format("As things stood, it was to start at {} and to finish at {}.\n",
                        clock_text(*story.expected_start), clock_text(*story.expected_finish))
          : "";
  if (!story.has_deadline()) return "Accepted without a promise. " + why + "\n" + expected;
  return fmt::format("Not promised, but accepted. {} It runs when GPUs are left and may be late.\n",
                     why) +
         expected;
}

// "10.2 it/s on 1 GPU, 18.9 on 2"
std::string rates_text(const std::vector<CurvePoint>& rates) {
  std::vector<std::string> parts;
  for (const CurvePoint& point : rates) {
    const double rate = static_cast<double>(point.rate.value) / 1e6;
    parts.push_back(parts.empty()
                        ? fmt::format("{:.3g} it/s on {}", rate,
                                      counted(static_cast<std::size_t>(point.gpus), "GPU"))
                        : fmt::format("{:.3g} on {}", rate, point.gpus));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Of sizes that never ran nobody knows more than the shape of the curve.
std::string scaled_text(const JobStory::Throughput& throughput) {
  const std::vector<std::int32_t>& ran = throughput.measured_on;
  const auto is_scaled = [&](const CurvePoint& point) {
    return std::find(ran.begin(), ran.end(), point.gpus) == ran.end();
  };
  if (ran.empty() || std::none_of(throughput.rates.begin(), throughput.rates.end(), is_scaled))
    return "";
  return fmt::format(" Measured on {} {}; the other sizes are scaled from that.",
                     fmt::join(ran, ", "), ran == std::vector{1} ? "GPU" : "GPUs");
}

std::string throughput_text(const JobStory& story) {
  if (!story.throughput || story.throughput->rates.empty()) return "";
  const std::string& origin = story.throughput->origin;
  const std::string what = origin == "stated"    ? "the throughput its file states"
                           : origin == "assumed" ? "assumed throughput, which nobody has measured"
                           : origin == "planned"
                               ? "throughput from a plan of its model, which nobody has measured"
                               : origin + " throughput";
  return fmt::format("It was planned with {}: {}.{}\n", what, rates_text(story.throughput->rates),
                     scaled_text(*story.throughput));
}

std::string plan_table(const JobStory& story, const Timeline& timeline,
                       const StoryContext& context) {
  Table table{
      "", {{"from", Align::left}, {"to", Align::left}, {"GPUs"}, {"where", Align::left}}, {}};
  for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
    const TimelineStep& step = timeline.steps[i];
    const Time to = i + 1 < timeline.steps.size() ? timeline.steps[i + 1].from : timeline.end;
    table.rows.push_back({clock_text(step.from), clock_text(to), fmt::format("{}", step.block.size),
                          block_text(context.pools, story.pool, step.block)});
  }
  return to_text(table);
}

std::string revisions_text(const JobStory& story, const StoryContext& context) {
  if (story.plans.size() < 2) return "";
  std::vector<std::string> guests;
  std::size_t for_guests = 0;
  std::size_t for_lateness = 0;
  std::size_t others = 0;
  for (std::size_t i = 1; i < story.plans.size(); ++i) {
    const Reason& reason = story.plans[i].reason;
    if (reason.code != ReasonCode::makes_room) {
      const bool is_late =
          reason.code == ReasonCode::behind_plan || reason.code == ReasonCode::back_on_plan;
      ++(is_late ? for_lateness : others);
      continue;
    }
    ++for_guests;
    if (std::string name = name_of(context, reason.detail);
        std::find(guests.begin(), guests.end(), name) == guests.end()) {
      guests.push_back(std::move(name));
    }
  }
  std::vector<std::string> parts;
  const auto part = [&](std::size_t count, const std::string& why) {
    if (count > 0) parts.push_back(fmt::format("{} {}", counted(count, "time"), why));
  };
  part(for_guests, "to make room for " + some_of(guests));
  part(for_lateness, "because it was late or GPUs were lost");
  part(others, "because jobs were ahead of theirs");
  return fmt::format("Its plan was made anew {}.\n", fmt::join(parts, ", "));
}

std::string plan_text(const JobStory& story, const StoryContext& context) {
  if (story.plans.empty()) return "";
  const auto tell = [&](const char* title, const JobStory::Plan& plan) {
    return fmt::format("\n{}, made at {}\n{}It ends at {}, {}.\n", title, clock_text(plan.made),
                       plan_table(story, plan.timeline, context), clock_text(plan.timeline.end),
                       beside_deadline(story, plan.timeline.end));
  };
  std::string text = tell("The plan", story.plans.front());
  text += revisions_text(story, context);
  const bool has_newer = story.plans.size() > 1 && !story.ended &&
                         story.plans.back().timeline != story.plans.front().timeline;
  return has_newer ? text + tell("The plan now", story.plans.back()) : text;
}

std::string happened_text(const JobStory& story, const StoryContext& context) {
  if (story.changes.empty()) return "";
  Table table{"\nWhat happened",
              {{"at", Align::left}, {"GPUs"}, {"where", Align::left}, {"why", Align::left}},
              {}};
  const std::size_t shown = std::min(story.changes.size(), kMostChanges);
  const std::size_t left_out = story.changes.size() - shown;
  for (std::size_t i = 0; i < story.changes.size(); ++i) {
    if (i >= shown / 2 && i < shown / 2 + left_out) continue;
    const JobStory::Change& change = story.changes[i];
    table.rows.push_back({clock_text(change.at), fmt::format("{}", change.block.size),
                          block_text(context.pools, story.pool, change.block),
                          reason_text(change.reason, context)});
    if (left_out > 0 && i + 1 == shown / 2)
      table.rows.push_back({"...", "", "", counted(left_out, "more change")});
  }
  return to_text(table);
}

std::string forecast_text(const JobStory& story, const StoryContext& context) {
  if (!context.forecast) return "";
  const auto& [start, finish] = *context.forecast;
  if (!finish) return "";
  const std::string begin =
      start && !story.started() ? fmt::format("starts at {} and ", clock_text(*start)) : "";
  return fmt::format("If no other job comes, it {}finishes at {}{}.\n", begin, clock_text(*finish),
                     story.has_deadline() ? ", " + beside_deadline(story, *finish) : "");
}

std::string waiting_text(const JobStory& story) {
  if (has_plan(story) && !story.started()) {
    const auto& steps = story.plans.back().timeline.steps;
    const auto next = std::find_if(steps.begin(), steps.end(), [&](const TimelineStep& step) {
      return !step.block.is_none() && step.from > story.told_until;
    });
    return next == steps.end()
               ? "It waits for the GPUs of its plan.\n"
               : fmt::format("It waits. Its plan gives it GPUs at {}.\n", clock_text(next->from));
  }
  if (!story.started()) return "It waits: no GPUs are left for it yet.\n";
  return fmt::format("It is paused since {}.\n", clock_text(story.changes.back().at));
}

std::string end_text(const JobStory& story, const StoryContext& context) {
  if (story.answer == Answer::refused || story.waits_for_curve) return "";
  std::string text = "\n";
  if (const auto start = story.started(); start && *start > story.came)
    text += fmt::format("It waited {} for its first GPUs.\n", length_text(*start - story.came));
  if (story.warned && story.expected_late) {
    text += fmt::format("At {} its promise was at risk: it was expected at {}, {}.\n",
                        clock_text(*story.warned), clock_text(*story.expected_late),
                        beside_deadline(story, *story.expected_late));
  } else if (story.warned) {
    text +=
        fmt::format("At {} its promise was at risk, and nobody could tell when it would be done.\n",
                    clock_text(*story.warned));
  }
  if (story.is_finished()) {
    return text +
           fmt::format("It finished at {}{}.\n", clock_text(*story.ended),
                       story.has_deadline() ? ", " + beside_deadline(story, *story.ended) : "");
  }
  if (story.ended) {
    const bool has_failed = story.end_reason.code == ReasonCode::failed;
    return text + fmt::format("It {} at {}.\n", has_failed ? "failed" : "was cancelled",
                              clock_text(*story.ended));
  }
  text += fmt::format("This is as of {}. ", clock_text(story.told_until));
  text += story.block().is_none()
              ? waiting_text(story)
              : fmt::format("It runs on {}.\n", counted(story.block().size, "GPU"));
  if (has_plan(story))
    text += fmt::format("Its plan ends at {}.\n", clock_text(story.plans.back().timeline.end));
  return text + forecast_text(story, context);
}

}  // namespace

std::string story_text(const JobStory& story, const StoryContext& context) {
  return asked_text(story) + "\n" + answer_text(story, context) + throughput_text(story) +
         plan_text(story, context) + happened_text(story, context) + end_text(story, context);
}

}  // namespace weir::report
