// SPDX-License-Identifier: Apache-2.0
#include "cli/published_command.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using SortedJson = nlohmann::json;

class AsPublished : public ::testing::Test {
 protected:
  AsPublished() {
    std::filesystem::create_directory(folder_.path() / "curves");
    folder_.write("curves/vgg16.csv", "global_batch_size,1,2,4,8\n64,1,1.9,3,2\n");
    folder_.write("jobs.csv",
                  "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,"
                  "duration\n"
                  "a,0,300,vgg16,400,64,1,300\n"
                  "b,100,300,vgg16,600,64,1,300\n");
  }

  std::string path(const char* name) { return (folder_.path() / name).string(); }
  Ran play(std::vector<std::string> more, const char* jobs = "jobs.csv",
           const char* cluster = "1x8xA100") {
    std::vector<std::string> words{"simulate", "--as-published", "--cluster", cluster,
                                   "--jobs",   path(jobs),       "--curves",  path("curves")};
    words.insert(words.end(), more.begin(), more.end());
    return weir(words);
  }

  formats::TemporaryFolder folder_;
};

TEST_F(AsPublished, PrintsOneRowForEachPublishedPolicy) {
  const Ran ran = play({});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* policy : {"elasticflow", "edf", "tiresias", "gandiva", "themis"})
    EXPECT_THAT(ran.out, HasSubstr(policy));
  EXPECT_THAT(ran.out, HasSubstr("--as-published"));  // the recipe
}

TEST_F(AsPublished, SaysInJsonWhichAccountingItIs) {
  const Ran ran = play({"--policy", "edf", "--json", "--csv", path("runs.csv")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson run = SortedJson::parse(ran.out).at("runs").at(0);
  EXPECT_EQ(run.at("accounting"), "as published");
  EXPECT_EQ(run.at("policy"), "edf");
  EXPECT_EQ(run.at("jobs"), 2);
  EXPECT_EQ(run.at("met"), 2);
}

TEST_F(AsPublished, RefusesOptionsThatBelongToOurOwnAccounting) {
  const Ran ran = play({"--gate", "off", "--job-speed", "0.9", "--policy", "weir", "--slot", "0s"});
  EXPECT_EQ(ran.exit_code, 2);
  for (const char* part : {"--gate", "--job-speed", "weir", "--slot"})
    EXPECT_THAT(ran.err, HasSubstr(part));
}

TEST_F(AsPublished, NeedsThePublishedKindOfCluster) {
  for (const char* cluster : {"1x8xH100", "1x8xA100+1x4xA100"}) {
    const Ran ran = play({}, "jobs.csv", cluster);
    EXPECT_EQ(ran.exit_code, 2) << cluster;
    EXPECT_THAT(ran.err, HasSubstr("16x4xT4")) << cluster;
  }
}

TEST_F(AsPublished, NeedsADurationAndAPublishedSizeOfEachJob) {
  folder_.write("bare.csv",
                "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,"
                "duration\n"
                "a,0,300,vgg16,400,64,3,\n"
                "b,0,300,vgg16,400,64,1,300\n");
  const Ran ran = play({}, "bare.csv");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("duration of job a"));
  EXPECT_THAT(ran.err, HasSubstr("num_gpu of job a"));
}

TEST_F(AsPublished, SaysOnceThatATraceHasNoDurations) {
  folder_.write("bare.csv",
                "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu\n"
                "a,0,300,vgg16,400,64,1\n"
                "b,0,300,vgg16,400,64,1\n");
  const Ran ran = play({}, "bare.csv");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("duration is missing"));
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
}

}  // namespace
}  // namespace weir::cli
