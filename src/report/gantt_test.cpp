// SPDX-License-Identifier: Apache-2.0
#include "report/gantt.h"

#include <gmock/gmock.h>

#include "report/outcomes_testing.h"
#include "report/usage_plot.h"

namespace weir::report {
namespace {

using simulate::AllocatedJob;
using simulate::AllocationHistory;
using ::testing::HasSubstr;
using ::testing::Not;

AllocatedJob a_charted_job(std::string name, std::int64_t deadline) {
  TrainingSpec spec;
  spec.name = std::move(name);
  spec.deadline_kind = DeadlineKind::hard;
  spec.deadline = at(deadline);
  AllocatedJob job;
  job.spec = std::make_shared<const TrainingSpec>(spec);
  job.is_promised = true;
  return job;
}

const std::vector<formats::RecordLogHeader::Pool> kPools = {{"T4", 2, 4, 4, {}}};

// One job on four GPUs for 100 s, two of them promised in the first half; one refused.
AllocationHistory a_history() {
  AllocationHistory history;
  history.end = at(100);
  AllocatedJob refused = a_charted_job("<late>", 10);
  refused.is_promised = false;
  refused.is_refused = true;
  refused.came = at(40);
  refused.earliest = at(500);
  refused.answer = {ReasonCode::no_room, 0};
  history.jobs = {AllocatedJob{}, a_charted_job("a", 90), refused};
  history.spans = {
      {JobId{1}, at(0), at(100), {4, 4}, {ReasonCode::left_over, 0}, {{at(0), at(50), 2}}}};
  return history;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t from = text.find(part); from != std::string::npos;
       from = text.find(part, from + 1))
    ++found;
  return found;
}

TEST(Gantt, TellsJobPlaceTimeAndReasonOfEachRectangle) {
  const Gantt chart = gantt(a_history(), kPools);
  EXPECT_EQ(chart.note, "");
  EXPECT_THAT(chart.svg,
              HasSubstr("<title>a: 4 GPUs (2 promised), T4 node 2, 0s to 1m40s: nobody was "
                        "promised these GPUs, and they save most here</title>"));
  EXPECT_THAT(chart.svg, HasSubstr("<title>deadline of a: 1m30s; not done</title>"));
  EXPECT_THAT(chart.svg,
              HasSubstr("&lt;late&gt;, refused at 40s: it cannot be done by then beside the "
                        "promises already made; could be promised by 8m20s"));
}

TEST(Gantt, ShowsAPartOfALongRunAndSaysSo) {
  AllocationHistory history;
  history.jobs.resize(1);
  for (std::uint64_t id = 1; id <= 5000; ++id) {
    history.jobs.push_back(a_charted_job("job", 10 * 5000));
    const auto from = static_cast<std::int64_t>(10 * id);
    history.spans.push_back(
        {JobId{id}, at(from), at(from + 10), {0, id == 4000 ? 8U : 1U}, {}, {}});
  }
  history.end = at(50'010);
  const GanttLimits limits;
  const Gantt chart = gantt(history, kPools, limits);
  EXPECT_THAT(chart.note, HasSubstr("when it was busiest"));
  EXPECT_THAT(chart.svg, HasSubstr("8 GPUs")) << "the busiest moment is shown";
  EXPECT_LE(count(chart.svg, "class=\"lent\""), limits.spans_of_part + 5);
  EXPECT_LT(chart.svg.size(), 1'000'000U);
}

TEST(Gantt, ShowsTheFirstGpusOfAHugeCluster) {
  const std::vector<formats::RecordLogHeader::Pool> huge = {{"T4", 100'000, 8, 8, {}}};
  const Gantt chart = gantt(a_history(), huge);
  EXPECT_THAT(chart.note, HasSubstr("It shows 1024 of 800000 GPUs."));
  EXPECT_LT(chart.svg.size(), 100'000U);
}

TEST(Gantt, AnEmptyRunIsAnEmptyChart) {
  EXPECT_THAT(gantt({}, kPools).svg, HasSubstr("</svg>"));
  EXPECT_THAT(gantt_table({}).title, HasSubstr("All 0 jobs"));
}

TEST(GanttTable, ListsTheJobsWithTheirAnswers) {
  const Table table = gantt_table(a_history());
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][4], "promised");
  EXPECT_EQ(table.rows[1][4], "refused");
  EXPECT_EQ(table.rows[1][5], "-");
}

TEST(UsagePlot, PartsPromisedFromLeftOver) {
  const GpuUsage usage = gpu_usage(a_history(), 4);
  EXPECT_THAT(usage.promised, ::testing::ElementsAre(2, 2, 0, 0));
  EXPECT_THAT(usage.left_over, ::testing::ElementsAre(2, 2, 4, 4));
  EXPECT_EQ(usage_table(usage).rows.size(), 4U);
  EXPECT_THAT(usage_svg(usage, 8, "t"), HasSubstr("all 8 GPUs"));
}

}  // namespace
}  // namespace weir::report
