// SPDX-License-Identifier: Apache-2.0
#include "report/svg_plot.h"

#include <gmock/gmock.h>

namespace weir::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RoundTicks, AreRoundAndCoverTheData) {
  EXPECT_THAT(round_ticks(0, 130, 13),
              ElementsAre(0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130));
  EXPECT_THAT(round_ticks(81.2, 96.4, 4), ElementsAre(80, 85, 90, 95, 100));
  EXPECT_THAT(
      round_ticks(0.9, 1.1, 2),
      ElementsAre(::testing::DoubleEq(0.9), ::testing::DoubleEq(1.0), ::testing::DoubleEq(1.1)));
  EXPECT_THAT(round_ticks(5, 5, 1), ElementsAre(5, 6));  // one value still makes an axis
}

TEST(LinePlot, ShowsBandMarksAndLegend) {
  LinePlot plot{"Allocation", "arrived %", "allocated %", {}, {}, {}, {}, 10, false, 2};
  plot.series = {{"fgd", 0, {{90, 89, 88, 90}, {95, 92, 91, 93}, {100, 95, 94, 96}}}};
  const std::string svg = to_svg(plot);
  EXPECT_THAT(svg, HasSubstr("aria-label=\"Allocation\""));
  EXPECT_THAT(svg, HasSubstr("<path class=\"band\""));
  EXPECT_THAT(svg, HasSubstr("<title>fgd, arrived % 100: 95.00 (94.00 to 96.00)</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("arrived % 95:")));  // marks are at multiples of ten
  EXPECT_THAT(svg, HasSubstr(">fgd</text>"));
}

TEST(LinePlot, LeavesOutWhatComesBeforeItsStart) {
  LinePlot plot{"t", "x",   "y", {{"a", 0, {{0, 0, 0, 0}, {60, 1, 1, 1}}}}, 50.0, {}, {},
                0,   false, 2};
  EXPECT_THAT(to_svg(plot), Not(HasSubstr("a, x 0:")));
  EXPECT_THAT(to_svg(plot), HasSubstr("a, x 60:"));
}

TEST(Plots, WithoutDataAreEmptyAxes) {
  EXPECT_THAT(to_svg(LinePlot{}), HasSubstr("</svg>"));
  EXPECT_THAT(to_svg(BarPlot{}), HasSubstr("</svg>"));
}

TEST(BarPlot, HasABarForEachValueThatExists) {
  const BarPlot plot{
      "Stranded", "GPUs", {"default", "a<b"}, {{"fgd", 1, {Bar{290, 280, 300}, std::nullopt}}}, 1};
  const std::string svg = to_svg(plot);
  EXPECT_THAT(svg, HasSubstr("<title>fgd, default: 290.0 (280.0 to 300.0)</title>"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, Not(HasSubstr("fgd, a&lt;b")));
}

TEST(EscapeMarkup, LeavesNothingThatCouldBeMarkup) {
  EXPECT_EQ(escape_markup("<b a=\"1\">&\x01"), "&lt;b a=&quot;1&quot;&gt;&amp; ");
}

}  // namespace
}  // namespace weir::report
