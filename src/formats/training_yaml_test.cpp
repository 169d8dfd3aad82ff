// SPDX-License-Identifier: Apache-2.0
#include "formats/training_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "formats/domain_generators_testing.h"
#include "formats/job_document.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

CurveBook curves() {
  CurveBook book;
  const Curve curve{{{1, IterationRate{1'000'000}}, {8, IterationRate{1'500'000}}}};
  for (const std::int64_t batch : {64, 128}) book.curves[{"bert", batch}] = curve;
  book.curves[{"gpt2", 128}] = curve;
  book.curves[{"A3C", 0}] = curve;
  return book;
}

Result<TrainingWorkload> jobs_from(std::string_view text, const CurveBook& book = curves()) {
  return read_training_yaml(*InputFile::from_memory("dir/night.yaml", text), book);
}

std::string written(const TrainingWorkload& workload) {
  std::ostringstream out;
  write_training_yaml(out, workload);
  return out.str();
}

TEST(TrainingYaml, ReadsJobs) {
  const auto workload = jobs_from(
      "jobs:\n"
      "  - {name: a, model: bert, batch: 128, iterations: 200000, submit: 10m, deadline: 6h}\n"
      "  - {name: sweep, count: 2, model: gpt2, batch: 128, iterations: 5, deadline: 2h, kind: "
      "soft}\n"
      "  - {name: notebook, model: A3C, iterations: 1000}\n"
      "  - {name: old, model: bert, batch: 64, iterations: 1, gpus: 8, rigid: true, deadline: 1s, "
      "kind: hard}\n");
  ASSERT_TRUE(workload) << mistakes_of(workload);
  EXPECT_EQ(workload->name, "night");
  ASSERT_EQ(workload->jobs.size(), 5U);
  TrainingSpec spec;
  spec.name = "a";
  spec.curve = {"bert", 128};
  spec.iterations = 200'000;
  spec.deadline_kind = DeadlineKind::hard;
  spec.deadline = Time{6h + 10min};
  EXPECT_EQ(workload->jobs[0], (TrainingArrival{Time{10min}, spec}));
  EXPECT_EQ(workload->jobs[1].spec.name, "sweep-1");
  EXPECT_EQ(workload->jobs[2].spec.name, "sweep-2");
  EXPECT_EQ(workload->jobs[2].spec.deadline_kind, DeadlineKind::soft);
  EXPECT_EQ(workload->jobs[2].submitted, Time{});
  EXPECT_EQ(workload->jobs[3].spec.deadline_kind, DeadlineKind::none);
  EXPECT_EQ(workload->jobs[3].spec.curve, (CurveKey{"A3C", 0}));
  EXPECT_EQ(workload->jobs[4].spec.asked_gpus, 8);
  EXPECT_TRUE(workload->jobs[4].spec.is_rigid);
}

TEST(TrainingYaml, ReadsTimesWithOffset) {
  const auto workload = jobs_from(
      "jobs:\n"
      "  - {name: a, model: bert, batch: 64, iterations: 1, submit: 2026-11-15T09:00:00Z, "
      "deadline: 2026-11-15T12:00:00+01:00}\n"
      "  - {name: b, model: bert, batch: 64, iterations: 1, submit: \"2026-11-15T09:00:00.5Z\"}\n");
  ASSERT_TRUE(workload) << mistakes_of(workload);
  EXPECT_EQ(workload->jobs[0].submitted, Time{1'794'733'200s});
  EXPECT_EQ(workload->jobs[0].spec.deadline, Time{1'794'733'200s + 2h});
  EXPECT_EQ(workload->jobs[1].submitted, Time{1'794'733'200s + 500ms});
}

TEST(TrainingYaml, ReportsEveryMistakeAtOnce) {
  EXPECT_EQ(
      mistakes_of(
          jobs_from("jobs:\n"
                    "  - {name: a, model: brt, batch: 64, iterations: 0, deadline: 0s}\n"
                    "  - {name: a, model: bert, batch: 65, iterations: 5, kind: soft}\n"
                    "  - {name: b, model: bert, iterations: 5, kind: maybe, deadline: 9}\n"
                    "  - {name: c, model: bert, batch: 64, rigid: true, gpus: 4, iterations: 1}\n"
                    "  - {name: d, model: bert, batch: 64, rigid: true}\n"
                    "  - {modle: bert, batch: -1, gpus: 0, rigid: yes, submit: soon}\n")),
      "dir/night.yaml:2: model is \"brt\", expected a model with measured throughput: A3C, bert, "
      "gpt2; did you mean bert?\n"
      "dir/night.yaml:2: iterations is \"0\", expected an integer from 1 to 10000000000\n"
      "dir/night.yaml:2: deadline is \"0s\", expected more than 0s: a deadline lies after "
      "submission\n"
      "dir/night.yaml:3: batch is \"65\", expected a batch at which bert was measured: 64, 128\n"
      "dir/night.yaml:3: kind is \"soft\", expected no kind, because there is no deadline\n"
      "dir/night.yaml:3: name is \"a\", expected another name: line 2 has this one\n"
      "dir/night.yaml:4: batch is missing, expected a batch at which bert was measured: 64, 128\n"
      "dir/night.yaml:4: deadline is \"9\", expected a duration up to 36525d, such as 2h30m, or a "
      "time with offset from 1970 to 2070, such as 2026-11-15T09:00:00Z\n"
      "dir/night.yaml:4: kind is \"maybe\", expected hard or soft\n"
      "dir/night.yaml:5: gpus is \"4\", expected a size at which bert was measured, because rigid "
      "is true: 1, 8\n"
      "dir/night.yaml:6: iterations is missing, expected an integer from 1 to 10000000000\n"
      "dir/night.yaml:6: gpus is missing, expected the GPUs it runs on, because rigid is true\n"
      "dir/night.yaml:7: key is \"modle\", expected one of name, tenant, priority, count, model, "
      "batch, iterations, submit, deadline, kind, gpus, rigid, duration; did you mean model?\n"
      "dir/night.yaml:7: name is missing, expected a name of 1 to 253 bytes, UTF-8 without control "
      "characters\n"
      "dir/night.yaml:7: batch is \"-1\", expected an integer from 0 to 1000000000\n"
      "dir/night.yaml:7: iterations is missing, expected an integer from 1 to 10000000000\n"
      "dir/night.yaml:7: gpus is \"0\", expected an integer from 1 to 65536\n"
      "dir/night.yaml:7: rigid is \"yes\", expected true or false\n"
      "dir/night.yaml:7: submit is \"soon\", expected a duration up to 36525d, such as 2h30m, or a "
      "time with offset from 1970 to 2070, such as 2026-11-15T09:00:00Z\n");
}

TEST(TrainingYaml, WantsTimesOfOneKind) {
  EXPECT_EQ(
      mistakes_of(jobs_from("jobs:\n"
                            "  - {name: a, model: bert, batch: 64, iterations: 1}\n"
                            "  - name: b\n"
                            "    model: bert\n"
                            "    batch: 64\n"
                            "    iterations: 1\n"
                            "    submit: 2026-11-15T09:00:00Z\n"
                            "    deadline: 6h\n"
                            "  - {name: c, model: bert, batch: 64, iterations: 1, submit: "
                            "2026-11-15T09:00:00Z, deadline: 2026-11-15T09:00:00Z}\n")),
      "dir/night.yaml:8: deadline is \"6h\", expected a time such as 2026-11-15T09:00:00Z, as "
      "on line 7: all times of a file are of one kind\n"
      "dir/night.yaml:9: deadline is \"2026-11-15T09:00:00Z\", expected a time after "
      "submission, which is 2026-11-15T09:00:00Z\n"
      "dir/night.yaml:2: submit is missing, expected a time such as 2026-11-15T09:00:00Z, as "
      "on line 7: all times of a file are of one kind\n");
  EXPECT_THAT(
      mistakes_of(jobs_from("jobs:\n"
                            "- {name: a, model: bert, batch: 64, iterations: 1, submit: 0s, "
                            "deadline: 2026-11-15T09:00:00Z}\n")),
      HasSubstr("expected a duration such as 2h30m, as on line 2: all times of a file are "
                "of one kind"));
  EXPECT_THAT(
      mistakes_of(jobs_from("jobs: [{name: a, model: bert, batch: 64, iterations: 1, submit: "
                            "\"2071-01-01T00:00:00Z\"}]")),
      HasSubstr("from 1970 to 2070"));
}

TEST(TrainingYaml, LimitsWhatALineCanMake) {
  const std::string job = ", model: bert, batch: 64, iterations: 1";
  EXPECT_EQ(
      mistakes_of(jobs_from("jobs: [{name: a, count: 1000000" + job + "}, {name: b" + job + "}]")),
      "dir/night.yaml:1: job is \"b\", expected at most 1000000 jobs in all\n");
  EXPECT_THAT(
      mistakes_of(jobs_from("jobs: [{name: a-2" + job + "}, {name: a, count: 3" + job + "}]")),
      HasSubstr("name is \"a-2\", expected another name"));
}

TEST(TrainingYaml, WritesWhatDiffersFromTheDefault) {
  for (const std::string text :
       {"workload: {name: night}\n"
        "jobs:\n"
        "  - {name: a, model: bert, batch: 128, iterations: 200000, submit: 10m, deadline: 6h}\n"
        "  - {name: b, model: A3C, iterations: 5, deadline: 2h, kind: soft}\n"
        "  - {name: c, model: bert, batch: 64, iterations: 1, gpus: 1, rigid: true, duration: "
        "1h30m}\n",
        "workload: {name: day}\n"
        "jobs:\n"
        "  - {name: a, model: bert, batch: 64, iterations: 1, gpus: 8, submit: "
        "2026-11-15T09:00:00Z, deadline: 2026-11-15T10:00:00Z}\n"}) {
    const auto workload = jobs_from(text);
    ASSERT_TRUE(workload) << mistakes_of(workload);
    EXPECT_EQ(written(*workload), text);
  }
}

TrainingWorkload any_training(const CurveBook& book) {
  TrainingWorkload workload;
  workload.name = *any_name("abc.-_ ");
  const auto count = *rc::gen::inRange<std::size_t>(1, 20);
  const auto start = from_seconds(*rc::gen::element<std::int64_t>(0, 3'700'000, 1'794'733'200));
  const auto most = *rc::gen::element<std::int64_t>(2, from_seconds(kMostSeconds).count() / 4);
  for (std::size_t i = 0; i < count; ++i) {
    TrainingArrival& job = workload.jobs.emplace_back();
    job.submitted = Time{start + Duration{*rc::gen::inRange<std::int64_t>(0, most)}};
    TrainingSpec& spec = job.spec;
    spec.name = *any_name("job-[0] 19,") + "/" + std::to_string(i);
    auto curve = book.curves.begin();
    std::advance(curve, *rc::gen::inRange<std::size_t>(0, book.curves.size()));
    spec.curve = curve->first;
    spec.iterations = *rc::gen::inRange<std::int64_t>(1, kMostIterations + 1);
    spec.deadline_kind =
        *rc::gen::element(DeadlineKind::none, DeadlineKind::soft, DeadlineKind::hard);
    if (spec.deadline_kind != DeadlineKind::none) {
      spec.deadline = job.submitted + Duration{*rc::gen::inRange<std::int64_t>(1, most)};
    }
    spec.asked_gpus = *rc::gen::element(1, 3, 8, kMostGpusPerJob);
    spec.is_rigid = curve->second.rate_at(spec.asked_gpus).value > 0 && *rc::gen::arbitrary<bool>();
    spec.tenant = *rc::gen::element<std::string>("", "vision", "9", "null", "a.b-c_1");
    spec.priority = *rc::gen::inRange(-kHighestPriority, kHighestPriority + 1);
    job.stated_duration = Duration{*rc::gen::inRange<std::int64_t>(0, most)};
  }
  return workload;
}

RC_GTEST_PROP(TrainingYaml, ComesBackAsWritten, ()) {
  const CurveBook book = curves();
  const TrainingWorkload workload = any_training(book);
  const std::string text = written(workload);
  const auto back = jobs_from(text, book);
  RC_ASSERT(mistakes_of(back) == "ok\n");
  RC_ASSERT(back->name == workload.name);
  RC_ASSERT(back->jobs == workload.jobs);
}

}  // namespace
}  // namespace weir::formats
