// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/configuration_lp.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "schedule/place/expected_tasks_testing.h"
#include "schedule/place/linear_program.h"
#include "schedule/place/packing_search_testing.h"

namespace weir::schedule {
namespace {

using ::testing::SizeIs;

using Counts = std::vector<int>;  // tasks by demand

// Every packing of an empty node of the class.
void collect_packings(const std::vector<ShapeDemand>& demand, const PackingClass& node,
                      const std::vector<std::size_t>& gpus, std::size_t cpu, std::size_t first,
                      Counts& counts, std::set<Counts>& all) {
  all.insert(counts);
  const CpuGrid grid{node.cpu};
  for (std::size_t m = first; m < demand.size(); ++m) {
    const Shape& shape = demand[m].shape;
    const std::size_t steps = grid.rounded_up(shape.cpu);
    if (steps > cpu || !shape.models.accepts(node.model)) continue;
    ++counts[m];
    for_each_way(gpus, static_cast<std::size_t>(shape.gpu_share.value),
                 static_cast<std::size_t>(shape.gpu_count),
                 [&](const std::vector<std::size_t>& after) {
                   collect_packings(demand, node, after, cpu - steps, m, counts, all);
                 });
    --counts[m];
  }
}

std::set<Counts> packings_of(const std::vector<ShapeDemand>& demand, const PackingClass& node) {
  std::set<Counts> all;
  Counts none(demand.size(), 0);
  collect_packings(demand, node,
                   std::vector<std::size_t>(static_cast<std::size_t>(node.gpu_count), 1000),
                   CpuGrid{node.cpu}.rounded_down(node.cpu), 0, none, all);
  return all;
}

TEST(ConfigurationLp, IsAsGoodAsTheProgrammeWithEveryPackingWrittenOut) {
  SeededRng rng{21};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    std::vector<PackingClass> classes;
    for (std::uint64_t k = 0, count = 1 + rng.below(3); k < count; ++k) {
      classes.push_back({GpuModelId{static_cast<std::uint8_t>(k % 2)},
                         MilliCpu{static_cast<std::int64_t>(1000 + rng.below(5000))},
                         static_cast<std::int32_t>(1 + rng.below(2)),
                         static_cast<std::int64_t>(1 + rng.below(20))});
    }
    std::vector<ShapeDemand> demand;
    for (std::uint64_t m = 0, count = 1 + rng.below(4); m < count; ++m) {
      demand.push_back({random_gpu_shape(rng), static_cast<double>(rng.below(60))});
    }
    const ConfigurationLpResult result = solve_configuration_lp(classes, demand);
    EXPECT_TRUE(result.has_converged);

    std::vector<double> rhs;
    double dual = 0;
    for (std::size_t k = 0; k < classes.size(); ++k) {
      rhs.push_back(static_cast<double>(classes[k].nodes));
      dual += result.class_price[k] * rhs.back();
    }
    for (std::size_t m = 0; m < demand.size(); ++m) {
      rhs.push_back(demand[m].tasks);
      dual += result.demand_price[m] * rhs.back();
    }
    LinearProgram full{rhs};
    for (std::size_t k = 0; k < classes.size(); ++k) {
      for (const Counts& packing : packings_of(demand, classes[k])) {
        std::vector<LinearProgram::Entry> entries{{k, 1.0}};
        double milli = 0;
        double price = result.class_price[k];
        bool has_price = true;  // a shape without demand has none
        for (std::size_t m = 0; m < demand.size(); ++m) {
          if (packing[m] == 0) continue;
          entries.push_back({classes.size() + m, static_cast<double>(packing[m])});
          milli += packing[m] * static_cast<double>(demand[m].shape.gpu_total().value);
          price += packing[m] * result.demand_price[m];
          has_price &= demand[m].tasks > 0;
        }
        full.add_column(milli, entries);
        if (has_price) {
          EXPECT_LE(milli, price + 0.01) << "no packing is worth more than its price";
        }
      }
    }
    ASSERT_EQ(full.solve(100'000), LinearProgram::Status::optimal);
    const double close = 1e-5 * (1 + full.objective());
    EXPECT_NEAR(result.packed_milli, full.objective(), close);
    EXPECT_NEAR(dual, full.objective(), close);
    EXPECT_GE(result.bound_milli, full.objective() - 1e-6);
    EXPECT_LE(result.bound_milli, full.objective() + close);
  }
}

TEST(ConfigurationLp, OptimisticRoundingNeverPacksLess) {
  SeededRng rng{22};
  for (int round = 0; round < 100; ++round) {
    const std::vector<PackingClass> classes{
        {GpuModelId{0}, MilliCpu{static_cast<std::int64_t>(1000 + rng.below(9000))}, 2, 5}};
    const std::vector<ShapeDemand> demand{{random_gpu_shape(rng), 20}, {random_gpu_shape(rng), 7}};
    const double optimistic =
        solve_configuration_lp(classes, demand,
                               {.rounding = ConfigurationLpOptions::Rounding::optimistic})
            .bound_milli;
    EXPECT_GE(optimistic, solve_configuration_lp(classes, demand).packed_milli - 1e-3);
  }
}

TEST(ConfigurationLp, PricesWhatIsScarceAndNotWhatIsPlentiful) {
  // Ten GPUs, 15 tasks of 600 milli: one fits per GPU, so 6 of 10 GPU are packed, the GPUs are what
  // limits, and another task would add nothing.
  const std::vector<PackingClass> classes{{GpuModelId{0}, MilliCpu{4000}, 1, 10}};
  const std::vector<ShapeDemand> plenty{{share_task(1000, 600), 15}};
  const ConfigurationLpResult full = solve_configuration_lp(classes, plenty);
  EXPECT_NEAR(full.packed_milli, 6000, 1e-6);
  EXPECT_NEAR(full.demand_price[0], 0, 1e-6);
  EXPECT_NEAR(full.class_price[0], 600, 1e-6);

  // With ten tasks of 400 beside them all ten GPUs fill up; a 400 fills the gap that a 600 leaves.
  const std::vector<ShapeDemand> mixed{{share_task(1000, 600), 15}, {share_task(1000, 400), 5}};
  const ConfigurationLpResult gaps = solve_configuration_lp(classes, mixed);
  EXPECT_NEAR(gaps.packed_milli, 8000, 1e-6);
  EXPECT_NEAR(gaps.demand_price[1], 400, 1e-6);
}

TEST(ConfigurationLp, CountsNodesOfUpToSixteenGpus) {
  const std::vector<PackingClass> classes{{GpuModelId{0}, MilliCpu{64'000}, 16, 3}};
  const std::vector<ShapeDemand> demand{{gpu_task(4000, 16), 10}};
  EXPECT_NEAR(solve_configuration_lp(classes, demand).packed_milli, 48'000, 1e-6);
}

TEST(ConfigurationLp, PacksNothingWithoutDemandOrWithoutNodes) {
  const std::vector<PackingClass> classes{{GpuModelId{0}, MilliCpu{4000}, 2, 3}};
  const std::vector<ShapeDemand> demand{{gpu_task(1000, 1), 5}};
  EXPECT_EQ(solve_configuration_lp(classes, {}).bound_milli, 0);
  EXPECT_EQ(solve_configuration_lp({}, demand).bound_milli, 0);
}

TEST(PackingClasses, MergesWhatPackingCannotTellApartAndLeavesOutNodesWithoutGpus) {
  NodeState little_memory = gpu_node(8000, 2);
  little_memory.free_memory = Mebibytes{1};
  const std::vector<NodeClass> nodes{{gpu_node(8000, 2), 3},
                                     {gpu_node(4000, 0), 9},
                                     {little_memory, 4},
                                     {gpu_node(8000, 2, 1), 1}};
  std::vector<NodeClass> reversed{nodes.rbegin(), nodes.rend()};
  const std::vector<PackingClass> classes = packing_classes(nodes);
  ASSERT_THAT(classes, SizeIs(2));
  EXPECT_EQ(classes[0], (PackingClass{GpuModelId{0}, MilliCpu{8000}, 2, 7}));
  EXPECT_EQ(classes, packing_classes(reversed));
}

TEST(ScaledDemand, AsksForTheTotalAndErasesModelSetsWhenTold) {
  const std::vector<ExpectedShape> shapes{{share_task(1000, 500, models({0})), 4},
                                          {cpu_task(2000), 50},
                                          {share_task(1000, 500, models({1})), 2},
                                          {gpu_task(4000, 2), 1}};
  // They ask for 4 * 500 + 2 * 500 + 2000 = 5000 milli; 10,000 is twice as much.
  const auto kept = scaled_demand(shapes, MilliGpu{10'000}, ModelSets::kept);
  ASSERT_THAT(kept, SizeIs(3));
  const auto erased = scaled_demand(shapes, MilliGpu{10'000}, ModelSets::erased);
  ASSERT_THAT(erased, SizeIs(2));
  EXPECT_EQ(erased[0].shape, share_task(1000, 500));
  EXPECT_NEAR(erased[0].tasks, 12, 1e-9);
  EXPECT_NEAR(erased[1].tasks, 2, 1e-9);
}

}  // namespace
}  // namespace weir::schedule
