// SPDX-License-Identifier: Apache-2.0
#include "control/metrics.h"

#include <gmock/gmock.h>

#include <thread>

namespace weir::control {
namespace {

using ::testing::HasSubstr;

TEST(Metrics, CountersHaveHelpTypeAndLabels) {
  Metrics metrics;
  metrics.counter("weir_submissions_total", "Jobs submitted.", {{"answer", "promised"}}).add(3);
  metrics.counter("weir_submissions_total", "Jobs submitted.", {{"answer", "refused"}}).add();
  EXPECT_EQ(metrics.exposition(),
            "# HELP weir_submissions_total Jobs submitted.\n"
            "# TYPE weir_submissions_total counter\n"
            "weir_submissions_total{answer=\"promised\"} 3\n"
            "weir_submissions_total{answer=\"refused\"} 1\n");
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameCounter) {
  Metrics metrics;
  metrics.counter("a_total", "A.", {{"x", "1"}}).add();
  EXPECT_EQ(metrics.counter("a_total", "A.", {{"x", "1"}}).value(), 1);
}

TEST(Metrics, QuotesAndNewlinesInLabelsAreEscaped) {
  Metrics metrics;
  metrics.gauge("g", "G.", {{"name", "a\"b\\c\nd"}}).set(0.5);
  EXPECT_THAT(metrics.exposition(), HasSubstr("g{name=\"a\\\"b\\\\c\\nd\"} 0.5\n"));
}

TEST(Metrics, BucketsOfAHistogramAddUp) {
  Metrics metrics;
  Histogram& histogram = metrics.histogram("t_seconds", "T.");
  histogram.observe(0.0001);
  histogram.observe(0.003);
  histogram.observe(100);
  const std::string text = metrics.exposition();
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"0.0001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"0.0025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"0.005\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"10\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_count 3\n"));
}

TEST(Metrics, ManyThreadsMayCount) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) metrics.counter("n_total", "N.").add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(metrics.counter("n_total", "N.").value(), 4000);
}

}  // namespace
}  // namespace weir::control
