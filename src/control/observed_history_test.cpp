// SPDX-License-Identifier: Apache-2.0
#include "control/observed_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/job_status.h"
#include "control/store_testing.h"

namespace weir::control {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr Time kFirstLook{std::chrono::hours{490'000}};

ObservedNode node_of(const std::string& name, const std::string& rack, std::int32_t gpus) {
  ObservedNode node;
  node.name = name;
  node.pool = "p";
  node.rack = rack;
  node.model = gpus > 0 ? "A100" : "";
  node.cpu = MilliCpu{64'000};
  node.memory = Mebibytes{1 << 18};
  node.gpu_count = gpus;
  return node;
}

class ObservedHistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = Store::open(options_);
    ASSERT_TRUE(store);
    store_ = std::move(*store);
    auto reader = StoreReader::open(options_);
    ASSERT_TRUE(reader);
    reader_ = std::move(*reader);
  }
  JobStatus task(const std::string& name, double gpus, minutes submitted) {
    JobStatus status;
    status.job = JobId{++jobs_};
    status.name = name;
    status.submitted = kFirstLook + submitted;
    status.observed = R"({"uid":")" + name + R"(","cpu_milli":4000,"memory_mib":1024,"gpus":)" +
                      std::to_string(gpus) + "}";
    return status;
  }
  void ran(JobStatus status, minutes from, std::optional<minutes> to) {
    status.started = kFirstLook + from;
    status.phase = to ? ShownPhase::finished : ShownPhase::running;
    if (to) status.ended = kFirstLook + *to;
    keep(status);
  }
  void keep(const JobStatus& status) {
    Batch batch;
    batch.new_jobs.push_back({status.job, status.name, "{}", {}, {}});
    batch.views.push_back(
        {status.job, std::string{to_string(status.phase)}, kFirstLook, to_json(status)});
    ASSERT_TRUE(store_->commit(batch));
  }
  Result<ObservedHistory> read() {
    return read_observed_history(*reader_, observed_nodes_json({{"n1", node_of("n1", "r1", 8)}}),
                                 kFirstLook + minutes{60});
  }

  formats::TemporaryFolder folder_;
  StoreOptions options_ = testing::options_in(folder_, {});
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
  std::uint64_t jobs_ = 0;
};

TEST_F(ObservedHistoryTest, IsATraceOfWhatCameAndHowLongItRan) {
  ran(task("second", 0.5, minutes{10}), minutes{12}, minutes{20});
  ran(task("first", 2, minutes{0}), minutes{0}, minutes{30});
  ran(task("runs", 1, minutes{20}), minutes{40}, std::nullopt);
  keep(task("waits", 2, minutes{50}));
  const auto history = read();
  ASSERT_TRUE(history);
  ASSERT_THAT(history->workload.jobs, SizeIs(4));
  const auto& jobs = history->workload.jobs;
  EXPECT_EQ(jobs[0].spec.name, "first");
  EXPECT_EQ(jobs[0].timing->run_time, minutes{30});
  EXPECT_EQ(jobs[1].timing->submitted, minutes{10});
  EXPECT_EQ(jobs[1].spec.shape.gpu_share, MilliGpu{500});
  EXPECT_EQ(jobs[2].timing->run_time, minutes{20}) << "so far";
  EXPECT_EQ(jobs[3].timing->run_time, minutes{30}) << "as the other with two GPUs";
  EXPECT_EQ(history->ended, 2);
  EXPECT_EQ(history->running, 1);
  EXPECT_EQ(history->waiting, 1);
  EXPECT_DOUBLE_EQ(history->wait_mean_s, (120 + 0 + 1200) / 3.0);
}

TEST_F(ObservedHistoryTest, LeavesOutWhatNeverBegan) {
  JobStatus gone = task("gone", 1, minutes{0});
  gone.phase = ShownPhase::cancelled;
  gone.ended = kFirstLook + minutes{1};
  keep(gone);
  ran(task("ran", 1, minutes{5}), minutes{5}, minutes{6});
  const auto history = read();
  ASSERT_TRUE(history);
  EXPECT_THAT(history->workload.jobs, SizeIs(1));
}

TEST(ObservedCluster, CanBeSmallerAndLarger) {
  const std::vector<ObservedNode> nodes{node_of("a", "r1", 8), node_of("b", "r2", 4),
                                        node_of("c", "r2", 0)};
  const auto all = cluster_of(nodes, {}, 0);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->gpu_count(), 12);
  EXPECT_EQ(cluster_of(nodes, {"r2"}, 0)->nodes.size(), 1U);
  EXPECT_EQ(cluster_of(nodes, {"a"}, 0)->gpu_count(), 4);
  const auto more = cluster_of(nodes, {}, 2);
  EXPECT_EQ(more->gpu_count(), 28) << "two like the largest";
  EXPECT_EQ(more->nodes.back().name, "added-2");
}

TEST(ObservedCluster, SaysWhatIsNotThere) {
  const auto none = cluster_of({node_of("a", "r1", 8)}, {"r9"}, 0);
  ASSERT_FALSE(none);
  EXPECT_THAT(to_string(none.error().details), HasSubstr("r9"));
  EXPECT_FALSE(cluster_of({}, {}, 3));
}

TEST(ObservedNodes, AreKeptAsTheyWere) {
  const std::map<std::string, ObservedNode> nodes{{"a", node_of("a", "r1", 8)},
                                                  {"b", node_of("b", "", 0)}};
  const auto read = read_observed_nodes(observed_nodes_json(nodes));
  ASSERT_TRUE(read);
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_EQ((*read)[0], nodes.at("a"));
  EXPECT_FALSE(read_observed_nodes("[{}]"));
}

}  // namespace
}  // namespace weir::control
