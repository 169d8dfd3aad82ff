// SPDX-License-Identifier: Apache-2.0
#include "report/shown_run_json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/gantt.h"
#include "report/outcomes_testing.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;
using simulate::AllocatedJob;
using simulate::AllocationHistory;

AllocatedJob a_shown_job(std::string name, std::int64_t came) {
  TrainingSpec spec;
  spec.name = std::move(name);
  AllocatedJob job;
  job.spec = std::make_shared<const TrainingSpec>(spec);
  job.came = at(came);
  return job;
}

// A run that begins at 1000 s, on two pools of 4 GPUs: one job in the second, and one refused.
ShownRun a_shown_run() {
  AllocationHistory history;
  history.begin = at(1000);
  history.end = at(1100);
  AllocatedJob runs = a_shown_job("a", 1000);
  runs.pool = PoolIndex{1};
  runs.is_promised = true;
  runs.ended = at(1100);
  AllocatedJob refused = a_shown_job("<late>", 1040);
  refused.is_refused = true;
  refused.earliest = at(1500);
  history.jobs = {AllocatedJob{}, runs, refused};
  history.spans = {{JobId{1},
                    at(1000),
                    at(1100),
                    {2, 2},
                    {ReasonCode::left_over, 0},
                    {{at(1000), at(1050), 1}}}};
  return {3, std::move(history), {{"T4", 1, 4, 4, {}}, {"V100", 1, 4, 4, {}}}};
}

Json json_of(const ShownRun& run) {
  return Json::parse(shown_run_json(run, "weir, night", 8).value());
}

TEST(ShownRunJson, TellsBarsJobsAndUseFromTheBeginningOfTheRun) {
  const Json json = json_of(a_shown_run());
  EXPECT_EQ(json.at("run"), 3);
  EXPECT_EQ(json.at("name"), "weir, night");
  EXPECT_EQ(json.at("length_s"), 100.0);
  EXPECT_EQ(json.at("bars").dump(), "[[0,0.0,100.0,6,2,1,0]]") << "row 6: the first pool has 4";
  EXPECT_EQ(json.at("reasons").at(0), to_string(Reason{ReasonCode::left_over, 0}));
  EXPECT_EQ(json.at("jobs").at(0).dump(),
            R"({"job":1,"name":"a","came_s":0.0,"deadline_s":null,"answer":"promised",)"
            R"("ended_s":100.0})");
  EXPECT_EQ(json.at("jobs").at(1).at("answer"), "refused");
  EXPECT_EQ(json.at("jobs").at(1).at("earliest_s"), 500.0);
  EXPECT_EQ(json.at("usage").at("promised").size(), kUsageStretches);
  EXPECT_EQ(json.at("usage").at("promised").front(), 1.0);
  EXPECT_EQ(json.at("usage").at("left_over").back(), 2.0);
  EXPECT_EQ(json.at("pools").at(1).at("name"), "V100");
}

TEST(ShownRunJson, HasTheBarsThatTheChartDraws) {
  ShownRun run = a_shown_run();
  run.history.jobs.resize(1);
  run.history.spans.clear();
  for (std::uint64_t id = 1; id <= 5000; ++id) {
    run.history.jobs.push_back(a_shown_job("job", 1000));
    const auto from = static_cast<std::int64_t>(1000 + 10 * id);
    run.history.spans.push_back({JobId{id}, at(from), at(from + 10), {0, 1}, {}, {}});
  }
  run.history.end = at(51'010);
  const Json json = json_of(run);
  EXPECT_FALSE(json.at("part").at("is_all").get<bool>());
  const Gantt chart = gantt(run.history, run.pools);
  std::size_t drawn = 0;
  for (std::size_t from = chart.svg.find("<title>job:"); from != std::string::npos;
       from = chart.svg.find("<title>job:", from + 1))
    ++drawn;
  EXPECT_EQ(json.at("bars").size(), drawn);
  EXPECT_EQ(json.at("jobs").size(), drawn) << "one bar for each";
  EXPECT_LT(json.dump().size(), 300'000U);
}

TEST(ShownRunJson, OfAnEmptyRunHasNoBars) {
  EXPECT_TRUE(json_of(ShownRun{}).at("bars").empty());
}

}  // namespace
}  // namespace weir::report
