// SPDX-License-Identifier: Apache-2.0
#include "report/stage_memory_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "report/plan_tables.h"
#include "report/svg_axes.h"

namespace weir::report {
namespace {

using predict::StageMemory;

struct Part {
  std::string_view name;
  double StageMemory::*mib;
};
constexpr std::array kParts{
    Part{"weights", &StageMemory::weights},       Part{"gradients", &StageMemory::gradients},
    Part{"optimizer", &StageMemory::optimizer},   Part{"activations", &StageMemory::activations},
    Part{"peak of backward", &StageMemory::peak}, Part{"workspace", &StageMemory::reserved}};

constexpr double kPlotWidth = 1000;
constexpr double kPlotLeft = 64;
constexpr double kPlotTop = 30;
constexpr double kPlotRow = 24;
constexpr double kPlotAxisHeight = 30;

std::string part_legend() {
  std::string svg;
  double x = kPlotLeft;
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    svg += fmt::format(
        "<rect class=\"bar s{}\" x=\"{:.1f}\" y=\"4\" width=\"16\" height=\"12\"/>"
        "<text x=\"{:.1f}\" y=\"15\">{}</text>\n",
        i, x, x + 21, kParts[i].name);
    x += 45 + 7.5 * static_cast<double>(kParts[i].name.size());
  }
  return svg;
}

std::string bar_svg(const StageMemory& memory, std::size_t stage, const Axis& axis) {
  const double y = kPlotTop + kPlotRow * static_cast<double>(stage);
  std::string svg = fmt::format("<text class=\"label\" x=\"0\" y=\"{:.1f}\">stage {}</text>\n",
                                y + kPlotRow * 0.65, stage);
  double sum = 0;
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const double mib = memory.*kParts[i].mib;
    const double left = axis.at(sum);
    sum += mib;
    svg += fmt::format(
        "<rect class=\"bar s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>stage {}: {} {} MiB</title></rect>\n",
        i, left, y + 2, axis.at(sum) - left, kPlotRow - 4, stage, kParts[i].name,
        with_commas(mib, 0));
  }
  return svg;
}

}  // namespace

std::string stage_memory_svg(const PlanView& view) {
  const double most = std::max(view.cost.largest_memory_mib, view.limit_mib().value_or(0));
  const auto ticks = round_ticks(0, most, 6);
  const Axis axis = axis_over(ticks, kPlotLeft, kPlotWidth - 30);
  const double bottom = kPlotTop + kPlotRow * static_cast<double>(view.cost.stages.size());
  std::string svg = fmt::format(
      "<svg class=\"plot memory\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n<title>Memory of "
      "each "
      "GPU, by stage</title>\n",
      kPlotWidth, bottom + kPlotAxisHeight);
  svg += part_legend();
  for (const double tick : ticks) {
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        axis.at(tick), kPlotTop, bottom, bottom + 18, with_commas(tick, 0));
  }
  for (std::size_t i = 0; i < view.cost.stages.size(); ++i) {
    svg += bar_svg(view.cost.stages[i].memory, i, axis);
  }
  if (view.limit_mib()) {
    svg += fmt::format(
        "<path class=\"limit\" d=\"M{:.1f} {:.1f}V{:.1f}\"><title>limit {} MiB"
        "</title></path>\n",
        axis.at(*view.limit_mib()), kPlotTop - 4, bottom + 4, with_commas(*view.limit_mib(), 0));
  }
  return svg + "</svg>\n";
}

std::string_view stage_memory_style() {
  return R"css(
.memory .bar { stroke: var(--page); stroke-width: 0.5; }
.memory .limit { stroke: #c0392b; stroke-width: 2; fill: none; }
@media (prefers-color-scheme: dark) { .memory .limit { stroke: #ff7b6b; } }
)css";
}

}  // namespace weir::report
