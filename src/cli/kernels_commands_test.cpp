// SPDX-License-Identifier: Apache-2.0
#include "cli/kernels_commands.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/kernel_tables_testing.h"
#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class KernelsCommands : public testing::Test {
 protected:
  KernelsCommands() { write_kernel_tables(tables(), "NVIDIA H200"); }

  std::filesystem::path tables() const { return folder_.path() / "tables"; }
  std::string in_folder(const std::string& name) const { return (folder_.path() / name).string(); }
  Ran fit(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"kernels", "fit", "--tables", tables().string(),
                                   "--trees", "0",   "--out",    in_folder("model.json")};
    words.insert(words.end(), more.begin(), more.end());
    return weir(words);
  }
  Ran check(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"kernels",         "check",   "--tables",
                                   tables().string(), "--trees", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return weir(words);
  }

  formats::TemporaryFolder folder_;
};

TEST_F(KernelsCommands, FitWritesAModelThatPredicts) {
  const Ran fitted = fit();
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  EXPECT_THAT(fitted.out, AllOf(HasSubstr("NVIDIA H200: "), HasSubstr("error in %"),
                                HasSubstr("gemm"), HasSubstr("rows")));
  EXPECT_THAT(fitted.err, HasSubstr("wrote " + in_folder("model.json")));
  const Ran predicted = weir({"predict", "--model", "gpt-mini", "--gpu", "h200", "--batch", "4",
                              "--kernel-model", in_folder("model.json"), "--json"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_GT(nlohmann::json::parse(predicted.out)["gpu_ms"].get<double>(), 0);
}

TEST_F(KernelsCommands, TheSameTablesGiveTheSameFile) {
  ASSERT_EQ(fit().exit_code, 0);
  const std::string first = content_of(in_folder("model.json"));
  ASSERT_EQ(fit().exit_code, 0);
  EXPECT_EQ(content_of(in_folder("model.json")), first);
}

TEST_F(KernelsCommands, CheckTellsErrorsOnWhatWasHeldOut) {
  const Ran ran = check({"--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto figures = nlohmann::json::parse(ran.out)["NVIDIA H200"];
  for (const char* family : {"gemm", "rows"}) {
    const auto known = figures[family]["launch_known"];
    EXPECT_GT(known["samples"].get<int>(), 2) << family;
    // Times follow a rule: a fit that misses it by much is broken.
    EXPECT_LT(known["mean"].get<double>(), 0.15) << family;
    EXPECT_TRUE(figures[family].contains("launch_predicted")) << family;
    EXPECT_TRUE(figures[family].contains("roofline")) << family;
  }
  EXPECT_THAT(check().out, AllOf(HasSubstr("NVIDIA H200\n"), HasSubstr("roofline")));
}

TEST_F(KernelsCommands, CheckCrossValidatesInParts) {
  const Ran ran = check({"--folds", "3", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto figures = nlohmann::json::parse(ran.out)["NVIDIA H200"];
  EXPECT_EQ(figures["gemm"]["launch_known"]["samples"].get<int>(), 36);  // every row once
  EXPECT_FALSE(figures["gemm"].contains("launch_predicted"));
}

TEST_F(KernelsCommands, CrossValidationNeedsShapesForTwoParts) {
  std::filesystem::remove(tables() / "vec.csv");
  const auto keep_lines = [&](int count) {
    std::istringstream lines{content_of(tables() / "gemm.csv")};
    std::string text;
    std::string line;
    while (count-- > 0 && std::getline(lines, line)) text += line + "\n";
    std::ofstream{tables() / "gemm.csv"} << text;
  };
  keep_lines(2);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--folds", "5"}, {"--folds", "5", "--json"}}) {
    const Ran ran = check(more);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("tables: rows of NVIDIA H200 is \"1, all in one of 5 parts\", "
                                   "expected more shapes"));
  }
  // Beside a device with enough of them it is told.
  const auto other = folder_.path() / "other";
  write_kernel_tables(other, "Tesla T4");
  std::istringstream lines{content_of(other / "gemm.csv")};
  std::string line;
  std::getline(lines, line);
  std::ofstream more{tables() / "gemm.csv", std::ios::app};
  while (std::getline(lines, line)) more << line << "\n";
  more.close();
  const Ran both = check({"--folds", "3"});
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_THAT(both.out, AllOf(HasSubstr("NVIDIA H200\nnot checked: its 1 rows are all in one part"),
                              HasSubstr("Tesla T4\nerror in %")));
}

// Another folder numbers the same kernels the other way round.
TEST_F(KernelsCommands, ScoresRowsOfAnotherFolder) {
  const auto other = folder_.path() / "other";
  write_kernel_tables(other, "NVIDIA H200");
  std::ofstream{other / "kernel_names.csv"}
      << "kernel_id,name\n1,nvjet_128x128_64x4\n0,vectorized_elementwise_kernel\n";
  for (const char* name : {"gemm.csv", "vec.csv"}) {
    std::string changed;
    std::istringstream lines{content_of((other / name).string())};
    for (std::string line; std::getline(lines, line);) {
      std::size_t at = 0;
      for (int comma = 0; comma < 4 && at != std::string::npos; ++comma)
        at = line.find(',', at + 1);
      if (line[0] == 't') line[at - 1] = line[at - 1] == '0' ? '1' : '0';
      changed += line + "\n";
    }
    std::ofstream{other / name} << changed;
  }
  const Ran ran = check({"--against", other.string(), "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto figures = nlohmann::json::parse(ran.out)["NVIDIA H200"];
  EXPECT_EQ(figures["gemm"]["launch_known"]["samples"], 36);
  EXPECT_EQ(figures["scored"]["rows"], 56);
  EXPECT_EQ(figures["scored"]["fitted_calls"], 56);  // it is the same table
  EXPECT_EQ(figures["scored"]["extrapolated"], 0);
  for (const char* family : {"gemm", "rows"}) {
    EXPECT_LT(figures[family]["launch_known"]["mean"].get<double>(), 0.1) << family;
    EXPECT_TRUE(figures[family].contains("roofline"));
  }
  EXPECT_THAT(check({"--against", other.string()}).out, HasSubstr("56 rows scored: "));
  const Ran both = check({"--against", other.string(), "--folds", "3"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--folds"));

  ASSERT_EQ(fit({"--every-row"}).exit_code, 0);
  const Ran scored = weir({"kernels", "check", "--kernel-model", in_folder("model.json"),
                           "--tables", other.string(), "--json"});
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  EXPECT_EQ(nlohmann::json::parse(scored.out)["NVIDIA H200"], figures);
  write_kernel_tables(other, "Tesla T4");
  const Ran none = weir(
      {"kernels", "check", "--kernel-model", in_folder("model.json"), "--tables", other.string()});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("device is \"Tesla T4\", expected NVIDIA H200"));
  const Ran nothing = check({"--against", other.string()});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err,
              HasSubstr("device is \"Tesla T4\", expected NVIDIA H200, as in --tables"));
}

TEST_F(KernelsCommands, WhatCannotBeCheckedIsSaid) {
  for (const char* name : {"gemm.csv", "vec.csv"}) {
    std::string text = content_of((tables() / name).string());
    for (std::size_t at = 0; (at = text.find("\ntrain,", at)) != std::string::npos; ++at)
      text.replace(at, 7, "\ntest,");
    std::ofstream{tables() / name} << text;
  }
  const Ran ran = check();
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("NVIDIA H200\nnot checked: its 56 rows are all of one split"));
  EXPECT_TRUE(nlohmann::json::parse(check({"--json"}).out)["NVIDIA H200"].contains("skipped"));
  EXPECT_THAT(fit().out, HasSubstr("fitted to all rows, whatever their split"));
}

TEST_F(KernelsCommands, AGpuIsKnownByWhatTheCollectorWroteOfIt) {
  write_kernel_tables(tables(), "NVIDIA X900");
  std::ofstream{tables() / "about.json"}
      << R"({"device":"NVIDIA X900","sm_count":200,"l2_bytes":1000000,"capability":[8,9],)"
      << R"("at_start":{"highest_sm_clock_mhz":2000}})";
  const Ran fitted = fit();
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  EXPECT_THAT(fitted.out, HasSubstr("NVIDIA X900: "));
  const auto device = nlohmann::json::parse(content_of(in_folder("model.json")))["device"];
  EXPECT_EQ(device["sms"], 200);
  EXPECT_EQ(device["max_warps_per_sm"], 48);
  EXPECT_NEAR(device["bytes_per_second"].get<double>() / kMadeUpBytes, 1, 0.1);
  EXPECT_NEAR(device["flops"]["bf16"].get<double>() / kMadeUpFlops, 1, 0.1);
  const Ran predicted = weir({"predict", "--model", "gpt-mini", "--batch", "4", "--kernel-model",
                              in_folder("model.json")});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_THAT(predicted.out, AllOf(HasSubstr("on NVIDIA X900"), Not(HasSubstr("scaled"))));
  EXPECT_EQ(check({"--gpu", "NVIDIA X900"}).exit_code, 0);
}

TEST_F(KernelsCommands, OneDeviceOfSeveralIsChosen) {
  const auto other = folder_.path() / "other";
  write_kernel_tables(other, "Tesla T4");
  std::ofstream more{tables() / "gemm.csv", std::ios::app};
  std::ifstream gemm{other / "gemm.csv"};
  std::string line;
  std::getline(gemm, line);
  while (std::getline(gemm, line)) more << line << "\n";
  more.close();
  const Ran both = fit();
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--gpu is missing, expected one device: the tables hold 2"));
  const Ran one = fit({"--gpu", "t4"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("Tesla T4: "));
}

TEST_F(KernelsCommands, NamesWhatTheTablesHoldWhenAnotherGpuIsAsked) {
  const Ran ran = fit({"--gpu", "a100"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--gpu is \"a100\", expected one of NVIDIA H200"));
  const Ran unknown = check({"--gpu", "h300"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--gpu is \"h300\", expected a GPU that weir knows: h200"));
}

TEST_F(KernelsCommands, TellsWhatIsMissing) {
  const Ran ran = weir({"kernels", "fit"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--tables"), HasSubstr("--out")));
  const Ran no_folder = weir({"kernels", "check", "--tables", in_folder("none")});
  EXPECT_EQ(no_folder.exit_code, 2);
  EXPECT_THAT(no_folder.err, HasSubstr("none"));
  std::filesystem::remove(tables() / "kernel_names.csv");
  const Ran no_names = check();
  EXPECT_EQ(no_names.exit_code, 2);
  EXPECT_THAT(no_names.err, HasSubstr("kernel_names"));
}

TEST_F(KernelsCommands, TellsMistakesOfATableWithTheirLines) {
  std::ofstream{tables() / "vec.csv", std::ios::app}
      << "train,copy,NVIDIA H200,-1,1,1,1,1,128,1,1,64,64,bf16\n"
      << "train,copy,NVIDIA H200,0.1,1,1,1,1,128,1,1,many,64,bf16\n";
  const Ran ran = check();
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("vec.csv:22: latency_ms is \"-1\""),
                             HasSubstr("vec.csv:23: B is \"many\"")));
}

TEST_F(KernelsCommands, AGpuThatWeirDoesNotKnowIsNamed) {
  write_kernel_tables(tables(), "NVIDIA X900");
  const Ran ran = check();
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("device is \"NVIDIA X900\", expected a GPU that weir knows"));
}

TEST_F(KernelsCommands, ATableThatIsNotGzipIsOneLine) {
  std::filesystem::remove(tables() / "gemm.csv");
  std::ofstream{tables() / "gemm.csv.gz"} << "this is not gzip\n";
  const Ran ran = check();
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("gemm.csv.gz: content is \"neither gzip nor a table\""),
                             Not(HasSubstr("column device"))));
}

Ran pick_attention(const std::string& sizes, std::vector<std::string> more = {}) {
  std::vector<std::string> words{"kernels", "pick", "--attention", sizes};
  words.insert(words.end(), more.begin(), more.end());
  return weir(words);
}

// By the backend's name.
std::map<std::string, nlohmann::json> attention_candidates(const std::string& sizes,
                                                           std::vector<std::string> more = {}) {
  more.emplace_back("--json");
  const Ran ran = pick_attention(sizes, more);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto document = nlohmann::json::parse(ran.out);
  std::map<std::string, nlohmann::json> by_name{{"pick", document["pick"]}};
  for (const auto& one : document["candidates"]) by_name[one["name"]] = one;
  return by_name;
}

TEST(KernelsPick, AttentionThatMeansNothingIsRefused) {
  const Ran ran = pick_attention("8,16,5,4096,4096,128,2");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("kv_heads of --attention is \"5\", expected a divisor of "
                                       "heads, which is 16"),
                             HasSubstr("causal of --attention is \"2\", expected 0 or 1")));
  EXPECT_THAT(pick_attention("8,16,32,4096,4096,128,1").err, HasSubstr("kv_heads of --attention"));
}

TEST(KernelsPick, AFilterLargerThanThePaddedImageIsRefused) {
  const auto pick = [](const std::string& sizes) {
    return weir({"kernels", "pick", "--conv", sizes, "--tables",
                 kExamples + "/../docs/measurements", "--prefix", "h200_", "--dtype", "fp32",
                 "--layout", "nchw"});
  };
  const Ran ran = pick("32,64,128,9,3,1,1");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("ksize of --conv is \"9\", expected at most 5, the side of the "
                                 "padded image"));
  EXPECT_EQ(pick("32,64,128,5,3,1,1").exit_code, 0);
}

TEST(KernelsPick, BackendsThatCannotComputeTheHeadsAreRefused) {
  auto large = attention_candidates("1,16,16,1024,1024,512,1");
  EXPECT_THAT(large["cudnn"]["refused"].get<std::string>(), HasSubstr("heads of at most 256"));
  EXPECT_THAT(large["flash"]["refused"].get<std::string>(), HasSubstr("heads of at most 256"));
  EXPECT_EQ(large["efficient"]["refused"], "");
  EXPECT_EQ(large["math"]["refused"], "");
  EXPECT_EQ(large["pick"], "efficient");
  auto odd = attention_candidates("1,16,16,1024,1024,100,1");
  EXPECT_THAT(odd["cudnn"]["refused"].get<std::string>(), HasSubstr("a multiple of 8"));
  EXPECT_EQ(odd["flash"]["refused"], "");
  auto grouped = attention_candidates("1,16,4,1024,1024,64,1");
  EXPECT_THAT(grouped["efficient"]["refused"].get<std::string>(), HasSubstr("grouped heads"));
  EXPECT_EQ(grouped["cudnn"]["refused"], "");
}

TEST(KernelsPick, MathNeedsMemoryForEveryScore) {
  const std::string sizes = "8,16,16,4096,4096,128,1";
  auto all = attention_candidates(sizes);
  EXPECT_EQ(all["math"]["workspace_bytes"], std::int64_t{8} * 16 * 4096 * 4096 * 2);
  EXPECT_EQ(all["math"]["refused"], "more memory than --workspace");
  EXPECT_EQ(all["cudnn"]["workspace_bytes"], 0);
  EXPECT_EQ(attention_candidates(sizes, {"--workspace", "4GiB"})["math"]["refused"], "");
  auto wide = attention_candidates(sizes, {"--dtype", "fp32"});
  EXPECT_EQ(wide["math"]["workspace_bytes"], std::int64_t{8} * 16 * 4096 * 4096 * 4);
  auto huge = attention_candidates("1000000,1000000,1000000,1000000,1000000,64,1");
  EXPECT_GT(huge["math"]["workspace_bytes"], std::int64_t{1} << 40);
}

TEST(KernelsPick, AWrongOptionIsNamed) {
  const Ran words =
      pick_attention("8,16,16,4096,4096,128,1", {"--pass", "dgrad", "--dtype", "fp8"});
  EXPECT_EQ(words.exit_code, 2);
  EXPECT_THAT(words.err, AllOf(HasSubstr("--pass is \"dgrad\", expected one of fwd, bwd"),
                               HasSubstr("--dtype is \"fp8\", expected one of bf16, tf32, fp32"),
                               Not(HasSubstr("--attention"))));
  const Ran others = pick_attention("8,16,16,4096,4096,128,1",
                                    {"--layout", "nhwc", "--prefix", "h200_", "--pass", "up"});
  EXPECT_EQ(others.exit_code, 2);
  EXPECT_THAT(others.err,
              AllOf(HasSubstr("--layout is \"nhwc\", expected no such option with --attention"),
                    HasSubstr("--prefix is \"h200_\", expected no such option with --attention"),
                    HasSubstr("--pass is \"up\"")));
  const Ran conv = weir({"kernels", "pick", "--conv", "32,64,128,3,56,1", "--tables", "none",
                         "--layout", "chwn", "--pass", "bwd", "--kernel-model", "m.json"});
  EXPECT_EQ(conv.exit_code, 2);
  EXPECT_THAT(conv.err,
              AllOf(HasSubstr("--layout is \"chwn\", expected one of nhwc, nchw"),
                    HasSubstr("--pass is \"bwd\", expected one of fwd, dgrad, wgrad"),
                    HasSubstr("--conv is \"32,64,128,3,56,1\""), HasSubstr("--kernel-model")));
}

TEST_F(KernelsCommands, WhatIsReadIsNotWrittenOver) {
  const auto other = folder_.path() / "other";
  std::filesystem::create_directories(other);
  for (const char* name : {"gemm.csv", "vec.csv", "kernel_names.csv"})
    std::filesystem::copy_file(tables() / name, other / (std::string{"t4_"} + name));
  for (const std::string prefix : {"", "t4_"}) {
    const auto folder = prefix.empty() ? tables() : other;
    for (const char* name :
         {"gemm.csv", "vec.csv", "kernel_names.csv", "conv.csv.gz", "image.csv", "attention.csv",
          "kernel_names.csv.gz", "iterations.csv", "iterations.csv.gz", "about.json"}) {
      const auto path = folder / (prefix + name);
      const std::string before = content_of(path);
      if (before.empty()) std::ofstream{path} << "";
      std::vector<std::string> words{"kernels", "fit", "--tables", folder.string(),
                                     "--trees", "0",   "--out",    path.string()};
      if (!prefix.empty()) words.insert(words.end(), {"--prefix", prefix});
      const Ran ran = weir(words);
      EXPECT_EQ(ran.exit_code, 2) << path;
      EXPECT_THAT(ran.err, AllOf(HasSubstr("--out"), HasSubstr("another file than an input")));
      EXPECT_EQ(content_of(path), before);
      if (before.empty()) std::filesystem::remove(path);
    }
  }
  // A name that no fit reads may stand beside them.
  EXPECT_EQ(weir({"kernels", "fit", "--tables", tables().string(), "--trees", "0", "--out",
                  (tables() / "model.json").string()})
                .exit_code,
            0);
}

TEST_F(KernelsCommands, WritesNothingWhereItMayNot) {
  const Ran ran = weir({"kernels", "fit", "--tables", tables().string(), "--out",
                        in_folder("no/such/folder/model.json")});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--out"));
  const Ran folds = check({"--folds", "1"});
  EXPECT_EQ(folds.exit_code, 2);
  EXPECT_THAT(folds.err, HasSubstr("--folds"));
}

}  // namespace
}  // namespace weir::cli
