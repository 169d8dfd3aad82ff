// SPDX-License-Identifier: Apache-2.0
//
// The published ElasticFlow tables and traces, against the totals in their README.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "formats/curves.h"
#include "formats/data_dir_testing.h"
#include "formats/gavel_throughputs.h"
#include "formats/temporary_file_testing.h"
#include "formats/throughput_table.h"
#include "formats/training_trace.h"

namespace weir::formats {
namespace {

std::vector<std::int32_t> useful_sizes(const CurveBook& book, const CurveKey& key) {
  std::vector<std::int32_t> sizes;
  const Curve* curve = book.find(key);
  if (curve == nullptr) return sizes;
  for (const CurvePoint& point : curve->useful()) sizes.push_back(point.gpus);
  return sizes;
}

TEST(TrainingData, T4TablesHaveThePublishedCurves) {
  WEIR_NEEDS_DATA(data);
  const auto book = read_throughput_tables(data / "elasticflow" / "throughput_t4");
  ASSERT_TRUE(book) << mistakes_of(book);
  EXPECT_EQ(book->gpu, "T4");
  EXPECT_EQ(book->curves.size(), 9U);
  EXPECT_EQ(useful_sizes(*book, {"ncf", 32768}), (std::vector<std::int32_t>{1, 4}));
  EXPECT_EQ(useful_sizes(*book, {"yolov3", 64}), (std::vector<std::int32_t>{1, 2, 4}));
  EXPECT_EQ(useful_sizes(*book, {"deepspeech2", 320}).back(), 32);  // 64 is nan
  EXPECT_EQ(book->find({"ncf", 32768})->rate_at(1), IterationRate{46'914'146});
}

TEST(TrainingData, A100TablesHaveThePublishedKnees) {
  WEIR_NEEDS_DATA(data);
  const auto book = read_throughput_tables(data / "elasticflow" / "throughput_a100");
  ASSERT_TRUE(book) << mistakes_of(book);
  EXPECT_EQ(book->gpu, "A100");
  EXPECT_EQ(book->curves.size(), 17U);
  EXPECT_EQ(useful_sizes(*book, {"bert", 64}).back(), 8);
  EXPECT_EQ(useful_sizes(*book, {"bert", 128}).back(), 16);
  EXPECT_EQ(useful_sizes(*book, {"gpt2", 256}).back(), 32);
  EXPECT_EQ(useful_sizes(*book, {"vgg16", 256}).back(), 64);
  EXPECT_EQ(useful_sizes(*book, {"resnet50_cifar10", 64}), (std::vector<std::int32_t>{1, 4}));
}

TEST(TrainingData, GavelHasSixKindsOfWorker) {
  WEIR_NEEDS_DATA(data);
  const auto file = data / "elasticflow" / "gavel_simulation_throughputs.json.gz";
  const auto books = read_gavel_throughputs(file);
  ASSERT_TRUE(books) << mistakes_of(books);
  std::vector<std::string> kinds;
  for (const CurveBook& book : *books) {
    kinds.push_back(book.gpu);
    EXPECT_EQ(book.curves.size(), 26U) << book.gpu;
  }
  EXPECT_THAT(kinds, testing::UnorderedElementsAre("K80", "P100", "V100", "K80_unconsolidated",
                                                   "P100_unconsolidated", "V100_unconsolidated"));
  const auto k80 = read_curves(file, "k80");
  ASSERT_TRUE(k80) << mistakes_of(k80);
  EXPECT_EQ(k80->find({"ResNet-18", 16})->rate_at(1), IterationRate{4'795'294});
  EXPECT_EQ(k80->find({"ResNet-50", 128})->measured().size(), 1U);  // does not fit on more
  EXPECT_EQ(k80->find({"CycleGAN", 0})->rate_at(1), IterationRate{504'770});
}

struct PublishedTrace {
  std::string name;
  std::string gpu;
  std::size_t jobs = 0;
  std::size_t best_effort = 0;
};

void PrintTo(const PublishedTrace& trace, std::ostream* out) {
  *out << trace.name;
}

const std::vector<PublishedTrace> kPublishedTraces{
    {"cluster01", "a100", 1595},
    {"cluster02", "a100", 5778},
    {"cluster03", "a100", 3011},
    {"cluster04", "a100", 15802},
    {"cluster05", "a100", 3629},
    {"cluster06", "a100", 2396},
    {"cluster07", "a100", 12699},
    {"cluster08", "a100", 13047},
    {"cluster09", "a100", 11134},
    {"cluster10", "a100", 260},
    {"195job", "a100", 195},
    {"elasticVpollux_e", "t4", 195},
    {"philly_103959", "a100", 876},
    {"gen_1000job_1500lam", "a100", 1000},
    {"gen_100jobs_1500lam", "a100", 100},
    {"gen_200jobs_900lam_0.5", "a100", 200, 110},
};

class TrainingTraceData : public testing::TestWithParam<PublishedTrace> {};

TEST_P(TrainingTraceData, ReadsWithoutMistakes) {
  WEIR_NEEDS_DATA(data);
  const PublishedTrace& expected = GetParam();
  const auto folder = data / "elasticflow";
  const auto book = read_throughput_tables(folder / ("throughput_" + expected.gpu));
  ASSERT_TRUE(book) << mistakes_of(book);
  const auto trace = read_training_trace(folder / "traces" / (expected.name + ".csv.gz"), *book);
  ASSERT_TRUE(trace) << mistakes_of(trace);
  EXPECT_EQ(trace->name, expected.name);
  EXPECT_EQ(trace->jobs.size(), expected.jobs);
  std::size_t best_effort = 0;
  Time last;
  for (const TrainingArrival& job : trace->jobs) {
    best_effort += job.spec.deadline_kind == DeadlineKind::none ? 1 : 0;
    EXPECT_GT(book->find(job.spec.curve)->rate_at(job.spec.asked_gpus), IterationRate{0});
    EXPECT_LE(last, job.submitted) << "published traces are sorted";
    last = job.submitted;
  }
  EXPECT_EQ(best_effort, expected.best_effort);
}

INSTANTIATE_TEST_SUITE_P(Published, TrainingTraceData, testing::ValuesIn(kPublishedTraces),
                         [](const auto& trace) {
                           std::string name = trace.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(TrainingData, FirstJobOfFigure8aIsAsPublished) {
  WEIR_NEEDS_DATA(data);
  const auto book = read_throughput_tables(data / "elasticflow" / "throughput_t4");
  ASSERT_TRUE(book) << mistakes_of(book);
  const auto trace =
      read_training_trace(data / "elasticflow" / "traces" / "elasticVpollux_e.csv.gz", *book);
  ASSERT_TRUE(trace) << mistakes_of(trace);
  const TrainingArrival& first = trace->jobs[0];
  EXPECT_EQ(first.submitted, Time{from_seconds(3'715'485)});
  EXPECT_EQ(first.spec.deadline, Time{from_seconds(3'719'996)});
  EXPECT_EQ(first.spec.curve, (CurveKey{"cifar10", 4096}));
  EXPECT_EQ(first.spec.iterations, 2011);
}

TEST(TrainingData, TheWholePhillyTraceIsNoTrainingTrace) {
  WEIR_NEEDS_DATA(data);
  const auto trace =
      read_training_trace(data / "elasticflow" / "traces" / "philly_all.csv.gz", CurveBook{});
  EXPECT_THAT(mistakes_of(trace), testing::HasSubstr("column job_id is missing"));
}

}  // namespace
}  // namespace weir::formats
