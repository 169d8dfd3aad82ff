// SPDX-License-Identifier: Apache-2.0
#include "cli/client_job_text.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(JobDetails, ShowWhatWasMeasured) {
  const ApiJson job = ApiJson::parse(R"({"id":1,"name":"bert","phase":"running","gpus":2,
      "rate":4.8123,"loss":0.25,"resumes":2,"generation":3,"restarts":0,
      "curve":{"origin":"measured","rates":{"1":2.5,"2":4.8,"16":20}},
      "last_change":{"announce":9,"save":0.25,"stop":0.1,"wait":5,"start":0,"import":1.5,
                     "load":0.1,"step":0.05,"warm":true}})");
  const std::string text = job_details(job);
  EXPECT_THAT(text, HasSubstr("rate              4.812 iterations per second\n"));
  EXPECT_THAT(text, HasSubstr("loss              0.25\n"));
  EXPECT_THAT(text, HasSubstr("planned with      2.5 on 1, 4.8 on 2, 20 on 16 GPUs, measured\n"));
  EXPECT_THAT(text, HasSubstr("last change       2.00 s: announce 9.00, save 0.25, stop 0.10, "
                              "wait 5.00, import 1.50, load 0.10, step 0.05, warm\n"));
  EXPECT_THAT(text, HasSubstr("resumes           2\n"));
}

TEST(JobDetails, SayThatACurveIsFromAPlan) {
  ApiJson job = ApiJson::parse(R"({"id":1,"name":"gpt","phase":"running","gpus":2,
      "expected_finish":"2026-11-15T09:00:00Z","curve":{"origin":"planned","rates":{"2":4.8}}})");
  EXPECT_THAT(job_details(job),
              HasSubstr("planned with      4.8 on 2 GPUs, planned from its model, not measured\n"));
  const auto finish = [&] { return job_table(ApiJson::array({job})).rows.front().back(); };
  EXPECT_THAT(finish(), HasSubstr(" (rate planned, not measured)"));
  job["curve"]["origin"] = "measured";
  EXPECT_THAT(finish(), Not(HasSubstr("planned")));
  job["curve"]["origin"] = "planned";
  job["ended"] = "2026-11-15T09:00:00Z";
  EXPECT_THAT(finish(), Not(HasSubstr("planned"))) << "it is over: nothing is expected";
}

TEST(JobDetails, ShowEnergyAndWhatItsClockWouldBe) {
  const ApiJson job = ApiJson::parse(R"({"id":1,"name":"bert","phase":"running","gpus":2,
      "energy":{"kwh":1.25,"amount":410.5,"unit":"g CO2","source":"modelled","clock":0.7,
                "clock_problem":"Insufficient Permissions"}})");
  EXPECT_THAT(job_details(job),
              HasSubstr("energy            1.25 kWh, 410.5 g CO2 (modelled), clock "
                        "70 % (not set: Insufficient Permissions)\n"));
}

TEST(JobDetails, LeaveOutWhatNobodyMeasured) {
  const ApiJson job = ApiJson::parse(R"({"id":1,"name":"bert","phase":"queued","gpus":0})");
  EXPECT_THAT(job_details(job), Not(HasSubstr("rate")));
  EXPECT_THAT(job_details(job), Not(HasSubstr("last change")));
}

}  // namespace
}  // namespace weir::cli
