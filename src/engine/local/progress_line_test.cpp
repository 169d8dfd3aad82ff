// SPDX-License-Identifier: Apache-2.0
#include "engine/local/progress_line.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::engine {
namespace {

TEST(ProgressLine, FindsTheNumbersWhereThePatternHasThem) {
  const ProgressLine line{"step {step} loss {loss}"};
  EXPECT_EQ(line.find_in("[rank0] step 120 loss 0.25 lr 1e-3"), (ProgressReading{120, 0.25}));
  EXPECT_EQ(line.find_in("step   7\tloss 1e-3"), (ProgressReading{7, 1e-3}));
  EXPECT_EQ(line.find_in("step 7 loss nan"), (ProgressReading{7, std::nullopt}));
  EXPECT_FALSE(line.find_in("step loss 3"));
  EXPECT_FALSE(line.find_in("step 7"));
  EXPECT_FALSE(line.find_in("step -7 loss 1"));
  EXPECT_FALSE(line.find_in("step 99999999999999999999 loss 1"));
}

TEST(ProgressLine, MayBeginWithTheNumberAndTakesAllOfIt) {
  const ProgressLine line{"{step}/1000"};
  EXPECT_EQ(line.find_in(" 12%|#   | 123/1000 [00:12<01:20]"),
            (ProgressReading{123, std::nullopt}));
  EXPECT_FALSE(line.find_in("123/2000"));
}

TEST(ProgressLine, LooksAtWholeLinesHoweverTheyAreCut) {
  ProgressLine line{"step {step}"};
  EXPECT_FALSE(line.append("step 1"));
  EXPECT_EQ(line.append("2\nstep 13\nstep 1"), (ProgressReading{13, std::nullopt}));
  EXPECT_EQ(line.append("4\r"), (ProgressReading{14, std::nullopt}));
}

TEST(ProgressLine, ALineWithoutEndCostsNoMemoryAndIsNotBelieved) {
  ProgressLine line{"step {step}"};
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(line.append(std::string(1000, 'x')));
  EXPECT_FALSE(line.append("step 5\n"));
  EXPECT_EQ(line.append("step 6\n"), (ProgressReading{6, std::nullopt}));
}

RC_GTEST_PROP(ProgressLine, PortionsMakeNoDifference, (const std::vector<std::string>& portions)) {
  ProgressLine in_portions{"s{step}"};
  ProgressLine at_once{"s{step}"};
  std::string all;
  std::optional<ProgressReading> last;
  const auto step = *rc::gen::inRange(0, 1000);
  for (const std::string& portion : portions) all += portion + "s" + std::to_string(step) + "\n";
  for (const char c : all)
    if (const auto reading = in_portions.append(std::string(1, c))) last = reading;
  RC_ASSERT(at_once.append(all) == last);
}

}  // namespace
}  // namespace weir::engine
