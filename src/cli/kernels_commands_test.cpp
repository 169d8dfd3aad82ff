// SPDX-License-Identifier: Apache-2.0
#include "cli/kernels_commands.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

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
