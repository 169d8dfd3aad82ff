// SPDX-License-Identifier: Apache-2.0
#include "engine_conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "domain/seeded_rng.h"

namespace weir {
namespace {

class Reports : public EngineListener {
 public:
  void on_report(const RunReport& report) override {
    const std::lock_guard guard{mutex_};
    all_.push_back(report);
  }
  std::vector<RunReport> all() const {
    const std::lock_guard guard{mutex_};
    return all_;
  }
  template <class What>
  std::vector<What> of(JobId job, std::uint32_t generation) const {
    std::vector<What> found;
    for (const RunReport& report : all())
      if (report.job == job && report.generation == generation)
        if (const auto* what = std::get_if<What>(&report.what)) found.push_back(*what);
    return found;
  }
  bool mentions(JobId job, std::uint32_t generation) const {
    return std::ranges::any_of(all(), [&](const RunReport& report) {
      return report.job == job && report.generation == generation;
    });
  }
  void clear() {
    const std::lock_guard guard{mutex_};
    all_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<RunReport> all_;
};

struct EngineKind {
  std::string name;
  std::unique_ptr<EngineHost> (*make)();
};

const JobId kJob{1};
const JobId kOther{2};
const JobId kMarker{1000};

class EngineConformance : public ::testing::TestWithParam<EngineKind> {
 protected:
  EngineConformance() : host{GetParam().make()} {}
  ~EngineConformance() override { EXPECT_TRUE(host->clashes().empty()); }

  void begin(std::vector<RunOrder> standing = {}) {
    engine = &host->begin(std::move(standing), reports);
  }
  void crash() {
    host->crash();
    engine = nullptr;
    reports.clear();
  }
  RunOrder job_on(JobId job, std::uint32_t generation, std::vector<std::int32_t> gpus) {
    return host->job_on(job, generation, std::move(gpus));
  }
  RunOrder no_gpus(JobId job, std::uint32_t generation) { return job_on(job, generation, {}); }

  template <class What>
  bool comes(JobId job, std::uint32_t generation) {
    return host->pass_until([&] { return !reports.of<What>(job, generation).empty(); });
  }
  bool begins(const std::string& run) {
    return host->pass_until([&] {
      const auto begun = host->begun();
      return std::ranges::find(begun, run) != begun.end();
    });
  }
  // Orders are heeded one after another: once this one is, all before it were.
  void let_orders_be_heeded() {
    ++marker_generation;
    engine->order(no_gpus(kMarker, marker_generation));
    ASSERT_TRUE(comes<RunStopped>(kMarker, marker_generation));
  }

  Reports reports;  // outlives the engine
  std::unique_ptr<EngineHost> host;
  Engine* engine = nullptr;
  std::uint32_t marker_generation = 0;
};

using Runs = std::vector<std::string>;

TEST_P(EngineConformance, AnOrderIsCarriedOutAndItsEndIsReported) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(comes<RunReady>(kJob, 1));
  ASSERT_TRUE(begins("1.1"));
  host->finish(kJob, 1, 0);
  ASSERT_TRUE(comes<RunEnded>(kJob, 1));
  EXPECT_TRUE(reports.of<RunEnded>(kJob, 1).front().succeeded());
  EXPECT_TRUE(host->is_idle());
}

TEST_P(EngineConformance, AFailureIsReportedWithItsExitCode) {
  if (!host->has_exit_codes()) GTEST_SKIP() << "runs of this engine cannot fail";
  begin();
  engine->order(job_on(kJob, 1, {0}));
  host->finish(kJob, 1, 17);
  ASSERT_TRUE(comes<RunEnded>(kJob, 1));
  EXPECT_EQ(reports.of<RunEnded>(kJob, 1).front().code, 17);
}

TEST_P(EngineConformance, ARepeatedOrderChangesNothing) {
  begin();
  for (int i = 0; i < 3; ++i) engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(comes<RunReady>(kJob, 1));
  ASSERT_TRUE(begins("1.1"));
  engine->order(job_on(kJob, 1, {0}));
  host->finish(kJob, 1, 0);
  ASSERT_TRUE(comes<RunEnded>(kJob, 1));
  engine->order(job_on(kJob, 1, {0}));
  let_orders_be_heeded();
  EXPECT_EQ(host->begun(), Runs{"1.1"});
  EXPECT_EQ(reports.of<RunEnded>(kJob, 1).size(), 1U);
}

TEST_P(EngineConformance, AnOrderOfAnOlderGenerationIsIgnored) {
  begin();
  engine->order(job_on(kJob, 5, {0}));
  ASSERT_TRUE(begins("1.5"));
  engine->order(no_gpus(kJob, 4));
  engine->order(job_on(kJob, 3, {1}));
  let_orders_be_heeded();
  EXPECT_EQ(host->begun(), Runs{"1.5"});
  EXPECT_FALSE(host->is_idle());
  EXPECT_FALSE(reports.mentions(kJob, 4) || reports.mentions(kJob, 3));
}

TEST_P(EngineConformance, AResizeStartsTheNewRanksWhenTheOldAreGone) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(begins("1.1"));
  engine->order(job_on(kJob, 2, {0, 1}));
  ASSERT_TRUE(begins("1.2"));
  engine->order(job_on(kJob, 3, {1}));
  ASSERT_TRUE(begins("1.3"));
  EXPECT_TRUE(comes<RunReady>(kJob, 3));
  EXPECT_TRUE(reports.of<RunEnded>(kJob, 1).empty());
  EXPECT_TRUE(reports.of<RunEnded>(kJob, 2).empty());
  EXPECT_EQ(host->begun(), (Runs{"1.1", "1.2", "1.3"}));
}

TEST_P(EngineConformance, AStopIsConfirmedWhenNothingIsLeftAndTheJobCanStartAgain) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(begins("1.1"));
  engine->order(no_gpus(kJob, 2));
  ASSERT_TRUE(comes<RunStopped>(kJob, 2));
  EXPECT_TRUE(host->is_idle());
  EXPECT_TRUE(reports.of<RunEnded>(kJob, 1).empty());
  engine->order(job_on(kJob, 3, {1}));
  EXPECT_TRUE(begins("1.3"));
}

TEST_P(EngineConformance, AStopAndAStartInOneBreathAreBothHeeded) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  engine->order(no_gpus(kJob, 2));
  engine->order(job_on(kJob, 3, {0}));
  EXPECT_TRUE(begins("1.3"));
  EXPECT_TRUE(comes<RunReady>(kJob, 3));
}

TEST_P(EngineConformance, AStopOfAJobThatNeverRanIsConfirmed) {
  begin();
  engine->order(no_gpus(kJob, 1));
  EXPECT_TRUE(comes<RunStopped>(kJob, 1));
}

TEST_P(EngineConformance, AStopAfterTheEndIsConfirmed) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  host->finish(kJob, 1, 0);
  ASSERT_TRUE(comes<RunEnded>(kJob, 1));
  engine->order(no_gpus(kJob, 2));
  EXPECT_TRUE(comes<RunStopped>(kJob, 2));
}

TEST_P(EngineConformance, TwoJobsOnTheSameGpuNeverOverlap) {
  begin();
  engine->order(job_on(kJob, 1, {0, 1}));
  ASSERT_TRUE(begins("1.1"));
  engine->order(job_on(kOther, 1, {1}));
  let_orders_be_heeded();
  EXPECT_EQ(host->begun(), Runs{"1.1"});
  EXPECT_FALSE(reports.mentions(kOther, 1));
  engine->order(no_gpus(kJob, 2));
  EXPECT_TRUE(begins("2.1"));
  EXPECT_TRUE(comes<RunStopped>(kJob, 2));
}

TEST_P(EngineConformance, AJobThatWaitsForAGpuStartsWhenTheOtherEnds) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(begins("1.1"));
  engine->order(job_on(kOther, 1, {0}));
  host->finish(kJob, 1, 0);
  EXPECT_TRUE(begins("2.1"));
}

TEST_P(EngineConformance, AWaitingJobThatIsCalledOffNeverStarts) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(begins("1.1"));
  engine->order(job_on(kOther, 1, {0}));
  engine->order(no_gpus(kOther, 2));
  ASSERT_TRUE(comes<RunStopped>(kOther, 2));
  engine->order(no_gpus(kJob, 2));
  ASSERT_TRUE(comes<RunStopped>(kJob, 2));
  let_orders_be_heeded();
  EXPECT_EQ(host->begun(), Runs{"1.1"});
}

TEST_P(EngineConformance, AfterANewOrderIsHeededTheOldGenerationIsNotMentioned) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(begins("1.1"));
  engine->order(job_on(kJob, 2, {0}));
  host->finish(kJob, 1, 0);
  let_orders_be_heeded();
  const std::size_t before = reports.all().size();
  ASSERT_TRUE(begins("1.2"));
  ASSERT_TRUE(comes<RunReady>(kJob, 2));
  const auto all = reports.all();
  for (std::size_t i = before; i < all.size(); ++i) EXPECT_EQ(all[i].generation, 2U);
}

TEST_P(EngineConformance, WhatStandsAndDoesNotRunIsStarted) {
  begin({job_on(kJob, 4, {0})});
  EXPECT_TRUE(begins("1.4"));
  EXPECT_TRUE(comes<RunReady>(kJob, 4));
}

TEST_P(EngineConformance, ARestartInTheMiddleOfAStartStartsItOnce) {
  begin();
  const RunOrder order = job_on(kJob, 1, {0});
  engine->order(order);
  crash();
  begin({order});
  EXPECT_TRUE(comes<RunReady>(kJob, 1));
  EXPECT_TRUE(begins("1.1"));
  host->finish(kJob, 1, 0);
  EXPECT_TRUE(comes<RunEnded>(kJob, 1));
  EXPECT_EQ(host->begun(), Runs{"1.1"});
}

TEST_P(EngineConformance, ARestartKeepsWhatRunsAndTellsAgainThatItIsReady) {
  begin();
  const RunOrder order = job_on(kJob, 1, {0});
  engine->order(order);
  ASSERT_TRUE(comes<RunReady>(kJob, 1));
  ASSERT_TRUE(begins("1.1"));
  crash();
  begin({order});
  EXPECT_TRUE(comes<RunReady>(kJob, 1));
  host->finish(kJob, 1, 0);
  EXPECT_TRUE(comes<RunEnded>(kJob, 1));
  EXPECT_EQ(host->begun(), Runs{"1.1"});
}

TEST_P(EngineConformance, ARestartInTheMiddleOfAStopFinishesIt) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(begins("1.1"));
  engine->order(no_gpus(kJob, 2));
  crash();
  begin({no_gpus(kJob, 2)});
  EXPECT_TRUE(comes<RunStopped>(kJob, 2));
  EXPECT_TRUE(host->is_idle());
}

TEST_P(EngineConformance, ARestartInTheMiddleOfAResizeFinishesIt) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(begins("1.1"));
  engine->order(job_on(kJob, 2, {0, 1}));
  crash();
  begin({job_on(kJob, 2, {0, 1})});
  EXPECT_TRUE(begins("1.2"));
  EXPECT_TRUE(comes<RunReady>(kJob, 2));
  EXPECT_FALSE(reports.mentions(kJob, 1));
}

TEST_P(EngineConformance, AnOrderGivenWhileTheControlPlaneWasDownReplacesWhatRuns) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  ASSERT_TRUE(begins("1.1"));
  crash();
  begin({job_on(kJob, 2, {0})});
  EXPECT_TRUE(begins("1.2"));
  EXPECT_TRUE(comes<RunReady>(kJob, 2));
  EXPECT_FALSE(reports.mentions(kJob, 1));
}

TEST_P(EngineConformance, AnEndWhileTheControlPlaneWasDownIsReported) {
  begin();
  const RunOrder order = job_on(kJob, 1, {0});
  engine->order(order);
  ASSERT_TRUE(begins("1.1"));
  crash();
  host->finish(kJob, 1, 0);
  ASSERT_TRUE(host->pass_until([&] { return host->is_idle(); }));
  begin({order});
  EXPECT_TRUE(comes<RunEnded>(kJob, 1));
  EXPECT_EQ(host->begun(), Runs{"1.1"});
}

TEST_P(EngineConformance, AnEndThatWasToldAndNotConfirmedIsToldAgain) {
  begin();
  const RunOrder order = job_on(kJob, 1, {0});
  engine->order(order);
  host->finish(kJob, 1, 0);
  ASSERT_TRUE(comes<RunEnded>(kJob, 1));
  crash();
  begin({order});
  EXPECT_TRUE(comes<RunEnded>(kJob, 1));
  EXPECT_EQ(host->begun(), Runs{"1.1"});
}

TEST_P(EngineConformance, AForgottenJobIsNotMentionedAgain) {
  begin();
  engine->order(job_on(kJob, 1, {0}));
  host->finish(kJob, 1, 0);
  ASSERT_TRUE(comes<RunEnded>(kJob, 1));
  engine->forget(kJob);
  let_orders_be_heeded();
  crash();
  begin();
  let_orders_be_heeded();
  EXPECT_FALSE(reports.mentions(kJob, 1));
}

// A run that the control plane does not know holds a GPU that it gives away.
TEST_P(EngineConformance, WhatRunsAndDoesNotStandIsStoppedBeforeItsGpusAreUsed) {
  begin();
  engine->order(job_on(kJob, 1, {0, 1}));
  ASSERT_TRUE(begins("1.1"));
  crash();
  begin({job_on(kOther, 1, {1})});
  EXPECT_TRUE(begins("2.1"));
  host->finish(kOther, 1, 0);
  EXPECT_TRUE(comes<RunEnded>(kOther, 1));
  EXPECT_TRUE(host->pass_until([&] { return host->is_idle(); }));
}

// Random orders, ends and crashes: no run begins twice or meets another, and in the end exactly
// what was ordered last is true.
TEST_P(EngineConformance, AnyHistoryEndsInWhatWasOrderedLast) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    host = GetParam().make();
    reports.clear();
    SeededRng rng{seed};
    const auto below = [&rng](std::uint64_t bound) {
      return static_cast<std::int32_t>(rng.below(bound));
    };
    std::map<JobId, RunOrder> standing;
    const auto all_standing = [&standing] {
      std::vector<RunOrder> all;
      for (const auto& [job, order] : standing) all.push_back(order);
      return all;
    };
    begin();
    for (int i = 0; i < 30; ++i) {
      const JobId job{static_cast<std::uint64_t>(1 + below(3))};
      const std::uint32_t generation = standing.contains(job) ? standing[job].generation : 0;
      switch (below(6)) {
        case 0:
          crash();
          begin(all_standing());
          break;
        case 1:
          if (generation > 0) host->finish(job, generation, 0);
          break;
        case 2:
          standing[job] = no_gpus(job, generation + 1);
          engine->order(standing[job]);
          break;
        default: {
          const std::int32_t first = below(4);
          const bool is_wide = first % 2 == 0 && below(2) == 0;
          standing[job] = job_on(job, generation + 1,
                                 is_wide ? std::vector{first, first + 1} : std::vector{first});
          engine->order(standing[job]);
        }
      }
    }
    for (auto& [job, order] : standing) {
      order = no_gpus(job, order.generation + 1);
      engine->order(order);
    }
    for (const auto& [job, order] : standing)
      EXPECT_TRUE(comes<RunStopped>(job, order.generation)) << job.value;
    EXPECT_TRUE(host->is_idle());
    EXPECT_TRUE(host->clashes().empty());
    const auto begun = host->begun();
    EXPECT_EQ(std::set<std::string>(begun.begin(), begun.end()).size(), begun.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineConformance,
                         ::testing::Values(EngineKind{"Local", make_local_host},
                                           EngineKind{"Modelled", make_modelled_host}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace weir
