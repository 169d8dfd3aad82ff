// SPDX-License-Identifier: Apache-2.0
#include "report/network_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::report {
namespace {

using ::testing::HasSubstr;

// Two leaves, two spines; one transfer from leaf 0 to leaf 1, by index over spine 0.
class NetworkReport : public ::testing::Test {
 protected:
  NetworkReport() {
    network::FabricRunOptions options;
    options.routing.routing = network::Routing::source_index;
    options.samples = 4;
    network::FabricRun run{fabric_, options};
    network::NetworkJob job;
    job.name = "one <job>";
    job.gpus = {0, 2};
    job.collectives = {{CollectiveKind::pipeline, 12.5e9, 0, PlayMode::stepwise}};
    run.add_job(job);
    result_.fabric = &fabric_;
    result_.routing = "source-index";
    result_.outcome = run.run();
    NetworkJobResult row;
    row.name = job.name;
    row.gpus = 2;
    row.iterations = 1;
    row.iteration_seconds = 1;
    row.ideal_seconds = 0.5;
    result_.jobs = {row};
  }

  network::Fabric fabric_ = *network::build_fabric(network::leaf_spine_spec(2, 2, 2));
  NetworkResult result_;
};

TEST_F(NetworkReport, ListsTheFullestLinksThatWereUsed) {
  const Table table = busiest_links_table(result_, 10);
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_THAT(table.rows[0], testing::ElementsAre("gpu 0 > leaf 0", "100", "12.500", "100.0"));
  EXPECT_EQ(busiest_links_table(result_, 1).rows.size(), 1U);
}

TEST_F(NetworkReport, JsonHasWhatTheTableHas) {
  const auto json = nlohmann::json::parse(*network_json(result_));
  EXPECT_EQ(json.at("jobs").at(0).at("slowdown"), 2);
  EXPECT_EQ(json.at("fullest_links").size(), 4U);
  EXPECT_EQ(json.at("seconds"), 1);
}

TEST_F(NetworkReport, ThePageMapsLinksBothWaysAndEscapesNames) {
  const std::string page = network_page({"weir network simulate", "1.0", {}}, result_);
  EXPECT_THAT(page, HasSubstr("leaf 0 &gt; spine 0: 100.0 %"));
  EXPECT_THAT(page, HasSubstr("leaf 0 &gt; spine 1: 0.0 %"));
  EXPECT_THAT(page, HasSubstr("spine 0 &gt; leaf 1: 100.0 %"));
  EXPECT_THAT(page, HasSubstr("one &lt;job&gt;"));
  EXPECT_THAT(page, HasSubstr("Rates over time"));
}

}  // namespace
}  // namespace weir::report
