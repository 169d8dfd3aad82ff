// SPDX-License-Identifier: Apache-2.0
#include "cli/what_if_log.h"

#include <gmock/gmock.h>

#include "formats/job_document.h"
#include "formats/temporary_file_testing.h"
#include "simulate/live_run_testing.h"

namespace weir::cli {
namespace {

using simulate::testing::LiveRun;
using std::chrono::seconds;
using ::testing::HasSubstr;

// Two pools, of which the log has a curve in one: the job that ran is the only one it knows.
class WhatIfLog : public ::testing::Test {
 protected:
  static LiveRun a_day(PoolIndex with_curve) {
    LiveRun run{"1x8xA100-80G+1x8xH100-80G", with_curve};
    run.submit(Duration{0}, "first", 100);
    run.tell(seconds{1}, RanksReady{JobId{1}, 1});
    run.tell(seconds{11}, JobFinished{JobId{1}});
    run.tell(seconds{11}, TimerFired{});
    return run;
  }

  // A job of a small GPT: `more` are fields of the job, `model` of its model.
  static formats::JobDocument a_job(const std::string& name, const std::string& more = "",
                                    const std::string& model = "") {
    const auto job = formats::read_job_json(
        R"({"name":")" + name + R"(","command":["x"],"iterations":50,"model":{"name":"gpt",)" +
            R"("batch":64,"sequence":1024,"layers":12,"hidden":768,"heads":12,"vocab":50257)" +
            model + "}" + more + "}",
        "test");
    EXPECT_TRUE(job) << to_string(job.error().details);
    return job.value_or(formats::JobDocument{});
  }

  Result<control::WhatIfAnswer> ask(std::vector<formats::JobDocument> jobs,
                                    PoolIndex with_curve = PoolIndex{0}) {
    control::WhatIfQuestion question;
    question.submit = std::move(jobs);
    std::set<std::string> notes;
    return what_if_in_log(folder_.write("live.jsonl", a_day(with_curve).text()), question, {},
                          notes);
  }
  std::string why(std::vector<formats::JobDocument> jobs) {
    const auto answer = ask(std::move(jobs));
    return answer ? "" : to_string(answer.error().details);
  }
  formats::TemporaryFolder folder_;
};

TEST_F(WhatIfLog, AModelIsPlannedForPoolsOfWhichTheLogHasNoCurve) {
  for (const std::uint32_t learnt : {0U, 1U}) {
    const auto answer = ask({a_job("a")}, PoolIndex{learnt});
    ASSERT_TRUE(answer) << to_string(answer.error().details);
    ASSERT_EQ(answer->then.jobs.size(), 2U);
    EXPECT_TRUE(answer->then.jobs[1].finished) << "in pool " << learnt;
  }
}

TEST_F(WhatIfLog, ASecondModelOfOneNameIsRefused) {
  EXPECT_EQ(why({a_job("a"), a_job("b")}), "");
  EXPECT_THAT(why({a_job("a"), a_job("b", "", R"(,"tied":true)")}),
              HasSubstr("model.name is \"gpt\", expected another name"));
}

TEST_F(WhatIfLog, AJobThatCannotChangeItsSizeNeedsAPlanForExactlyThat) {
  const std::string large = R"(,"ffn":49152,"experts":8)";
  EXPECT_EQ(why({a_job("a", R"(,"gpus":8,"rigid":true)")}), "");
  EXPECT_THAT(
      why({a_job("a", R"(,"gpus":1,"rigid":true)", large)}),
      HasSubstr("gpus is \"1\", expected a size on which the model fits, because it runs on "
                "exactly these: "));
}

}  // namespace
}  // namespace weir::cli
