// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_commands.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::string_view kOneNode = "sn,cpu_milli,memory_mib,gpu,model\na,32000,262144,4,T4\n";
constexpr std::string_view kTasks =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    "t1,2000,4096,1,500,T4\n"
    "t2,2000,4096,0,0,\n";

TEST(TraceDescribe, TellsNodesFromTasksInAnyOrder) {
  const formats::TemporaryFolder folder;
  const auto nodes = folder.write("nodes.csv", kOneNode).string();
  const auto tasks = folder.write("tasks.csv.gz", formats::gzip(kTasks)).string();
  const Ran ran = weir({"trace", "describe", tasks, nodes});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("1 nodes, 4 GPUs"));
  EXPECT_THAT(ran.out, HasSubstr("2 tasks, 0.5 GPUs"));
  const auto json = nlohmann::json::parse(weir({"trace", "describe", tasks, nodes, "--json"}).out);
  EXPECT_EQ(json.at("files").at(0).at("kind"), "nodes");
  EXPECT_EQ(json.at("files").at(1).at("tasks"), 2);
}

TEST(TraceDescribe, TellsTheMistakesOfAllFiles) {
  const formats::TemporaryFolder folder;
  const auto nodes =
      folder.write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,-1,1,1,T4\n").string();
  const auto tasks =
      folder.write("tasks.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nt,1,x,1,1\n")
          .string();
  const Ran ran = weir({"trace", "describe", nodes, tasks, (folder.path() / "absent").string()});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("nodes.csv:2: cpu_milli"));
  EXPECT_THAT(ran.err, HasSubstr("tasks.csv:2: memory_mib"));
  EXPECT_THAT(ran.err, HasSubstr("absent"));
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(weir({"trace", "describe"}).err,
            "file is missing, expected file names separated by commas\n");
}

TEST(TraceConvert, RoundTripsThroughYaml) {
  const formats::TemporaryFolder folder;
  const auto nodes = folder.write("nodes.csv", kOneNode).string();
  const auto tasks = folder.write("tasks.csv", kTasks).string();
  const fs::path yaml = folder.path() / "yaml";
  const fs::path back = folder.path() / "back";
  ASSERT_EQ(weir({"trace", "convert", "--nodes", nodes, "--tasks", tasks, "--to", "yaml", "--out",
                  yaml.string()})
                .exit_code,
            0);
  const Ran ran = weir({"trace", "convert", "--nodes", (yaml / "cluster.yaml").string(), "--tasks",
                        (yaml / "tasks.yaml").string(), "--to", "openb", "--out", back.string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, (back / "nodes.csv").string() + "\n" + (back / "tasks.csv").string() + "\n");
  const auto numbers = [](const std::string& a, const std::string& b) {
    auto json = nlohmann::json::parse(weir({"trace", "describe", a, b, "--json"}).out);
    for (auto& file : json["files"]) file.erase("file");
    return json;
  };
  EXPECT_EQ(numbers((back / "nodes.csv").string(), (back / "tasks.csv").string()),
            numbers(nodes, tasks));
}

TEST(TraceConvert, MakesNoFolderWhenTheInputIsBad) {
  const formats::TemporaryFolder folder;
  const auto nodes = folder.write("nodes.csv", "sn\n").string();
  const fs::path out = folder.path() / "out";
  EXPECT_EQ(
      weir({"trace", "convert", "--nodes", nodes, "--to", "yaml", "--out", out.string()}).exit_code,
      2);
  EXPECT_FALSE(fs::exists(out));
  const Ran ran = weir({"trace", "convert"});
  EXPECT_THAT(ran.err, HasSubstr("--nodes is missing"));
  EXPECT_THAT(ran.err, HasSubstr("--to is missing, expected one of openb, yaml"));
  EXPECT_THAT(ran.err, HasSubstr("--out is missing"));
}

TEST(TraceSynth, MakesATraceThatSimulateTakes) {
  const formats::TemporaryFolder folder;
  const fs::path out = folder.path() / "trace";
  const Ran made = weir({"trace", "synth", "--out", out.string(), "--node-count", "20",
                         "--job-count", "100", "--seed", "3"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Ran ran = weir({"simulate", "--nodes", (out / "nodes.csv").string(), "--tasks",
                        (out / "tasks.csv").string(), "--policy", "fgd", "--seeds", "1", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
}

TEST(TraceSynth, SaysThatGangsNeedYaml) {
  const formats::TemporaryFolder folder;
  const std::string out = (folder.path() / "trace").string();
  const Ran ran = weir({"trace", "synth", "--out", out, "--gang-percent", "10"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, "--to is \"openb\", expected yaml: openb lists cannot hold gangs\n");
  EXPECT_FALSE(fs::exists(out));
  EXPECT_EQ(weir({"trace", "synth", "--out", out, "--gang-percent", "10", "--to", "yaml",
                  "--job-count", "50", "--node-count", "9"})
                .exit_code,
            0);
}

}  // namespace
}  // namespace weir::cli
