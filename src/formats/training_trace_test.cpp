// SPDX-License-Identifier: Apache-2.0
#include "formats/training_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

CurveBook traced_curves() {
  CurveBook book;
  const Curve curve{{{1, IterationRate{1'000'000}}, {2, IterationRate{1'500'000}}}};
  for (const std::int64_t batch : {64, 128}) book.curves[{"bert", batch}] = curve;
  book.curves[{"gpt2", 128}] = curve;
  return book;
}

Result<TrainingWorkload> trace_from(std::string_view text) {
  return read_training_trace(*InputFile::from_memory("dir/cluster01.csv.gz", text),
                             traced_curves());
}

constexpr const char* kHead =
    "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n";

TEST(TrainingTrace, ReadsJobsInTheOrderOfTheFile) {
  const auto trace = trace_from(std::string{kHead} +
                                "b,3715485,3249,bert,3716178,64,8,1075\n"
                                "a,10,1,gpt2,11.5,128,1,5\n");
  ASSERT_TRUE(trace) << mistakes_of(trace);
  EXPECT_EQ(trace->name, "cluster01");
  ASSERT_EQ(trace->jobs.size(), 2U);
  TrainingSpec spec;
  spec.name = "b";
  spec.curve = {"bert", 64};
  spec.iterations = 3249;
  spec.deadline_kind = DeadlineKind::hard;
  spec.deadline = Time{3716178s};
  spec.asked_gpus = 8;
  EXPECT_EQ(trace->jobs[0], (TrainingArrival{Time{3715485s}, spec, 1075s}));
  EXPECT_EQ(trace->jobs[1].submitted, Time{10s});
  EXPECT_EQ(trace->jobs[1].spec.deadline, Time{11500ms});
}

TEST(TrainingTrace, KnowsTheOlderSpellings) {
  const auto trace = trace_from(
      "job_id,submit_time,real_iteration,model_name,ddl,batch_size,num_gpu,real_duration,duration,"
      "iteration,best_effort\n"
      "0,0,7,bert,10,64,1,5,5,8,0\n"
      "1,20,7,bert,,64,1,5,5,9,1\n");
  ASSERT_TRUE(trace) << mistakes_of(trace);
  EXPECT_EQ(trace->jobs[0].spec.iterations, 8);
  EXPECT_EQ(trace->jobs[0].spec.deadline_kind, DeadlineKind::hard);
  EXPECT_EQ(trace->jobs[1].spec.iterations, 9);
  EXPECT_EQ(trace->jobs[1].spec.deadline_kind, DeadlineKind::none);
  EXPECT_EQ(trace->jobs[1].spec.deadline, Time{});
}

TEST(TrainingTrace, ReportsEveryMistakeAtOnce) {
  EXPECT_EQ(
      mistakes_of(trace_from("job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,"
                             "best_effort\n"
                             "a,10,5,bert,10,64,1,0\n"
                             "a,10,0,brt,20,64,1,0\n"
                             "c,10,-5,bert,20,65,0,yes\n"
                             "d,now,5,bert,later,x,65537,0\n"
                             ",10,5,bert,-1,64,1,0\n")),
      "dir/cluster01.csv.gz:2: ddl is \"10\", expected more than submit_time (10): a deadline "
      "lies after the arrival\n"
      "dir/cluster01.csv.gz:3: job_id is \"a\", expected another id: line 2 has this one\n"
      "dir/cluster01.csv.gz:3: iteration is \"0\", expected an integer from 1 to "
      "10000000000\n"
      "dir/cluster01.csv.gz:3: model_name is \"brt\", expected a model with measured "
      "throughput: bert, gpt2; did you mean bert?\n"
      "dir/cluster01.csv.gz:4: iteration is \"-5\", expected an integer from 1 to "
      "10000000000\n"
      "dir/cluster01.csv.gz:4: num_gpu is \"0\", expected an integer from 1 to 65536\n"
      "dir/cluster01.csv.gz:4: batch_size is \"65\", expected a batch at which bert was "
      "measured: 64, 128\n"
      "dir/cluster01.csv.gz:4: best_effort is \"yes\", expected one of 0, 1\n"
      "dir/cluster01.csv.gz:5: num_gpu is \"65537\", expected an integer from 1 to 65536\n"
      "dir/cluster01.csv.gz:5: batch_size is \"x\", expected an integer from 0 to "
      "1000000000\n"
      "dir/cluster01.csv.gz:5: submit_time is \"now\", expected seconds from 0 to "
      "3155760000\n"
      "dir/cluster01.csv.gz:5: ddl is \"later\", expected seconds from 0 to 3155760000\n"
      "dir/cluster01.csv.gz:6: job_id is missing, expected a name of 1 to 253 bytes, UTF-8 "
      "without control characters\n"
      "dir/cluster01.csv.gz:6: ddl is \"-1\", expected seconds from 0 to 3155760000\n");
}

TEST(TrainingTrace, NamesTheColumnsItMisses) {
  EXPECT_EQ(mistakes_of(trace_from("timestamp,duration,num_gpus,gpu_time,cluster\n")),
            "dir/cluster01.csv.gz:1: column job_id is missing, expected it in the first line\n"
            "dir/cluster01.csv.gz:1: column submission_time is missing, expected it or "
            "submit_time in the first line\n"
            "dir/cluster01.csv.gz:1: column num_iteration is missing, expected it or iteration, "
            "real_iteration in the first line\n"
            "dir/cluster01.csv.gz:1: column model_name is missing, expected it in the first line\n"
            "dir/cluster01.csv.gz:1: column deadline is missing, expected it or ddl in the first "
            "line\n"
            "dir/cluster01.csv.gz:1: column batch_size is missing, expected it in the first line\n"
            "dir/cluster01.csv.gz:1: column num_gpu is missing, expected it in the first line\n");
  EXPECT_THAT(mistakes_of(trace_from(kHead)), HasSubstr("expected at least one job"));
  EXPECT_THAT(mistakes_of(trace_from("")), HasSubstr("a first line job_id,submission_time,"));
}

}  // namespace
}  // namespace weir::formats
