// SPDX-License-Identifier: Apache-2.0
#include "domain/shape.h"

#include <gtest/gtest.h>

#include <unordered_set>

#include "domain/gpu_model.h"
#include "domain/workload.h"

namespace weir {
namespace {

Shape shape(std::int32_t gpus, std::int64_t share) {
  return Shape{MilliCpu{1000}, Mebibytes{1024}, gpus, MilliGpu{share}, {}};
}

TEST(Shape, KnowsItsKindAndTotal) {
  EXPECT_TRUE(shape(0, 0).is_cpu_only());
  EXPECT_TRUE(shape(1, 999).shares_gpu());
  EXPECT_FALSE(shape(1, 1000).shares_gpu());
  EXPECT_EQ(shape(8, 1000).gpu_total(), MilliGpu{8000});
}

TEST(Shape, WellFormedMeansWhatTheReadersPromise) {
  EXPECT_TRUE(is_well_formed(shape(0, 0)));
  EXPECT_TRUE(is_well_formed(shape(1, 1)));
  EXPECT_TRUE(is_well_formed(shape(16, 1000)));
  EXPECT_FALSE(is_well_formed(shape(0, 1)));  // a share without a GPU
  EXPECT_FALSE(is_well_formed(shape(1, 0)));
  EXPECT_FALSE(is_well_formed(shape(1, 1001)));
  EXPECT_FALSE(is_well_formed(shape(2, 500)));  // several GPUs are whole ones
  EXPECT_FALSE(is_well_formed(shape(17, 1000)));
  EXPECT_FALSE(is_well_formed(shape(-1, 0)));
  Shape negative = shape(1, 1000);
  negative.cpu = MilliCpu{-1};
  EXPECT_FALSE(is_well_formed(negative));
}

TEST(Shape, HashesDifferForShapesThatDifferInOneThing) {
  std::unordered_set<std::size_t> hashes;
  Shape base = shape(1, 500);
  const auto add = [&](Shape s) { hashes.insert(std::hash<Shape>{}(s)); };
  add(base);
  base.cpu = MilliCpu{1001};
  add(base);
  base.memory = Mebibytes{1};
  add(base);
  base.gpu_share = MilliGpu{501};
  add(base);
  base.models.insert(GpuModelId{3});
  add(base);
  EXPECT_EQ(hashes.size(), 5U);
}

TEST(GpuModelSet, EmptyAcceptsAnythingAndANodeWithoutGpusIsInNoSet) {
  GpuModelSet set;
  EXPECT_TRUE(set.accepts(GpuModelId{5}));
  EXPECT_TRUE(set.accepts(kNoGpuModel));
  set.insert(GpuModelId{63});
  EXPECT_TRUE(set.accepts(GpuModelId{63}));
  EXPECT_FALSE(set.accepts(GpuModelId{5}));
  EXPECT_FALSE(set.accepts(kNoGpuModel));
  set.erase(GpuModelId{63});
  EXPECT_TRUE(set.accepts_any());
}

TEST(GpuModels, GiveEachNameOneIdAndSaySetsInAlphabeticalOrder) {
  GpuModels models;
  const auto v100 = models.intern("V100");
  const auto a10 = models.intern("A10");
  EXPECT_EQ(models.intern("V100"), v100);
  EXPECT_EQ(models.find("T4"), std::nullopt);
  GpuModelSet set;
  set.insert(*v100);
  set.insert(*a10);
  EXPECT_EQ(models.to_string(set), "A10|V100");
  EXPECT_EQ(models.to_string({}), "");
}

TEST(GpuModels, HoldSixtyFour) {
  GpuModels models;
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(models.intern("m" + std::to_string(i)).has_value());
  EXPECT_EQ(models.intern("one more"), std::nullopt);
  EXPECT_TRUE(models.intern("m7").has_value());
}

TEST(Workload, AddsUpReplicasAndKnowsWhetherAllJobsAreTimed) {
  Workload workload;
  workload.jobs.push_back({JobSpec{"a", 3, shape(2, 1000)}, JobTiming{}});
  workload.jobs.push_back({JobSpec{"b", 1, shape(1, 500)}, std::nullopt});
  EXPECT_EQ(workload.gpu_demand(), MilliGpu{6500});
  EXPECT_FALSE(workload.has_timing());
  EXPECT_TRUE(workload.jobs[0].spec.is_gang());
  workload.jobs.pop_back();
  EXPECT_TRUE(workload.has_timing());
}

}  // namespace
}  // namespace weir
