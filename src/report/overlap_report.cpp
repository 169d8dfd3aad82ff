// SPDX-License-Identifier: Apache-2.0
#include "report/overlap_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "formats/json_text.h"
#include "report/report_data.h"
#include "report/svg_axes.h"
#include "report/svg_plot.h"
#include "report/text_table.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;
using predict::CollectiveRun;
using predict::OverlapRun;
using predict::SentGroups;

constexpr double kMegabyte = 1e6;

std::vector<SentGroups> with_choice(const OverlapView& view, std::size_t choice) {
  std::vector<SentGroups> sent = view.advice.groups;
  for (SentGroups& part : sent) part.choice = choice;
  return sent;
}

OverlapRun run_before(const OverlapView& view) {
  return view.step.run(with_choice(view, view.advice.default_choice));
}

OverlapRun run_after(const OverlapView& view) {
  return view.step.run(view.advice.advised(view.step));
}

double lower_bound(const OverlapView& view) {
  const bool is_fused = view.advice.groups.size() < view.step.groups().size();
  return is_fused ? view.step.fused_lower_bound_ms() : view.step.lower_bound_ms();
}

int ctas_of(const OverlapView& view, std::size_t choice) {
  return view.step.ctas()[choice];
}

// "8" or "2 to 8".
std::string ctas_text(const OverlapView& view, const OverlapRun& run) {
  int least = ctas_of(view, run.collectives.front().choice);
  int most = least;
  for (const CollectiveRun& one : run.collectives) {
    least = std::min(least, ctas_of(view, one.choice));
    most = std::max(most, ctas_of(view, one.choice));
  }
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

// A stretch of computing, alone or beside a collective.
struct ComputeSpan {
  double from_ms = 0;
  double to_ms = 0;
  bool is_beside = false;
};

std::vector<ComputeSpan> compute_spans(const OverlapRun& run) {
  std::vector<ComputeSpan> spans;
  double at = 0;
  const auto add = [&](double to, bool is_beside) {
    to = std::min(to, run.computed_ms);
    if (to > at) spans.push_back({at, to, is_beside});
    at = std::max(at, to);
  };
  for (const CollectiveRun& one : run.collectives) {
    add(one.start_ms, false);
    add(one.end_ms, true);
  }
  add(run.computed_ms, false);
  return spans;
}

std::string text_lines(const OverlapRun& run, double scale_ms, std::size_t width) {
  const auto at = [&](double ms) {
    const double place = ms / scale_ms * static_cast<double>(width);
    return std::min(width - 1, static_cast<std::size_t>(place));
  };
  std::string compute(width, ' ');
  std::string send(width, ' ');
  for (const ComputeSpan& span : compute_spans(run)) {
    for (std::size_t i = at(span.from_ms); i <= at(span.to_ms); ++i)
      compute[i] = span.is_beside ? '-' : '=';
  }
  for (std::size_t c = 0; c < run.collectives.size(); ++c) {
    const CollectiveRun& one = run.collectives[c];
    for (std::size_t i = at(one.start_ms); i <= at(one.end_ms); ++i) send[i] = '#';
    send[at(one.start_ms)] = static_cast<char>('0' + c % 10);
  }
  const auto trimmed = [](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  return fmt::format("  {}\n  {}\n", trimmed("compute  " + compute), trimmed("send     " + send));
}

Json run_json(const OverlapView& view, const OverlapRun& run) {
  Json collectives = Json::array();
  for (const CollectiveRun& one : run.collectives) {
    collectives.push_back({{"groups", {one.first_group, one.end_group}},
                           {"bytes", one.bytes},
                           {"ctas", ctas_of(view, one.choice)},
                           {"start_ms", one.start_ms},
                           {"end_ms", one.end_ms}});
  }
  return {{"step_ms", run.step_ms},
          {"computed_ms", run.computed_ms},
          {"exposed_ms", run.exposed_ms()},
          {"collectives", std::move(collectives)}};
}

Json each_ctas(const OverlapView& view) {
  Json ctas = Json::array();
  for (const SentGroups& part : view.advice.each.sent) ctas.push_back(ctas_of(view, part.choice));
  return ctas;
}

// How many CTAs NCCL may take and must be able to take: a tuner's rules choose among those. It takes fewer than its
// default when told the most, and more than that only when told the least.
struct NcclCtas {
  int least = 1;
  int most = 1;
};

NcclCtas nccl_ctas(const OverlapView& view) {
  const plan::OverlapAdvice& advice = view.advice;
  const int usual = ctas_of(view, advice.default_choice);
  NcclCtas ctas;
  if (advice.is_tuner_worth_it()) {
    for (const plan::TunerRule& rule : advice.tuner) ctas.most = std::max(ctas.most, rule.ctas);
  } else {
    ctas.most = advice.gain() > 0 ? ctas_of(view, advice.best_uniform) : usual;
  }
  if (ctas.most > usual) ctas.least = ctas.most;
  return ctas;
}

Json nccl_json(const OverlapView& view) {
  const plan::OverlapAdvice& advice = view.advice;
  Json rules = Json::array();
  for (const plan::TunerRule& rule : advice.tuner)
    rules.push_back(
        {{"min_bytes", rule.min_bytes}, {"max_bytes", rule.max_bytes}, {"channels", rule.ctas}});
  const NcclCtas ctas = nccl_ctas(view);
  Json environment = {{"NCCL_MAX_CTAS", std::to_string(ctas.most)}};
  if (ctas.least > 1) environment["NCCL_MIN_CTAS"] = std::to_string(ctas.least);
  return {{"environment", std::move(environment)},
          {"config", {{"minCTAs", ctas.least}, {"maxCTAs", ctas.most}}},
          {"tuner", std::move(rules)},
          {"use_tuner", advice.is_tuner_worth_it()}};
}

// ---- the page ----

constexpr double kOverlapLabel = 110;
constexpr double kOverlapRow = 26;

std::string bar_svg(const char* style, double x, double width, double y, const std::string& title) {
  return fmt::format(
      "<rect class=\"bar {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
      "<title>{}</title></rect>\n",
      style, x, y, std::max(width, 0.5), kOverlapRow * 0.8, escape_markup(title));
}

std::string run_svg(const OverlapView& view, const OverlapRun& run, const Axis& axis, double top,
                    const std::string& label) {
  std::string svg = fmt::format(
      "<text class=\"label\" x=\"0\" y=\"{:.1f}\">{}</text><text x=\"0\" "
      "y=\"{:.1f}\">sending</text>\n",
      top + kOverlapRow * 0.6, escape_markup(label), top + kOverlapRow * 1.6);
  for (const ComputeSpan& span : compute_spans(run)) {
    svg += bar_svg(
        span.is_beside ? "s4" : "s0", axis.at(span.from_ms),
        axis.at(span.to_ms) - axis.at(span.from_ms), top,
        fmt::format("computing {}: {:.2f} to {:.2f} ms",
                    span.is_beside ? "beside a collective" : "alone", span.from_ms, span.to_ms));
  }
  for (const CollectiveRun& one : run.collectives) {
    svg += bar_svg("s2", axis.at(one.start_ms), axis.at(one.end_ms) - axis.at(one.start_ms),
                   top + kOverlapRow,
                   fmt::format("{:.1f} MB with {} CTAs: {:.2f} to {:.2f} ms",
                               static_cast<double>(one.bytes) / kMegabyte,
                               ctas_of(view, one.choice), one.start_ms, one.end_ms));
  }
  return svg;
}

std::string time_lines_svg(const OverlapView& view) {
  const OverlapRun before = run_before(view);
  const OverlapRun after = run_after(view);
  const auto ticks = round_ticks(0, std::max(before.step_ms, after.step_ms), 8);
  const PlotFrame frame{.width = 900,
                        .height = 5 * kOverlapRow + 60,
                        .left = kOverlapLabel,
                        .right = 20,
                        .top = 8,
                        .bottom = 48};
  const Axis axis = axis_over(ticks, frame.left, frame.x_end());
  std::string svg = begin_svg(frame, "Time line before and after");
  svg += x_axis(frame, axis, number_ticks(ticks), "ms");
  svg += run_svg(view, before, axis, frame.top, "before");
  svg += run_svg(view, after, axis, frame.top + 2.5 * kOverlapRow, "after");
  return svg + "</svg>\n";
}

std::string ctas_plot(const OverlapView& view) {
  LinePlot plot{"Step by number of CTAs", "CTAs", "step, ms", {}, {}, {}, {}, 0, false, 2, true, 0};
  PlotSeries series{"all collectives alike", 0, {}};
  for (std::size_t c = 0; c < view.step.ctas().size(); ++c) {
    const double ms = view.advice.uniform_ms[c];
    series.points.push_back({static_cast<double>(ctas_of(view, c)), ms, ms, ms});
  }
  plot.series.push_back(std::move(series));
  return to_svg(plot);
}

Table collectives_table(const OverlapView& view) {
  Table table{"", {{"collective"}, {"MB"}, {"CTAs"}, {"alone ms"}, {"from ms"}, {"to ms"}}, {}};
  std::size_t number = 0;
  for (const CollectiveRun& one : run_after(view).collectives) {
    table.rows.push_back({std::to_string(number++),
                          fmt::format("{:.1f}", static_cast<double>(one.bytes) / kMegabyte),
                          std::to_string(ctas_of(view, one.choice)),
                          fmt::format("{:.3f}", one.alone_ms), fmt::format("{:.2f}", one.start_ms),
                          fmt::format("{:.2f}", one.end_ms)});
  }
  return table;
}

}  // namespace

std::string overlap_headline(const OverlapView& view) {
  const std::size_t groups = view.step.groups().size();
  const std::size_t sent = view.advice.groups.size();
  return fmt::format(
      "{}: {:.2f} ms of computing; {:.0f} MB in {} collectives{} over {} ranks at {:g} GB/s.",
      view.name, view.step.timeline().total(),
      static_cast<double>(view.step.bytes(0, groups)) / kMegabyte, sent,
      sent < groups ? fmt::format(" of {} groups", groups) : "", view.system.ranks,
      view.system.network_gbps);
}

std::string overlap_verdict(const OverlapView& view) {
  const plan::OverlapAdvice& advice = view.advice;
  const int usual = ctas_of(view, advice.default_choice);
  const double each_gain = 1 - advice.tuner_ms / advice.uniform_best_ms();
  const std::string each =
      advice.is_tuner_worth_it()
          ? fmt::format(
                "A choice by size saves {:.1f} % more than the best number for all: use the "
                "tuner's table.",
                100 * each_gain)
          : fmt::format(
                "A choice by size saves less than {:.0f} % more: not worth a tuner. One for "
                "each collective would take {:.2f} ms.",
                100 * plan::kWorthATuner, advice.each.step_ms);
  if (advice.gain() == 0) {
    return fmt::format(
        "No gain: {} CTAs, the default, take {:.2f} ms, and no other setting is clearly "
        "better. At least {:.2f} ms are needed.",
        usual, advice.before_ms(), lower_bound(view));
  }
  return fmt::format(
      "{} CTAs instead of {}: {:.2f} ms instead of {:.2f}, {:.1f} % less. {} At least {:.2f} ms "
      "are needed.",
      ctas_text(view, run_after(view)), usual, advice.after_ms(), advice.before_ms(),
      100 * advice.gain(), each, lower_bound(view));
}

Table overlap_table(const OverlapView& view) {
  Table table{"One number of CTAs for all collectives",
              {{"CTAs"},
               {"sending alone ms"},
               {"computing ms"},
               {"exposed ms"},
               {"step ms"},
               {"against default"}},
              {}};
  for (std::size_t choice = 0; choice < view.step.ctas().size(); ++choice) {
    const OverlapRun run = view.step.run(with_choice(view, choice));
    double alone = 0;
    for (const CollectiveRun& one : run.collectives) alone += one.alone_ms;
    const bool is_default = choice == view.advice.default_choice;
    table.rows.push_back(
        {std::to_string(ctas_of(view, choice)), fmt::format("{:.2f}", alone),
         fmt::format("{:.2f}", run.computed_ms), fmt::format("{:.2f}", run.exposed_ms()),
         fmt::format("{:.2f}", run.step_ms),
         is_default ? "default"
                    : fmt::format("{:+.1f} %", 100 * (run.step_ms / view.advice.before_ms() - 1))});
  }
  return table;
}

std::string overlap_time_lines(const OverlapView& view, std::size_t width) {
  const OverlapRun before = run_before(view);
  const OverlapRun after = run_after(view);
  const double scale = std::max(before.step_ms, after.step_ms);
  return fmt::format(
      "Before, {} CTAs, {:.2f} ms:\n{}After, {} CTAs, {:.2f} ms:\n{}"
      "  = computing, - computing beside a collective, # sending\n",
      ctas_text(view, before), before.step_ms, text_lines(before, scale, width),
      ctas_text(view, after), after.step_ms, text_lines(after, scale, width));
}

std::string nccl_settings(const OverlapView& view) {
  const NcclCtas ctas = nccl_ctas(view);
  if (view.advice.is_tuner_worth_it()) {
    const std::string raised =
        ctas.least > 1 ? fmt::format(", and NCCL_MIN_CTAS={}", ctas.least) : std::string{};
    return fmt::format(
        "NCCL: write the table with --tuner FILE and set NCCL_TUNER_CONFIG_FILE=FILE with NCCL's "
        "example tuner plugin{}. That plugin gives one channel to every call without a row in the "
        "table: add rows for what else your program sends.\n",
        raised);
  }
  if (ctas.least > 1)
    return fmt::format(
        "NCCL: NCCL_MIN_CTAS={0} and NCCL_MAX_CTAS={0}, or minCTAs = maxCTAs = {0} in the "
        "configuration of the communicator that sends gradients.\n",
        ctas.most);
  return fmt::format(
      "NCCL: NCCL_MAX_CTAS={0}, or maxCTAs = {0} in the configuration of the communicator "
      "that sends gradients.\n",
      ctas.most);
}

std::string tuner_csv(const OverlapView& view) {
  std::string text =
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n";
  constexpr int kAnyNumber = -1;
  for (const plan::TunerRule& rule : view.advice.tuner) {
    text +=
        fmt::format("allreduce,{},{},ring,simple,{},{},{},-1,-1\n", rule.min_bytes, rule.max_bytes,
                    rule.ctas, view.told_nodes.value_or(kAnyNumber), view.system.ranks);
  }
  return text;
}

Result<std::string> overlap_json(const OverlapView& view) {
  const plan::OverlapAdvice& advice = view.advice;
  Json uniform = Json::array();
  for (std::size_t c = 0; c < advice.uniform_ms.size(); ++c)
    uniform.push_back({{"ctas", ctas_of(view, c)}, {"step_ms", advice.uniform_ms[c]}});
  const Json document = {{"name", view.name},
                         {"computing_ms", view.step.timeline().total()},
                         {"default_ctas", ctas_of(view, advice.default_choice)},
                         {"best_uniform_ctas", ctas_of(view, advice.best_uniform)},
                         {"gain_percent", 100 * advice.gain()},
                         {"lower_bound_ms", lower_bound(view)},
                         {"each_ms", advice.each.step_ms},
                         {"each_ctas", each_ctas(view)},
                         {"by_size_ms", advice.tuner_ms},
                         {"uniform", std::move(uniform)},
                         {"before", run_json(view, run_before(view))},
                         {"after", run_json(view, run_after(view))},
                         {"nccl", nccl_json(view)}};
  return formats::json_text(document);
}

std::string overlap_page(const ReportHeader& header, const OverlapView& view) {
  std::string content = figure("Time line",
                               "Blue: computing alone. Yellow: computing beside a collective, "
                               "which slows it down. Green: sending.",
                               time_lines_svg(view), collectives_table(view));
  content += figure("Step by number of CTAs", "All collectives with the same number of CTAs.",
                    ctas_plot(view), overlap_table(view));
  content += fmt::format("<h2>What to set</h2>\n<p>{}</p>\n", escape_markup(nccl_settings(view)));
  return page(header, "How many CTAs should collectives use?",
              overlap_headline(view) + " " + overlap_verdict(view), content,
              "Predicted from kernels measured alone and beside a collective.",
              report_data(overlap_json(view), header));
}

}  // namespace weir::report
