// SPDX-License-Identifier: Apache-2.0
#include "cli/network_study_commands.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;

TEST(NetworkStudy, ComparesSchemesOnOneMix) {
  const formats::TemporaryFolder folder;
  const auto file = folder.write("runs.csv", "duration\n100.5\n3000\n20000\n").string();
  const std::vector<std::string> words{"network", "study", "--durations", file,
                                       "--jobs",  "60",    "--mix",       "heavy"};
  const Ran ran = weir(words);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("isolated-optical"));
  EXPECT_THAT(ran.out, HasSubstr("60 jobs on 8192 GPUs"));
  auto for_programs = words;
  for_programs.insert(for_programs.end(), {"--scheme", "ecmp,ideal", "--json"});
  const auto json = nlohmann::json::parse(weir(for_programs).out);
  ASSERT_EQ(json.at("schemes").size(), 2U);
  EXPECT_GT(json.at("schemes").at(0).at("mean_slowdown"), 1);
  EXPECT_NEAR(json.at("schemes").at(1).at("mean_slowdown").get<double>(), 1, 1e-9);
}

TEST(NetworkStudy, RefusesDurationsThatAreNone) {
  const formats::TemporaryFolder folder;
  const auto file = folder.write("runs.csv", "duration\n-1\nlong\n").string();
  const Ran ran = weir({"network", "study", "--durations", file});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, file + ":2: duration is \"-1\", expected seconds, 0 or more\n" + file +
                         ":3: duration is \"long\", expected seconds, 0 or more\n");
  const auto empty = folder.write("none.csv", "duration\n").string();
  EXPECT_EQ(weir({"network", "study", "--durations", empty}).exit_code, 2);
}

TEST(NetworkWaits, ShowsAllThreeFabrics) {
  const Ran ran = weir({"network", "waits", "--jobs", "200", "--seeds", "1,2", "--loads", "0.5"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("GPUs only"));
  EXPECT_THAT(ran.out, HasSubstr("optical circuits"));
  const auto json = nlohmann::json::parse(
      weir({"network", "waits", "--jobs", "200", "--seeds", "1,2", "--loads", "0.5", "--json"})
          .out);
  EXPECT_EQ(json.at("runs").size(), 6U);
  const Ran small = weir({"network", "waits", "--leaves", "2"});
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_EQ(small.err,
            "--leaves is \"2\", expected 128 hosts in all at least, as the largest job has\n");
}

TEST(NetworkStudy, SeveralFabricsTellWhatPlayingThemTook) {
  const formats::TemporaryFolder folder;
  const auto file = folder.write("runs.csv", "duration\n100.5\n3000\n20000\n").string();
  const auto page = (folder.path() / "study.html").string();
  const std::vector<std::string> words{"network",  "study", "--durations", file,
                                       "--jobs",   "40",    "--scheme",    "ecmp,isolated-optical",
                                       "--leaves", "8,16"};
  auto with_page = words;
  with_page.insert(with_page.end(), {"--report", page});
  const Ran ran = weir(with_page);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("40 jobs on 512 GPUs"));
  EXPECT_THAT(ran.out, HasSubstr("40 jobs on 1024 GPUs"));
  EXPECT_THAT(ran.out, HasSubstr("CPU seconds to play, by fabric"));
  const std::string text = content_of(page);
  EXPECT_THAT(text, HasSubstr("Completion time by size"));
  EXPECT_THAT(text, HasSubstr("Slowdown by size"));
  EXPECT_THAT(text, HasSubstr("What playing costs"));
  auto for_programs = words;
  for_programs.emplace_back("--json");
  const auto json = nlohmann::json::parse(weir(for_programs).out);
  ASSERT_EQ(json.at("fabrics").size(), 2U);
  EXPECT_EQ(json.at("fabrics").at(1).at("gpus"), 1024);
  EXPECT_GE(json.at("fabrics").at(1).at("cpu_seconds").at("ecmp"), 0);
  // The same load on both.
  EXPECT_NEAR(json.at("fabrics").at(0).at("load").get<double>(),
              json.at("fabrics").at(1).at("load").get<double>(), 1e-9);
}

TEST(NetworkWaits, DrawsAPage) {
  const formats::TemporaryFolder folder;
  const auto page = (folder.path() / "waits.html").string();
  ASSERT_EQ(weir({"network", "waits", "--jobs", "100", "--seeds", "1", "--report", page}).exit_code,
            0);
  EXPECT_THAT(content_of(page), HasSubstr("Mean wait by load"));
  EXPECT_EQ(weir({"network", "waits", "--report", "/nowhere/waits.html"}).exit_code, 2);
}

}  // namespace
}  // namespace weir::cli
