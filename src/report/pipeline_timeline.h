// SPDX-License-Identifier: Apache-2.0
//
// What every stage of a pipeline does when: one forward, one backward (1F1B). Each stage lets as many microbatches
// in as there are stages behind it, then takes one backward pass for every forward pass. The start and the end of an
// iteration are shown; what lies between repeats.
//
// It is a drawing of the plan's predicted times, not another prediction: with unequal stages the schedule can take a
// little more or less than the formula of the cost model, and the length of both is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/plan_view.h"
#include "report/table.h"

namespace weir::report {

enum class PipelineWork : std::uint8_t { forward, backward, recompute, transfer, end };
inline constexpr std::string_view kPipelineWorkNames[] = {"forward", "backward", "recompute",
                                                          "transfer", "end of the iteration"};

struct PipelineSpan {
  int stage = 0;
  int microbatch = 0;  // -1 for the end of the iteration
  PipelineWork work = PipelineWork::forward;
  double from_ms = 0;
  double to_ms = 0;
  friend bool operator==(const PipelineSpan&, const PipelineSpan&) = default;
};

struct PipelineTimeline {
  int stages = 0;
  int microbatches = 0;
  int shown_at_each_end = 0;        // microbatches; all are shown when twice this reaches them
  double total_ms = 0;              // of the schedule
  std::vector<PipelineSpan> spans;  // by stage, then by time
};

// At most about `most_spans` of them.
PipelineTimeline pipeline_timeline(const PlanView& view, std::size_t most_spans = 20'000);

// Chrome trace events, which Perfetto opens: a process for each stage.
std::string chrome_trace(const PipelineTimeline& timeline);

// The start and the end beside each other.
std::string timeline_svg(const PipelineTimeline& timeline);
// The style sheet the drawing relies on, beside plot_style().
std::string_view timeline_style();
// When each stage begins and is done.
Table timeline_table(const PipelineTimeline& timeline);

}  // namespace weir::report
