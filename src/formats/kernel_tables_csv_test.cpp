// SPDX-License-Identifier: Apache-2.0
#include "formats/kernel_tables_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "domain/diagnostics.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kKernels = {"sgemm_64x64_nn", "splitKreduce", "nvjet_128x256_64x4"};

Result<std::vector<KernelTable>> read(KernelFamily family, const std::string& text) {
  auto input = InputFile::from_memory("table.csv", text);
  std::vector<KernelTable> tables;
  const auto done = read_kernel_table(std::move(*input), family, kKernels, tables);
  if (!done) return tl::unexpected(done.error());
  return tables;
}

TEST(KernelTablesCsv, ReadsAPublicTable) {
  const auto tables =
      read(KernelFamily::gemm,
           "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,n_kernels,B,M,N,K\n"
           "train,bmm,Tesla T4,0.5,0,4,1,14,256,1,1,1,14,21,16,392\n"
           "test,linear,Tesla P4,0.25,1,2,3,1,128,2,1,2,1,8,9,10\n");
  ASSERT_TRUE(tables) << to_string(tables.error().details);
  ASSERT_EQ(tables->size(), 2U);
  const KernelSample& first = (*tables)[0].samples[0];
  EXPECT_EQ(to_string(first.call), "gemm bmm fp32 B=14 M=21 N=16 K=392");
  EXPECT_EQ(first.launch, (KernelLaunch{"sgemm_64x64_nn", kernel_name_digest("sgemm_64x64_nn"), 56,
                                        256, 1, 0, 0}));
  EXPECT_FALSE(first.is_held_out);
  const KernelSample& second = (*tables)[1].samples[0];
  EXPECT_TRUE(second.is_held_out);
  EXPECT_EQ(second.launch.threads, 256);
  EXPECT_EQ(second.launch.kernels, 2);
}

constexpr const char* kCollected =
    "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,B,M,N,K,layout,dtype,occ,cpu_us,repeat,"
    "launches\n";

TEST(KernelTablesCsv, TheKernelThatDoesTheArithmeticIsTheMainOne) {
  const auto tables = read(KernelFamily::gemm,
                           std::string{kCollected} +
                               "train,mm,NVIDIA H200,0.5,1,999,1,1,64,1,1,1,2,3,4,nt,bf16,2,12.5,0,"
                               "2:132x1x1:384x1x1:0:168:1:2;1:999x1x1:64x1x1:0:30:2:1\n");
  ASSERT_TRUE(tables) << to_string(tables.error().details);
  const KernelSample& sample = (*tables)[0].samples[0];
  EXPECT_EQ(sample.call.variant, "nt");
  EXPECT_EQ(sample.call.dtype, "bf16");
  EXPECT_EQ(sample.cpu_microseconds, 12.5);
  EXPECT_EQ(sample.launch.kernel, "nvjet_128x256_64x4");
  EXPECT_EQ(sample.launch.blocks, 132);
  EXPECT_EQ(sample.launch.threads, 384);
  EXPECT_EQ(sample.launch.occupancy, 1);
  EXPECT_EQ(sample.launch.helper_threads, 999 * 64);
}

// Kernels that fused attention calls before and after itself carry its name, too.
TEST(KernelTablesCsv, WhatPreparesAttentionIsNotTheMainKernel) {
  const std::string main = "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel";
  auto input = InputFile::from_memory(
      "table.csv",
      "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,B,heads,kv_heads,Sq,Sk,D,causal,pass,"
      "backend,dtype,occ,launches\n"
      "train,sdpa,NVIDIA H200,0.5,0,24,1,1,256,1,1,1,1,1,3072,3072,64,1,bwd,flash,bf16,5,"
      "0:24x1x1:256x1x1:0:32:5:1;1:12x1x1:384x1x1:0:32:1:1;2:24x1x1:256x1x1:0:32:5:1\n");
  std::vector<KernelTable> tables;
  const auto done =
      read_kernel_table(std::move(*input), KernelFamily::attention,
                        {"flash_bwd_dot_do_o_kernel", main, "flash_bwd_convert_dq_kernel"}, tables);
  ASSERT_TRUE(done) << to_string(done.error().details);
  const KernelSample& sample = tables[0].samples[0];
  EXPECT_EQ(sample.launch.kernel, main);
  EXPECT_EQ(sample.launch.blocks, 12);
  EXPECT_EQ(sample.launch.occupancy, 1);
  EXPECT_EQ(sample.launch.helper_threads, 2 * 24 * 256);
}

// Tables that number the same kernels differently give the same samples.
TEST(KernelTablesCsv, ASequenceOfKernelsIsNamedByTheirNames) {
  const std::string header =
      "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,kernel_ids,B,Cin,Cout,ksize,insize,"
      "stride,pad\n";
  const auto here =
      read(KernelFamily::conv, header + "train,conv,H,1,0,9,1,1,64,1,1,1|0,8,16,32,3,14,1,1\n");
  ASSERT_TRUE(here) << to_string(here.error().details);
  const std::string other = header + "train,conv,H,1,2,9,1,1,64,1,1,0|2,8,16,32,3,14,1,1\n";
  auto input = InputFile::from_memory("other.csv", other);
  std::vector<KernelTable> there;
  ASSERT_TRUE(read_kernel_table(std::move(*input), KernelFamily::conv,
                                {kKernels[1], "new", kKernels[0]}, there));
  EXPECT_EQ(here->front().samples[0].launch, there.front().samples[0].launch);
  EXPECT_EQ(here->front().samples[0].launch.kernels, 2);
  EXPECT_NE(kernel_name_digest(kKernels[0]), kernel_name_digest(kKernels[1]));
  const auto wrong =
      read(KernelFamily::conv, header + "train,conv,H,1,0,9,1,1,64,1,1,1|3,8,16,32,3,14,1,1\n");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(to_string(wrong.error().details), HasSubstr("table.csv:2: kernel_ids is \"1|3\""));
}

TEST(KernelTablesCsv, AColumnMayTellWhereARowStands) {
  const std::string common = "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,B,H";
  const std::string row = "train,copy,H,1,1,9,1,1,64,1,1,8,16";
  const auto counted = read(KernelFamily::rows, common + "\n" + row + "\n" + row + "\n");
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->front().samples[1].row, 1);
  EXPECT_FALSE(counted->front().samples[1].is_row_told);
  const auto told = read(KernelFamily::rows, common + ",upstream_row\n" + row + ",17\n");
  ASSERT_TRUE(told) << to_string(told.error().details);
  EXPECT_EQ(told->front().samples[0].row, 17);
  EXPECT_TRUE(told->front().samples[0].is_row_told);
  EXPECT_FALSE(read(KernelFamily::rows, common + ",row\n" + row + ",-1\n"));
}

// The public tables have calls that were measured several times without a column that says so.
TEST(KernelTablesCsv, ACallWithSeveralRowsWasMeasuredSeveralTimes) {
  const auto tables = read(KernelFamily::rows,
                           "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,B,H\n"
                           "train,add,T,0.0461,1,9,1,1,64,1,1,8,16\n"
                           "train,add,T,0.0450,1,9,1,1,64,1,1,8,16\n");
  ASSERT_TRUE(tables) << to_string(tables.error().details);
  EXPECT_EQ(tables->front().samples.size(), 2U);
}

TEST(KernelNamesCsv, AnIdHasOneName) {
  const auto names = [](const std::string& rows) {
    return read_kernel_names(*InputFile::from_memory("names.csv", "kernel_id,name\n" + rows));
  };
  ASSERT_TRUE(names("1,b\n0,a\n"));
  EXPECT_EQ(*names("1,b\n0,a\n"), (std::vector<std::string>{"a", "b"}));
  const auto twice = names("0,a\n1,b\n0,c\n1,b\n");
  ASSERT_FALSE(twice);
  EXPECT_THAT(
      to_string(twice.error().details),
      testing::AllOf(HasSubstr("names.csv:4: kernel_id is \"0\", expected another id: line 2 names "
                               "this one already"),
                     HasSubstr("names.csv:5: kernel_id is \"1\"")));
}

TEST(KernelTablesCsv, LeavesOutRepeatedMeasurements) {
  const auto tables = read(KernelFamily::gemm,
                           std::string{kCollected} +
                               "train,mm,NVIDIA H200,0.5,1,9,1,1,64,1,1,1,2,3,4,nt,bf16,2,12.5,1,"
                               "1:9x1x1:64x1x1:0:30:2:1\n");
  ASSERT_TRUE(tables);
  EXPECT_TRUE(tables->empty());
}

TEST(KernelTablesCsv, NamesEveryMistake) {
  const auto tables =
      read(KernelFamily::gemm,
           std::string{kCollected} +
               "train,mm,H,0.5,7,9,1,1,64,1,1,1,2,3,4,nt,bf16,2,1,0,x\n"
               "dev,mm,H,0,1,9,1,1,64,1,1,1,2,3,-4,nt,fp8,2,1,0,1:9x1x1:64x1x1:0:30:2:1\n"
               "train,mm,H,1,1,9,1,1,64,1,1,1,2,3,4,nt,bf16,2,1,0,9:1\n");
  ASSERT_FALSE(tables);
  const std::string text = to_string(tables.error().details);
  EXPECT_THAT(text, HasSubstr("table.csv:2: kernel_id is \"7\""));
  EXPECT_THAT(text, HasSubstr("table.csv:3: split is \"dev\""));
  EXPECT_THAT(text, HasSubstr("table.csv:3: latency_ms is \"0\""));
  EXPECT_THAT(text, HasSubstr("table.csv:3: K is \"-4\""));
  EXPECT_THAT(text, HasSubstr("table.csv:3: dtype is \"fp8\""));
  EXPECT_THAT(text, HasSubstr("table.csv:4: launches is \"9:1\""));
}

TEST(KernelTablesCsv, OnlySizesThatACallMayLackAreZero) {
  const std::string common = "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,";
  const std::string row = "H,1,1,9,1,1,64,1,1,";
  const auto conv = read(KernelFamily::conv, common + "B,Cin,Cout,ksize,insize,stride,pad\n" +
                                                 "train,conv," + row + "8,16,32,0,14,0,0\n" +
                                                 "train,conv," + row + "8,16,32,1,14,1,0\n");
  ASSERT_FALSE(conv);
  EXPECT_EQ(to_string(conv.error().details),
            "table.csv:2: ksize is \"0\", expected an integer from 1 to 1099511627776\n"
            "table.csv:2: stride is \"0\", expected an integer from 1 to 1099511627776\n");
  const auto gemm =
      read(KernelFamily::gemm, common + "B,M,N,K\n" + "train,mm," + row + "1,0,16,32\n");
  ASSERT_FALSE(gemm);
  EXPECT_THAT(to_string(gemm.error().details), HasSubstr("table.csv:2: M is \"0\""));
  EXPECT_TRUE(read(KernelFamily::attention, common + "B,heads,kv_heads,Sq,Sk,D,causal\n" +
                                                "train,sdpa," + row + "1,2,2,64,64,64,0\n"));
  EXPECT_TRUE(read(KernelFamily::image, common + "B,C,insize,ksize,stride,pad\n" + "train,bn," +
                                            row + "8,64,14,0,0,0\n"));
  EXPECT_FALSE(read(KernelFamily::rows, common + "B,H\n" + "train,copy," + row + "0,64\n"));
}

constexpr const char* kCommonColumns = "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,";
constexpr const char* kCommonCells = ",H,1,1,9,1,1,64,1,1,";

// One table of a family; a row is its operator and what follows the common cells.
Result<std::vector<KernelTable>> read_rows(
    KernelFamily family, const std::string& columns,
    const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text = kCommonColumns + columns + "\n";
  for (const auto& [op, cells] : rows) text += "train," + op + kCommonCells + cells + "\n";
  return read(family, text);
}

TEST(KernelTablesCsv, WordsThatTheCollectorDoesNotWriteAreMistakes) {
  const auto gemm = read_rows(KernelFamily::gemm, "B,M,N,K,layout",
                              {{"mm", "1,2,3,4,nn"}, {"fft", "1,2,3,4,chwn"}});
  ASSERT_FALSE(gemm);
  EXPECT_EQ(to_string(gemm.error().details),
            "table.csv:3: op is \"fft\", expected one of linear, mm, bmm\n"
            "table.csv:3: layout is \"chwn\", expected one of nn, nt, tn\n");
  const auto conv = read_rows(
      KernelFamily::conv, "B,Cin,Cout,ksize,insize,stride,pad,pass,layout",
      {{"conv", "8,16,32,3,14,1,1,dgrad,nhwc"}, {"noop", "8,16,32,3,14,1,1,sideways,chwn"}});
  ASSERT_FALSE(conv);
  EXPECT_EQ(to_string(conv.error().details),
            "table.csv:3: op is \"noop\", expected one of conv\n"
            "table.csv:3: pass is \"sideways\", expected one of fwd, dgrad, wgrad\n"
            "table.csv:3: layout is \"chwn\", expected one of nhwc, nchw\n");
  const auto attention = read_rows(
      KernelFamily::attention, "B,heads,kv_heads,Sq,Sk,D,causal,pass,backend",
      {{"sdpa", "1,2,2,64,64,64,0,bwd,efficient"}, {"fft", "1,2,2,64,64,64,0,dgrad,magic"}});
  ASSERT_FALSE(attention);
  EXPECT_EQ(to_string(attention.error().details),
            "table.csv:3: op is \"fft\", expected one of sdpa\n"
            "table.csv:3: pass is \"dgrad\", expected one of fwd, bwd\n"
            "table.csv:3: backend is \"magic\", expected one of flash, efficient, cudnn, math\n");
  const auto image =
      read_rows(KernelFamily::image, "B,C,insize,ksize,stride,pad,pass,layout",
                {{"avgpool", "8,64,14,0,0,0,fwd,nchw"}, {"fft", "8,64,14,0,0,0,wgrad,chwn"}});
  ASSERT_FALSE(image);
  EXPECT_EQ(to_string(image.error().details),
            "table.csv:3: op is \"fft\", expected one of bn, maxpool, avgpool\n"
            "table.csv:3: pass is \"wgrad\", expected one of fwd, bwd\n"
            "table.csv:3: layout is \"chwn\", expected one of nhwc, nchw\n");
}

TEST(KernelTablesCsv, OperatorsOnRowsMayHaveAnyNameButAName) {
  EXPECT_TRUE(read_rows(KernelFamily::rows, "B,H", {{"powu", "8,16"}}));
  const auto nameless = read_rows(KernelFamily::rows, "B,H", {{"", "8,16"}});
  ASSERT_FALSE(nameless);
  EXPECT_EQ(to_string(nameless.error().details),
            "table.csv:2: op is missing, expected the name of an operator\n");
  const auto of_no_gpu = read(
      KernelFamily::rows, std::string{kCommonColumns} + "B,H\ntrain,copy,,1,1,9,1,1,64,1,1,8,16\n");
  ASSERT_FALSE(of_no_gpu);
  EXPECT_THAT(to_string(of_no_gpu.error().details), HasSubstr("table.csv:2: device is missing"));
}

TEST(KernelTablesCsv, SizesThatDoNotGoTogetherAreMistakes) {
  const auto attention = read_rows(KernelFamily::attention, "B,heads,kv_heads,Sq,Sk,D,causal",
                                   {{"sdpa", "1,12,4,64,64,64,1"},
                                    {"sdpa", "1,12,5,64,64,64,1"},
                                    {"sdpa", "1,12,24,64,64,64,1"},
                                    {"sdpa", "1,12,12,64,64,64,2"}});
  ASSERT_FALSE(attention);
  EXPECT_EQ(to_string(attention.error().details),
            "table.csv:3: kv_heads is \"5\", expected a divisor of heads, which is 12\n"
            "table.csv:4: kv_heads is \"24\", expected a divisor of heads, which is 12\n"
            "table.csv:5: causal is \"2\", expected an integer from 0 to 1\n");
  const auto conv = read_rows(KernelFamily::conv, "B,Cin,Cout,ksize,insize,stride,pad",
                              {{"conv", "8,16,32,7,5,1,1"}, {"conv", "8,16,32,8,5,1,1"}});
  ASSERT_FALSE(conv);
  EXPECT_EQ(to_string(conv.error().details),
            "table.csv:3: ksize is \"8\", expected at most 7, the side of the padded image\n");
  const auto image = read_rows(
      KernelFamily::image, "B,C,insize,ksize,stride,pad",
      {{"maxpool", "8,64,14,3,2,1"}, {"maxpool", "8,64,14,17,2,1"}, {"maxpool", "8,64,14,0,0,0"}});
  ASSERT_FALSE(image);
  EXPECT_EQ(to_string(image.error().details),
            "table.csv:3: ksize is \"17\", expected at most 16, the side of the padded image\n"
            "table.csv:4: ksize is \"0\", expected 1 or more for maxpool\n"
            "table.csv:4: stride is \"0\", expected 1 or more for maxpool\n");
}

TEST(KernelTablesCsv, AFileThatIsNoTableIsOneMistake) {
  const auto error_of = [](const std::string& name, const std::string& text) {
    auto input = InputFile::from_memory(name, text);
    std::vector<KernelTable> tables;
    const auto done = read_kernel_table(std::move(*input), KernelFamily::gemm, kKernels, tables);
    return done ? std::string{} : to_string(done.error().details);
  };
  const std::string columns =
      "a first line with the columns split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz\n";
  EXPECT_EQ(error_of("gemm.csv.gz", "this is not gzip"),
            "gemm.csv.gz: content is \"neither gzip nor a table\", expected a gzip file (check it "
            "with gzip -t), or " +
                columns);
  EXPECT_EQ(error_of("gemm.csv", std::string{"\x7f\x45LF\0\0\0", 7}),
            "gemm.csv: content is \"no table\", expected " + columns);
  // A table of which columns are missing names them, and what a file is called does not matter.
  EXPECT_THAT(error_of("gemm.csv.gz", "\"split\",op\ntrain,mm\n"),
              HasSubstr("gemm.csv.gz:1: column device is missing"));
  EXPECT_EQ(error_of("gemm.csv.gz", std::string{"\xEF\xBB\xBF\n"} + kCommonColumns +
                                        "B,M,N,K\ntrain,mm" + kCommonCells + "1,2,3,4\n"),
            "");
  EXPECT_THAT(error_of("gemm.csv", ""), HasSubstr("gemm.csv: file is \"empty\""));
  auto names = read_kernel_names(*InputFile::from_memory("kernel_names.csv.gz", "garbage"));
  ASSERT_FALSE(names);
  EXPECT_EQ(to_string(names.error().details),
            "kernel_names.csv.gz: content is \"neither gzip nor a table\", expected a gzip file "
            "(check it with gzip -t), or a first line with the columns kernel_id,name\n");
}

TEST(KernelTablesCsv, LaunchesThatNoGpuKnowsAreMistakes) {
  const auto tables =
      read(KernelFamily::gemm,
           std::string{kCollected} +
               "train,mm,H,1,1,2147483648,65535,65535,64,1,1,1,2,3,4,nt,bf16,2,1,0,\n"
               "train,mm,H,1,1,9,1,1,1024,2,1,1,2,3,4,nt,bf16,2,1,0,\n"
               "train,mm,H,1e-310,1,9,1,1,64,1,1,1,2,3,4,nt,bf16,2,1,0,\n"
               "train,mm,H,1,1,9,1,1,64,1,1,1,2,3,4,nt,bf16,2,1,0,"
               "1:9x1x1:2147483648x2147483648x2147483648:0:30:2:1\n");
  ASSERT_FALSE(tables);
  const std::string text = to_string(tables.error().details);
  EXPECT_THAT(text, HasSubstr("table.csv:2: gx is \"2147483648\", expected at most 68719476736"));
  EXPECT_THAT(text, HasSubstr("table.csv:3: bx is \"1024\", expected at most 1024"));
  EXPECT_THAT(text, HasSubstr("table.csv:4: latency_ms is \"1e-310\", expected a number from"));
  EXPECT_THAT(text, HasSubstr("table.csv:5: launches is"));
}

TEST(KernelTablesCsv, AFolderWithoutTablesSaysWhatIsMissing) {
  const auto tables = read_kernel_tables("/nowhere", "h200_");
  ASSERT_FALSE(tables);
  EXPECT_THAT(to_string(tables.error().details), HasSubstr("h200_kernel_names.csv"));
}

}  // namespace
}  // namespace weir::formats
