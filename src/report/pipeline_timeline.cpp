// SPDX-License-Identifier: Apache-2.0
#include "report/pipeline_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/plan_tables.h"
#include "report/svg_axes.h"

namespace weir::report {
namespace {

using predict::StageTime;

constexpr double kUnknown = -1;
constexpr std::size_t kSpansOfMicrobatch = 5;  // forward, recompute, backward, two transfers

// One stage's way through its passes: `warm_up` forward passes, then backward and forward in turn.
struct Passes {
  int warm_up = 0;
  int forwards = 0;  // done
  int backwards = 0;
  double free_at = 0;

  bool is_forward_next(int microbatches) const {
    if (forwards == microbatches) return false;
    return forwards <= warm_up + backwards;
  }
};

class Schedule {
 public:
  Schedule(const PlanView& view, int shown)
      : costs_{view.cost.stages},
        hides_transfers_{view.costs.hides_transfers()},
        microbatches_{view.microbatches()},
        shown_{shown},
        passes_(costs_.size()),
        forward_done_(costs_.size() * count(), kUnknown),
        backward_done_(costs_.size() * count(), kUnknown),
        spans_(costs_.size()) {
    for (std::size_t s = 0; s < passes_.size(); ++s) {
      passes_[s].warm_up = std::min(static_cast<int>(passes_.size() - 1 - s), microbatches_);
    }
  }

  // Every stage goes as far as its neighbours let it, again and again.
  PipelineTimeline run() {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (std::size_t s = 0; s < passes_.size(); ++s) {
        while (step(s)) has_moved = true;
      }
    }
    PipelineTimeline timeline{static_cast<int>(passes_.size()), microbatches_, shown_, 0, {}};
    for (std::size_t s = 0; s < passes_.size(); ++s) {
      double& at = passes_[s].free_at;
      add(s, -1, PipelineWork::end, at, costs_[s].time.finish());
      timeline.total_ms = std::max(timeline.total_ms, at);
      timeline.spans.insert(timeline.spans.end(), spans_[s].begin(), spans_[s].end());
    }
    return timeline;
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(microbatches_); }
  std::size_t slot(std::size_t stage, int microbatch) const {
    return stage * count() + static_cast<std::size_t>(microbatch);
  }

  bool is_shown(int microbatch) const {
    return microbatch < shown_ || microbatch >= microbatches_ - shown_;
  }

  // From `at` on; moves `at` to the end.
  void add(std::size_t stage, int microbatch, PipelineWork work, double& at, double us) {
    if (us <= 0) return;
    const double from = at;
    at += us / 1000.0;
    if (!is_shown(microbatch)) return;
    spans_[stage].push_back({static_cast<int>(stage), microbatch, work, from, at});
  }

  // Data that was ready at `ready` arrives; it occupies the stage unless transfers are hidden.
  void receive(std::size_t stage, int microbatch, double ready, double us, double& at) {
    if (hides_transfers_) {
      add(stage, microbatch, PipelineWork::transfer, ready, us);
      at = std::max(at, ready);
    } else {
      at = std::max(at, ready);
      add(stage, microbatch, PipelineWork::transfer, at, us);
    }
  }

  bool step(std::size_t stage) {
    Passes& passes = passes_[stage];
    if (passes.backwards == microbatches_) return false;
    return passes.is_forward_next(microbatches_) ? forward(stage, passes) : backward(stage, passes);
  }

  bool forward(std::size_t stage, Passes& passes) {
    const int microbatch = passes.forwards;
    const StageTime& time = costs_[stage].time;
    double at = passes.free_at;
    if (stage > 0) {
      const double ready = forward_done_[slot(stage - 1, microbatch)];
      if (ready == kUnknown) return false;
      receive(stage, microbatch, ready, time.receive, at);
    }
    add(stage, microbatch, PipelineWork::forward, at, time.forward + time.reshard_forward);
    forward_done_[slot(stage, microbatch)] = passes.free_at = at;
    ++passes.forwards;
    return true;
  }

  bool backward(std::size_t stage, Passes& passes) {
    const int microbatch = passes.backwards;
    const StageTime& time = costs_[stage].time;
    double at = passes.free_at;
    if (stage + 1 < passes_.size()) {
      const double ready = backward_done_[slot(stage + 1, microbatch)];
      if (ready == kUnknown) return false;
      receive(stage, microbatch, ready, time.send, at);
    }
    add(stage, microbatch, PipelineWork::recompute, at, time.recompute);
    add(stage, microbatch, PipelineWork::backward, at, time.backward + time.reshard_backward);
    backward_done_[slot(stage, microbatch)] = passes.free_at = at;
    ++passes.backwards;
    return true;
  }

  const std::vector<predict::StageCost>& costs_;
  bool hides_transfers_;
  int microbatches_;
  int shown_;
  std::vector<Passes> passes_;
  std::vector<double> forward_done_;  // by stage and microbatch
  std::vector<double> backward_done_;
  std::vector<std::vector<PipelineSpan>> spans_;  // by stage
};

// A stretch of time as a picture.
struct Window {
  double from_ms = 0;
  double to_ms = 0;
  double left = 0;
  double right = 0;
  double x(double ms) const {
    return left + (ms - from_ms) / std::max(to_ms - from_ms, 1e-9) * (right - left);
  }
};

constexpr double kTimelineWidth = 1000;
constexpr double kLabelWidth = 64;
constexpr double kPartGap = 36;
constexpr double kTimelineTop = 30;
constexpr double kTimelineAxisHeight = 34;
constexpr int kMostStagesDrawn = 64;

std::string span_title(const PipelineSpan& span) {
  const std::string what = std::string{kPipelineWorkNames[static_cast<std::size_t>(span.work)]};
  return fmt::format("stage {}: {}{}, {} to {} ms", span.stage, what,
                     span.microbatch < 0 ? "" : fmt::format(" of microbatch {}", span.microbatch),
                     with_commas(span.from_ms, 2), with_commas(span.to_ms, 2));
}

std::string span_svg(const PipelineSpan& span, const Window& window, double row) {
  const double left = window.x(std::max(span.from_ms, window.from_ms));
  const double right = window.x(std::min(span.to_ms, window.to_ms));
  const bool is_transfer = span.work == PipelineWork::transfer;
  const double y = kTimelineTop + row * span.stage + (is_transfer ? row * 0.8 : row * 0.08);
  return fmt::format(
      "<rect class=\"w{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
      "<title>{}</title></rect>\n",
      static_cast<int>(span.work), left, y, std::max(right - left, 0.4),
      is_transfer ? row * 0.16 : row * 0.7, span_title(span));
}

std::string window_axis(const Window& window, double y) {
  const auto ticks = round_ticks(window.from_ms, window.to_ms, 4);
  std::string svg;
  for (const double tick : ticks) {
    if (tick < window.from_ms || tick > window.to_ms) continue;
    svg += fmt::format(
        "<path class=\"axis\" d=\"M{0:.1f} {1:.1f}v5\"/><text x=\"{0:.1f}\" y=\"{2:.1f}\" "
        "text-anchor=\"middle\">{3} ms</text>\n",
        window.x(tick), y, y + 18, with_commas(tick, window.to_ms - window.from_ms < 10 ? 1 : 0));
  }
  return svg;
}

// Where the microbatches of the start end and those of the end begin.
std::vector<Window> windows(const PipelineTimeline& timeline) {
  const bool is_whole = 2 * timeline.shown_at_each_end >= timeline.microbatches;
  if (is_whole) return {{0, timeline.total_ms, kLabelWidth, kTimelineWidth}};
  double start_ends = 0;
  double end_begins = std::numeric_limits<double>::infinity();
  // Half of the microbatches at each end fill the picture; the others would leave holes at its border.
  const int whole = std::max(1, timeline.shown_at_each_end / 2);
  for (const PipelineSpan& span : timeline.spans) {
    if (span.microbatch < 0) continue;
    if (span.microbatch < whole) start_ends = std::max(start_ends, span.to_ms);
    if (span.microbatch >= timeline.microbatches - whole)
      end_begins = std::min(end_begins, span.from_ms);
  }
  const double middle = (kLabelWidth + kTimelineWidth) / 2;
  return {{0, start_ends, kLabelWidth, middle - kPartGap / 2},
          {end_begins, timeline.total_ms, middle + kPartGap / 2, kTimelineWidth}};
}

std::string work_legend() {
  std::string svg;
  double x = kLabelWidth;
  for (std::size_t work = 0; work < std::size(kPipelineWorkNames); ++work) {
    svg += fmt::format(
        "<rect class=\"w{}\" x=\"{:.1f}\" y=\"4\" width=\"16\" height=\"12\"/>"
        "<text x=\"{:.1f}\" y=\"15\">{}</text>\n",
        work, x, x + 21, kPipelineWorkNames[work]);
    x += 45 + 7.5 * static_cast<double>(kPipelineWorkNames[work].size());
  }
  return svg;
}

int shown_at_each_end(const PlanView& view, std::size_t most_spans) {
  const std::size_t stages = view.cost.stages.size();
  const std::size_t most = std::max<std::size_t>(1, most_spans / (2 * stages * kSpansOfMicrobatch));
  return static_cast<int>(std::min(2 * stages + 2, most));
}

}  // namespace

PipelineTimeline pipeline_timeline(const PlanView& view, std::size_t most_spans) {
  return Schedule{view, shown_at_each_end(view, most_spans)}.run();
}

std::string chrome_trace(const PipelineTimeline& timeline) {
  using Json = nlohmann::ordered_json;
  constexpr int kComputeThread = 0;
  constexpr int kTransferThread = 1;
  Json events = Json::array();
  const auto name = [&](const char* what, int stage, int thread, const std::string& text) {
    events.push_back({{"ph", "M"},
                      {"name", what},
                      {"pid", stage + 1},
                      {"tid", thread},
                      {"args", {{"name", text}}}});
  };
  for (int stage = 0; stage < timeline.stages; ++stage) {
    name("process_name", stage, kComputeThread, fmt::format("stage {}", stage));
    name("thread_name", stage, kComputeThread, "compute");
    name("thread_name", stage, kTransferThread, "transfers");
  }
  for (const PipelineSpan& span : timeline.spans) {
    const std::string_view work = kPipelineWorkNames[static_cast<std::size_t>(span.work)];
    events.push_back(
        {{"ph", "X"},
         {"name",
          span.microbatch < 0 ? std::string{work} : fmt::format("{} {}", work, span.microbatch)},
         {"cat", work},
         {"pid", span.stage + 1},
         {"tid", span.work == PipelineWork::transfer ? kTransferThread : kComputeThread},
         {"ts", span.from_ms * 1000.0},
         {"dur", (span.to_ms - span.from_ms) * 1000.0}});
  }
  const Json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return trace.dump() + "\n";
}

std::string timeline_svg(const PipelineTimeline& timeline) {
  const int stages = std::min(timeline.stages, kMostStagesDrawn);
  const double row = stages <= 8 ? 34 : stages <= 16 ? 24 : 14;
  const double bottom = kTimelineTop + row * stages;
  const double height = bottom + kTimelineAxisHeight;
  std::string svg = fmt::format(
      "<svg class=\"plot timeline\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n<title>Time line "
      "of "
      "the pipeline</title>\n",
      kTimelineWidth, height);
  svg += work_legend();
  for (int stage = 0; stage < stages; ++stage) {
    svg += fmt::format("<text class=\"label\" x=\"0\" y=\"{:.1f}\">stage {}</text>\n",
                       kTimelineTop + row * (stage + 0.5) + 4, stage);
  }
  const auto parts = windows(timeline);
  for (const Window& part : parts) {
    for (const PipelineSpan& span : timeline.spans) {
      if (span.stage < stages && span.to_ms > part.from_ms && span.from_ms < part.to_ms)
        svg += span_svg(span, part, row);
    }
    svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", part.left, bottom,
                       part.right);
    svg += window_axis(part, bottom);
  }
  if (parts.size() == 2) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">...</text>\n",
                       (parts[0].right + parts[1].left) / 2, (kTimelineTop + bottom) / 2);
  }
  return svg + "</svg>\n";
}

std::string_view timeline_style() {
  return R"css(
.timeline rect { stroke: var(--page); stroke-width: 0.5; }
.timeline .w0 { fill: #2f7fb8; }
.timeline .w1 { fill: #00825f; }
.timeline .w2 { fill: #b87800; }
.timeline .w3 { fill: #b2508b; }
.timeline .w4 { fill: #6e6e6e; }
.timeline rect:hover { stroke: var(--ink); stroke-width: 1.2; }
@media (prefers-color-scheme: dark) {
  .timeline .w0 { fill: #4aa8e8; } .timeline .w1 { fill: #1fc796; } .timeline .w2 { fill: #e69f00; }
  .timeline .w3 { fill: #e08fc0; } .timeline .w4 { fill: #adadad; }
}
)css";
}

Table timeline_table(const PipelineTimeline& timeline) {
  Table table{"When each stage works, ms",
              {{"stage"}, {"first forward"}, {"first backward"}, {"done"}},
              {}};
  constexpr double kNever = std::numeric_limits<double>::infinity();
  for (int stage = 0; stage < timeline.stages; ++stage) {
    double forward = kNever;
    double backward = kNever;
    double done = 0;
    for (const PipelineSpan& span : timeline.spans) {
      if (span.stage != stage) continue;
      if (span.work == PipelineWork::forward) forward = std::min(forward, span.from_ms);
      if (span.work == PipelineWork::backward) backward = std::min(backward, span.from_ms);
      done = std::max(done, span.to_ms);
    }
    table.rows.push_back({std::to_string(stage), with_commas(forward, 1), with_commas(backward, 1),
                          with_commas(done, 1)});
  }
  return table;
}

}  // namespace weir::report
