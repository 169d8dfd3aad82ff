// SPDX-License-Identifier: Apache-2.0
#include "formats/conv_algorithms_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::formats {
namespace {

using testing::HasSubstr;

constexpr const char* kHead =
    "split,pass,dtype,layout,B,Cin,Cout,ksize,insize,stride,pad,algorithm,latency_ms,workspace_"
    "bytes,heuristic_rank,n_kernels,kernel_ids,launches\n";

Result<std::vector<TimedAlgorithm>> read_rows(const std::string& rows) {
  const std::string text = kHead + rows;
  auto input = InputFile::from_memory("algorithms.csv", text);
  return read_conv_algorithms(std::move(*input), {"small", "large"});
}

TEST(ConvAlgorithmsCsv, ReadsAnAlgorithmWithItsLargestLaunch) {
  const auto read = read_rows(
      "test,dgrad,bf16,nhwc,24,16,32,5,28,1,2,algo_1,0.5,1024,0,2,0|1,0:2x1x1:32x1x1:0:9:1:1;1:"
      "8x2x1:64x1x1:0:9:1:1\n");
  ASSERT_TRUE(read) << to_string(read.error().details);
  const TimedAlgorithm& one = read->front();
  EXPECT_EQ(one.sample.call.variant, "dgrad/nhwc/algo_1");
  EXPECT_TRUE(one.sample.is_held_out);
  EXPECT_EQ(one.workspace_bytes, 1024);
  EXPECT_EQ(one.heuristic_rank, 0);
  EXPECT_EQ(one.sample.launch,
            (KernelLaunch{"large", kernel_name_digest("small") + "|" + kernel_name_digest("large"),
                          16, 64, 2, 0, 64}));
}

TEST(ConvAlgorithmsCsv, PytorchsChoicesHaveNoRank) {
  const auto read =
      read_rows("train,fwd,fp32,nchw,1,1,1,1,1,1,0,torch,0.5,,,1,0,0:2x1x1:32x1x1:0:9:1:1\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().heuristic_rank, -1);
}

TEST(ConvAlgorithmsCsv, NamesEveryMistake) {
  const auto read =
      read_rows("dev,up,int8,nchwc,-1,1,1,1,1,1,0,a,x,,,1,0,5:2x1x1:32x1x1:0:9:1:1\n");
  ASSERT_FALSE(read);
  const std::string text = to_string(read.error().details);
  for (const char* column : {"split", "pass", "dtype", "layout", "B", "latency_ms", "launches"})
    EXPECT_THAT(text, HasSubstr(column));
}

TEST(ConvAlgorithmsCsv, AnAlgorithmHasALaunchWithAllItsNumbers) {
  for (const char* launches : {"", "0:2x1x1:32x1x1", "0:2x1x1:2048x1x1:0:9:1:1"}) {
    const auto read =
        read_rows(std::string{"train,fwd,fp32,nchw,1,1,1,1,1,1,0,a,0.5,,,1,0,"} + launches + "\n");
    ASSERT_FALSE(read) << launches;
    EXPECT_THAT(to_string(read.error().details), HasSubstr("launch")) << launches;
  }
}

}  // namespace
}  // namespace weir::formats
