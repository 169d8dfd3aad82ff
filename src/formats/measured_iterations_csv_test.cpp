// SPDX-License-Identifier: Apache-2.0
#include "formats/measured_iterations_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::formats {
namespace {

using testing::HasSubstr;

TEST(MeasuredIterationsCsv, ReadsWhatTheCollectorWrites) {
  auto input = InputFile::from_memory("it.csv",
                                      "model,batch,round,judged,parameters,iteration_ms,step_"
                                      "probe_us\nvgg11,48,1,0,9,11.25,8.5\n");
  const auto read = read_measured_iterations(std::move(*input));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().network, "vgg11");
  EXPECT_EQ(read->front().batch, 48);
  EXPECT_FALSE(read->front().is_judged);
  EXPECT_EQ(read->front().milliseconds, 11.25);
  EXPECT_EQ(read->front().probe_microseconds, 8.5);
}

TEST(MeasuredIterationsCsv, NamesEveryMistake) {
  auto input = InputFile::from_memory(
      "it.csv", "model,batch,round,judged,iteration_ms,step_probe_us\nvgg11,0,1,2,-1,x\n");
  const auto read = read_measured_iterations(std::move(*input));
  ASSERT_FALSE(read);
  const std::string text = to_string(read.error().details);
  for (const char* column : {"batch", "judged", "iteration_ms", "step_probe_us"})
    EXPECT_THAT(text, HasSubstr(column));
}

}  // namespace
}  // namespace weir::formats
