// SPDX-License-Identifier: Apache-2.0
#include "domain/curve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>

namespace weir {
namespace {

using Points = std::vector<CurvePoint>;

CurvePoint point(std::int32_t gpus, std::int64_t rate) {
  return {gpus, IterationRate{rate}};
}
Points useful(const Curve& curve) {
  return {curve.useful().begin(), curve.useful().end()};
}
Points measured(const Curve& curve) {
  return {curve.measured().begin(), curve.measured().end()};
}

TEST(Curve, WithoutPointsIsEmpty) {
  EXPECT_TRUE(Curve{}.empty());
  EXPECT_TRUE(Curve{Points{}}.empty());
  EXPECT_EQ(Curve{}.rate_at(1), IterationRate{0});
}

TEST(Curve, LeavesOutWhatWasNotMeasured) {
  const Curve curve{{point(1, 0), point(2, -5), point(0, 7), point(-4, 7), point(4, 9)}};
  EXPECT_EQ(measured(curve), Points{point(4, 9)});
  EXPECT_EQ(useful(curve), Points{point(4, 9)});  // the least size is 4
}

TEST(Curve, OfTwoPointsForOneSizeTheFasterCounts) {
  EXPECT_EQ(Curve({point(2, 5), point(2, 8), point(2, 6)}).rate_at(2), IterationRate{8});
}

TEST(Curve, PointsComeInAnyOrder) {
  EXPECT_EQ(Curve({point(4, 30), point(1, 10), point(2, 19)}),
            Curve({point(1, 10), point(2, 19), point(4, 30)}));
}

TEST(Curve, IsCutAtTheKneeButKeepsWhatWasMeasured) {
  const Curve curve{{point(1, 10), point(2, 19), point(4, 15)}};
  EXPECT_EQ(useful(curve), (Points{point(1, 10), point(2, 19)}));
  EXPECT_EQ(curve.rate_at(4), IterationRate{15});
}

TEST(Curve, ASizeThatIsNotFasterIsSkippedAndALargerOneMayStillHelp) {
  // As T4 ncf: 46.9, 37.6, 56.3, 23.2 at 1, 2, 4, 8.
  const Curve curve{{point(1, 469), point(2, 376), point(4, 563), point(8, 232)}};
  EXPECT_EQ(useful(curve), (Points{point(1, 469), point(4, 563)}));
}

TEST(Curve, EqualSpeedOnMoreGpusIsNotUseful) {
  EXPECT_EQ(useful(Curve{{point(1, 10), point(2, 10)}}), Points{point(1, 10)});
}

TEST(Curve, OtherSizesThanPowersOfTwoAreMeasuredButNotUseful) {
  const Curve curve{{point(1, 10), point(3, 25), point(4, 30)}};
  EXPECT_EQ(useful(curve), (Points{point(1, 10), point(4, 30)}));
  EXPECT_EQ(curve.rate_at(3), IterationRate{25});
  EXPECT_EQ(curve.rate_at(2), IterationRate{0});
}

TEST(CurveBook, FindsByModelAndBatch) {
  CurveBook book;
  book.curves[{"bert", 64}] = Curve{{point(1, 10)}};
  ASSERT_NE(book.find({"bert", 64}), nullptr);
  EXPECT_EQ(book.find({"bert", 128}), nullptr);
  EXPECT_EQ(book.find({"gpt", 64}), nullptr);
}

RC_GTEST_PROP(Curve, UsefulSizesArePowersOfTwoWithRisingSpeedAndNothingBetterIsLeftOut, ()) {
  Points points;
  const int count = *rc::gen::inRange(0, 14);
  for (int i = 0; i < count; ++i)
    points.push_back(point(*rc::gen::inRange(-1, 70), *rc::gen::inRange<std::int64_t>(-2, 12)));
  const Curve curve{points};
  for (std::size_t i = 0; i < curve.useful().size(); ++i) {
    const CurvePoint& here = curve.useful()[i];
    RC_ASSERT(std::has_single_bit(static_cast<std::uint32_t>(here.gpus)));
    RC_ASSERT(here.rate == curve.rate_at(here.gpus));
    if (i == 0) continue;
    RC_ASSERT(curve.useful()[i - 1].gpus < here.gpus);
    RC_ASSERT(curve.useful()[i - 1].rate < here.rate);
  }
  for (const CurvePoint& given : points) {
    if (given.gpus < 1 || given.rate.value < 1) continue;
    RC_ASSERT(curve.rate_at(given.gpus) >= given.rate);
    if (!std::has_single_bit(static_cast<std::uint32_t>(given.gpus))) continue;
    bool is_matched = false;  // by a useful size that is not larger and not slower
    for (const CurvePoint& here : curve.useful())
      is_matched = is_matched || (here.gpus <= given.gpus && here.rate >= given.rate);
    RC_ASSERT(is_matched);
  }
}

}  // namespace
}  // namespace weir
