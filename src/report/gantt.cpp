// SPDX-License-Identifier: Apache-2.0
#include "report/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/block_text.h"
#include "report/clock_text.h"
#include "report/svg_axes.h"
#include "report/usage_plot.h"

namespace weir::report {
namespace {

using formats::RecordLogHeader;
using simulate::AllocatedJob;
using simulate::AllocationHistory;
using simulate::AllocationSpan;

constexpr double kGanttWidth = 1200;
constexpr double kGanttLeft = 96;
constexpr double kGanttRight = 16;
constexpr double kGanttTop = 58;  // the legend, and the strip of refused jobs
constexpr double kGanttBottom = 48;
constexpr double kTallestRow = 15;
constexpr double kLowestRow = 1.5;
constexpr double kWantedHeight = 620;
constexpr double kLetter = 6.2;        // the width of a letter of a label
constexpr double kLabelHeight = 10;    // a rectangle at least that high may have one
constexpr std::size_t kJobStyles = 7;  // the eighth is for jobs without a promise
constexpr std::size_t kMostRows = 500;

// GPUs of all pools in one column.
struct Rows {
  std::vector<std::uint32_t> first;  // row of each pool
  std::uint32_t count = 0;
  double height = 1;

  explicit Rows(std::span<const RecordLogHeader::Pool> pools) : first{gantt_rows(pools)} {
    count = first.back();
    first.pop_back();
  }
  double y(std::uint32_t row) const { return kGanttTop + height * row; }
};

class Chart {
 public:
  Chart(const AllocationHistory& history, std::span<const RecordLogHeader::Pool> pools,
        const GanttLimits& limits)
      : history_{history},
        pools_{pools},
        limits_{limits},
        rows_{pools},
        window_{gantt_part(history, limits)} {
    if (!window_.is_all)
      add_note(
          fmt::format("The run is long: the chart shows it from {} to {}, when it was busiest.",
                      clock_text(window_.from), clock_text(window_.to)));
    if (rows_.count > limits.gpus) {
      add_note(fmt::format("It shows {} of {} GPUs.", limits.gpus, rows_.count));
      rows_.count = limits.gpus;
    }
    rows_.height = std::clamp(kWantedHeight / std::max(1U, rows_.count), kLowestRow, kTallestRow);
    frame_ = {kGanttWidth, kGanttTop + rows_.height * rows_.count + kGanttBottom,
              kGanttLeft,  kGanttRight,
              kGanttTop,   kGanttBottom};
    x_ = {0, std::max(1e-9, to_seconds(window_.to - window_.from)), kGanttLeft,
          kGanttWidth - kGanttRight};
  }

  Gantt draw() {
    std::string svg = begin_svg(frame_, "Which job had which GPUs when");
    svg.insert(svg.find("plot"), "gantt ");
    svg += nodes() + legend_row() + refused_strip();
    for (const AllocationSpan& span : history_.spans) svg += rectangle(span);
    svg += deadlines();
    svg += x_axis(frame_, x_, time_ticks(window_.from, window_.to, 12), "time");
    return {svg + "</svg>\n", note_};
  }

 private:
  void add_note(const std::string& text) { note_ += (note_.empty() ? "" : " ") + text; }

  double x(Time time) const {
    const Time inside = std::clamp(time, window_.from, window_.to);
    return x_.at(to_seconds(inside - window_.from));
  }
  bool is_shown(Time time) const { return window_.from <= time && time <= window_.to; }

  std::uint32_t row_of(PoolIndex pool, std::uint32_t slot) const {
    return (pool.value < rows_.first.size() ? rows_.first[pool.value] : 0) + slot;
  }

  std::size_t style_of(JobId id) const {
    return history_.jobs[id.value].is_promised ? id.value % kJobStyles : kJobStyles;
  }

  std::string nodes() const {
    std::string svg;
    for (std::uint32_t p = 0; p < pools_.size(); ++p) {
      const auto stride = static_cast<std::uint32_t>(pools_[p].stride);
      for (std::uint32_t node = 0; node < static_cast<std::uint32_t>(pools_[p].nodes); ++node) {
        const std::uint32_t row = rows_.first[p] + node * stride;
        if (row >= rows_.count) break;
        svg += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kGanttLeft,
                           rows_.y(row), frame_.x_end());
        // Labels at least a line apart.
        const auto every = static_cast<std::uint32_t>(14 / (rows_.height * stride)) + 1;
        if (node % every != 0) continue;
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{} {}</text>\n",
                           kGanttLeft - 8, rows_.y(row) + rows_.height * stride / 2 + 4,
                           escape_markup(pools_[p].name), node + 1);
      }
    }
    return svg;
  }

  std::string legend_row() const {
    return fmt::format(
        "<g class=\"s0\"><rect class=\"kept\" x=\"{0}\" y=\"4\" width=\"16\" height=\"14\"/></g>"
        "<text x=\"{1}\" y=\"16\">needed by its promise</text>\n"
        "<g class=\"s0\"><rect class=\"lent\" x=\"{2}\" y=\"4\" width=\"16\" height=\"14\"/></g>"
        "<text x=\"{3}\" y=\"16\">lent beyond it</text>\n"
        "<g class=\"s7\"><rect class=\"lent\" x=\"{4}\" y=\"4\" width=\"16\" height=\"14\"/></g>"
        "<text x=\"{5}\" y=\"16\">a job without a promise</text>\n"
        "<path class=\"deadline\" d=\"M{6} 4v14\"/><text x=\"{7}\" y=\"16\">deadline</text>\n"
        "<path class=\"refused\" d=\"M{8} 7l8 8m0 -8l-8 8\"/>"
        "<text x=\"{9}\" y=\"16\">refused</text>\n",
        kGanttLeft, kGanttLeft + 22, kGanttLeft + 190, kGanttLeft + 212, kGanttLeft + 330,
        kGanttLeft + 352, kGanttLeft + 530, kGanttLeft + 540, kGanttLeft + 620, kGanttLeft + 636);
  }

  std::string refused_strip() const {
    std::string svg = fmt::format(
        "<text x=\"{:.1f}\" y=\"44\" text-anchor=\"end\">refused</text>\n", kGanttLeft - 8);
    for (const AllocatedJob& job : history_.jobs) {
      if (!job.spec || !job.is_refused || !is_shown(job.came)) continue;
      const std::string offer =
          job.earliest ? fmt::format("; could be promised by {}", clock_text(*job.earliest)) : "";
      svg += fmt::format(
          "<path class=\"refused\" d=\"M{:.1f} 36l8 8m0 -8l-8 8\"><title>{}, refused at {}: {}{}"
          "</title></path>\n",
          x(job.came) - 4, escape_markup(job.spec->name), clock_text(job.came),
          to_string(job.answer), offer);
    }
    return svg;
  }

  std::string title_of(const AllocationSpan& span) const {
    const AllocatedJob& job = history_.jobs[span.job.value];
    const std::uint32_t promised = span.most_promised();
    const std::string share =
        promised == 0 || promised == span.block.size ? "" : fmt::format(" ({} promised)", promised);
    return fmt::format("{}: {} GPU{}{}, {}, {} to {}: {}", job.spec->name, span.block.size,
                       span.block.size == 1 ? "" : "s", share,
                       block_text(pools_, job.pool, span.block), clock_text(span.from),
                       clock_text(span.to), to_string(span.reason));
  }

  std::string rectangle(const AllocationSpan& span) const {
    const AllocatedJob& job = history_.jobs[span.job.value];
    const std::uint32_t row = row_of(job.pool, span.block.first);
    if (span.to <= window_.from || span.from >= window_.to || row >= rows_.count) return "";
    const double left = x(span.from);
    const double width = std::max(0.4, x(span.to) - left);
    const double top = rows_.y(row);
    const double height = rows_.height * std::min(span.block.size, rows_.count - row);
    std::string svg = fmt::format(
        "<g class=\"s{}\"><title>{}</title><rect class=\"lent\" x=\"{:.1f}\" y=\"{:.1f}\" "
        "width=\"{:.1f}\" height=\"{:.1f}\"/>",
        style_of(span.job), escape_markup(title_of(span)), left, top, width, height);
    for (const auto& part : span.promised) {
      if (part.to <= window_.from || part.from >= window_.to) continue;
      svg += fmt::format(
          "<rect class=\"kept\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
          x(part.from), top, std::max(0.4, x(part.to) - x(part.from)),
          std::min(height, rows_.height * part.gpus));
    }
    return svg + label(span, job.spec->name, left, width, top, height) + "</g>\n";
  }

  // The job's name, where it fits: on the solid part, or on the light one beneath it.
  std::string label(const AllocationSpan& span, const std::string& name, double left, double width,
                    double top, double height) const {
    const double length = static_cast<double>(name.size()) * kLetter + 6;
    if (height < kLabelHeight || width < length) return "";
    std::uint32_t most = 0;  // promised beneath the name
    std::uint32_t least = span.block.size;
    double covered = left;
    for (const auto& part : span.promised) {
      if (x(part.to) <= left || x(part.from) >= left + length) continue;
      most = std::max(most, part.gpus);
      least = x(part.from) > covered + 0.5 ? 0 : std::min(least, part.gpus);
      covered = x(part.to);
    }
    if (covered < left + length) least = 0;
    const double solid = std::min(height, rows_.height * least);
    const double light = std::min(height, rows_.height * most);
    if (solid < kLabelHeight && height - light < kLabelHeight) return "";
    const bool is_on_solid = solid >= kLabelHeight;
    const double middle = is_on_solid ? top + solid / 2 : top + (light + height) / 2;
    return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                       is_on_solid ? "on" : "off", left + 4, middle + 3.5, escape_markup(name));
  }

  // Where the job ran last, a line at its deadline.
  std::string deadlines() {
    std::vector<const AllocationSpan*> last(history_.jobs.size(), nullptr);
    for (const AllocationSpan& span : history_.spans) last[span.job.value] = &span;
    std::erase_if(last, [&](const AllocationSpan* span) {
      return span == nullptr || !has_deadline_here(*span);
    });
    if (last.size() > limits_.deadlines) {
      add_note(fmt::format("Its {} deadlines are left out.", last.size()));
      return "";
    }
    std::string svg;
    for (const AllocationSpan* span : last) svg += deadline(*span);
    return svg;
  }

  bool has_deadline_here(const AllocationSpan& span) const {
    const AllocatedJob& job = history_.jobs[span.job.value];
    return job.spec->deadline_kind != DeadlineKind::none && span.to > window_.from &&
           is_shown(job.spec->deadline) && row_of(job.pool, span.block.first) < rows_.count;
  }

  std::string deadline(const AllocationSpan& span) const {
    const AllocatedJob& job = history_.jobs[span.job.value];
    const std::uint32_t row = row_of(job.pool, span.block.first);
    return fmt::format(
        "<path class=\"deadline\" d=\"M{:.1f} {:.1f}v{:.1f}\"><title>deadline of {}: {}; {}"
        "</title></path>\n",
        x(job.spec->deadline), rows_.y(row),
        rows_.height * std::min(span.block.size, rows_.count - row), escape_markup(job.spec->name),
        clock_text(job.spec->deadline), job.ended ? "done " + clock_text(*job.ended) : "not done");
  }

  const AllocationHistory& history_;
  std::span<const RecordLogHeader::Pool> pools_;
  GanttLimits limits_;
  Rows rows_;
  GanttPart window_;
  PlotFrame frame_;
  Axis x_;
  std::string note_;
};

std::string answer_of(const AllocatedJob& job) {
  if (job.is_refused) return "refused";
  return job.is_promised ? "promised" : "no promise";
}

}  // namespace

std::vector<std::uint32_t> gantt_rows(std::span<const RecordLogHeader::Pool> pools) {
  std::vector<std::uint32_t> first = {0};
  for (const RecordLogHeader::Pool& pool : pools) {
    const auto nodes = static_cast<std::uint32_t>(pool.nodes);
    first.push_back(first.back() + nodes * static_cast<std::uint32_t>(pool.stride));
  }
  return first;
}

// About the busiest moment, when there is too much for a page.
GanttPart gantt_part(const AllocationHistory& history, const GanttLimits& limits) {
  const auto& spans = history.spans;
  if (spans.size() <= limits.spans) return {history.begin, history.end, true};
  constexpr std::size_t kStretches = 400;
  const GpuUsage usage = gpu_usage(history, kStretches);
  std::size_t busiest = 0;
  const auto use = [&](std::size_t i) { return usage.promised[i] + usage.left_over[i]; };
  for (std::size_t i = 1; i < kStretches; ++i) {
    if (use(i) > use(busiest) + 0.5) busiest = i;  // of equals the first
  }
  const Time moment = history.begin + (history.end - history.begin) / kStretches *
                                          static_cast<std::int64_t>(busiest);
  const auto at = std::partition_point(
      spans.begin(), spans.end(), [&](const AllocationSpan& span) { return span.from < moment; });
  const std::size_t half = limits.spans_of_part / 2;
  const auto middle =
      std::clamp(static_cast<std::size_t>(at - spans.begin()), half, spans.size() - 1 - half);
  return {spans[middle - half].from, spans[middle + half].from, false};
}

Gantt gantt(const AllocationHistory& history, std::span<const RecordLogHeader::Pool> pools,
            const GanttLimits& limits) {
  return Chart{history, pools, limits}.draw();
}

Table gantt_table(const AllocationHistory& history) {
  std::vector<Time> started(history.jobs.size(), Time::max());
  for (const AllocationSpan& span : history.spans)
    started[span.job.value] = std::min(started[span.job.value], span.from);
  Table table{"",
              {{"job", Align::left},
               {"model", Align::left},
               {"came"},
               {"deadline"},
               {"answer", Align::left},
               {"started"},
               {"done"},
               {"why", Align::left}},
              {}};
  std::size_t left_out = 0;
  for (std::size_t id = 0; id < history.jobs.size(); ++id) {
    const AllocatedJob& job = history.jobs[id];
    if (!job.spec) continue;
    if (table.rows.size() >= kMostRows) {
      ++left_out;
      continue;
    }
    const bool has_deadline = job.spec->deadline_kind != DeadlineKind::none;
    table.rows.push_back({job.spec->name, job.spec->curve.model, clock_text(job.came),
                          has_deadline ? clock_text(job.spec->deadline) : "-", answer_of(job),
                          started[id] == Time::max() ? "-" : clock_text(started[id]),
                          job.ended ? clock_text(*job.ended) : "-", to_string(job.answer)});
  }
  table.title = left_out == 0 ? fmt::format("All {} jobs", table.rows.size())
                              : fmt::format("The first {} jobs; {} more are in the log (--log)",
                                            table.rows.size(), left_out);
  return table;
}

std::string_view gantt_style() {
  return R"css(
.plot .area { fill: var(--colour); fill-opacity: 0.9; }
.plot .area.lent { fill-opacity: 0.35; }
.gantt .lent { fill: var(--colour); fill-opacity: 0.28; stroke: var(--page); stroke-width: 0.6; }
.gantt .kept { fill: var(--colour); fill-opacity: 0.92; stroke: var(--page); stroke-width: 0.6; }
.gantt g:hover .lent { fill-opacity: 0.5; }
.gantt g:hover rect { stroke: var(--ink); stroke-width: 1.2; }
.gantt g text { font-size: 10.5px; pointer-events: none; }
.gantt .on { fill: var(--page); }
.gantt .off { fill: var(--ink); }
.gantt .deadline { stroke: var(--ink); stroke-width: 1.5; fill: none; }
.gantt .refused { stroke: #c0392b; stroke-width: 2; fill: none; }
@media (prefers-color-scheme: dark) { .gantt .refused { stroke: #ff7b6b; } .gantt .kept { fill-opacity: 0.8; } }
)css";
}

}  // namespace weir::report
