// SPDX-License-Identifier: Apache-2.0
#include "network/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "domain/seeded_rng.h"
#include "network/fair_rates.h"

namespace weir::network {
namespace {

constexpr double kLine = 12.5e9;  // 100 Gb/s

std::vector<RoutedFlow> routed(const Router& router, const std::vector<Transfer>& step) {
  std::vector<RoutedFlow> flows;
  std::vector<std::uint32_t> lost;
  std::vector<std::uint32_t> crowd(router.table().fabric().links.size(), 0);
  router.route(step, crowd, flows, lost);
  EXPECT_TRUE(lost.empty());
  return flows;
}

// Bytes per second of each transfer, in units of the line rate.
std::vector<double> rates_of(const Fabric& fabric, const std::vector<RoutedFlow>& flows) {
  FairRates rates{fabric.capacities()};
  std::vector<FlowIndex> indices;
  for (const RoutedFlow& flow : flows) indices.push_back(rates.add(flow.path));
  rates.commit();
  std::vector<double> found;
  for (const FlowIndex flow : indices) found.push_back(rates.level(flow) / kLine);
  return found;
}

std::vector<Transfer> permutation(SeededRng& rng, std::uint32_t gpus) {
  std::vector<GpuIndex> to(gpus);
  for (GpuIndex i = 0; i < gpus; ++i) to[i] = i;
  rng.shuffle(to);
  std::vector<Transfer> step;
  for (GpuIndex i = 0; i < gpus; ++i) step.push_back({i, to[i], 1});
  return step;
}

void expect_line_rate(const Fabric& fabric, Routing routing, int draws) {
  const Router router{fabric, {routing}};
  SeededRng rng{8};
  for (int draw = 0; draw < draws; ++draw) {
    const auto step = permutation(rng, fabric.gpus());
    for (const double rate : rates_of(fabric, routed(router, step)))
      EXPECT_NEAR(std::min(rate, 1.0), 1, 1e-9);
  }
}

TEST(Routes, SprayingAndColouringRunAnyPermutationAtLineRate) {
  auto two_links = leaf_spine_spec(6, 8, 4);
  two_links.parallel_links = 2;
  FabricSpec tree;
  tree.kind = FabricKind::fat_tree;
  tree.ports = 6;
  for (const FabricSpec& spec : {leaf_spine_spec(8, 8, 8), two_links, tree}) {
    const auto fabric = build_fabric(spec);
    expect_line_rate(*fabric, Routing::spray, 10);
    expect_line_rate(*fabric, Routing::coloured, 10);
  }
}

TEST(Routes, SourceIndexHasNoCollisionsInShiftsOfWholeLeaves) {
  const auto fabric = build_fabric(leaf_spine_spec(4, 8, 8));
  const Router router{*fabric, {Routing::source_index}};
  for (GpuIndex shift = 1; shift < 32; ++shift) {
    std::vector<Transfer> step;
    for (GpuIndex i = 0; i < 32; ++i) step.push_back({i, (i + shift) % 32, 1});
    for (const double rate : rates_of(*fabric, routed(router, step))) EXPECT_NEAR(rate, 1, 1e-9);
  }
}

TEST(Routes, EcmpKeepsAPathPerConnectionAndChangesItWithTheSeed) {
  const auto fabric = build_fabric(leaf_spine_spec(4, 8, 64));
  const std::vector<Transfer> step{{0, 20, 8}, {0, 20, 8, 1}};
  const auto flows = routed(Router{*fabric, {Routing::ecmp, 1}}, step);
  const auto again = routed(Router{*fabric, {Routing::ecmp, 1}}, step);
  const auto other = routed(Router{*fabric, {Routing::ecmp, 2}}, step);
  EXPECT_EQ(flows[0].path, again[0].path);
  EXPECT_NE(flows[0].path, other[0].path);
  EXPECT_NE(flows[0].path, flows[1].path);
  const auto split = routed(Router{*fabric, {Routing::ecmp, 1, 4}}, {step[0]});
  ASSERT_EQ(split.size(), 4U);
  EXPECT_DOUBLE_EQ(split[0].bytes, 2);
  std::set<LinkIndex> uplinks;
  for (const RoutedFlow& flow : split) uplinks.insert(flow.path[1].link);
  EXPECT_GT(uplinks.size(), 1U);
}

TEST(Routes, AdaptiveSpreadsWhatLeavesALeaf) {
  const auto fabric = build_fabric(leaf_spine_spec(2, 8, 8));
  std::vector<Transfer> step;
  for (GpuIndex i = 0; i < 8; ++i) step.push_back({i, 8 + i, 1});
  for (const double rate : rates_of(*fabric, routed(Router{*fabric, {Routing::adaptive}}, step))) {
    EXPECT_NEAR(rate, 1, 1e-9);
  }
}

// Three leaves, each pair joined by one circuit: two transfers between two leaves want twice what
// their circuit carries.
TEST(Routes, TwoHopSendsWhatIsAboveTheThresholdOverAThirdLeaf) {
  FabricSpec spec;
  spec.kind = FabricKind::optical;
  spec.leaves = 3;
  spec.gpus_per_leaf = 2;
  spec.circuits = {{0, 0, 1, true}, {1, 0, 2, true}, {2, 1, 2, true}};
  const auto fabric = build_fabric(spec);
  const std::vector<Transfer> step{{0, 2, 1}, {1, 3, 1}};
  for (const double rate : rates_of(*fabric, routed(Router{*fabric, {Routing::ecmp}}, step))) {
    EXPECT_NEAR(rate, 0.5, 1e-9);
  }
  for (const double rate : rates_of(*fabric, routed(Router{*fabric, {Routing::two_hop}}, step))) {
    EXPECT_NEAR(rate, 1, 1e-9);
  }
  // Half of the circuit only: 1/4 of the demand stays, 3/4 go around and fill that way at 2/3.
  const Router half{*fabric, {Routing::two_hop, 1, 1, 0.5}};
  for (const double rate : rates_of(*fabric, routed(half, step))) EXPECT_NEAR(rate, 2.0 / 3, 1e-9);
  // One transfer alone fits on the circuit.
  const auto alone = routed(Router{*fabric, {Routing::two_hop}}, {step[0]});
  EXPECT_EQ(alone[0].path.size(), 3U);
}

TEST(Routes, AFailedLinkIsAvoidedByEveryRouting) {
  const auto fabric = build_fabric(leaf_spine_spec(2, 4, 2));
  for (const Routing routing : {Routing::ecmp, Routing::source_index, Routing::coloured,
                                Routing::spray, Routing::adaptive, Routing::two_hop}) {
    Router router{*fabric, {routing}};
    const LinkIndex broken =
        router.table().next_links(fabric->ports[0].leaf, fabric->ports[4].leaf)[0];
    router.fail(broken);
    for (const RoutedFlow& flow : routed(router, {{0, 4, 1}, {1, 5, 1}, {6, 2, 1}})) {
      for (const Hop& hop : flow.path) EXPECT_NE(hop.link | 1U, broken | 1U);
    }
    router.repair(broken);
    EXPECT_EQ(router.table().next_links(fabric->ports[0].leaf, fabric->ports[4].leaf).size(), 2U);
  }
}

TEST(Routes, ATransferWithoutAPathIsLost) {
  const auto fabric = build_fabric(leaf_spine_spec(2, 4, 1));
  Router router{*fabric, {Routing::ecmp}};
  router.fail(fabric->ports[5].in);
  std::vector<RoutedFlow> flows;
  std::vector<std::uint32_t> lost;
  const std::vector<Transfer> step{{0, 4, 1}, {0, 5, 1}};
  router.route(step, {}, flows, lost);
  EXPECT_EQ(flows.size(), 1U);
  EXPECT_EQ(lost, std::vector<std::uint32_t>{1});
}

// What hashing does to a fabric that has enough links, against figures that were drawn for the same
// question with few draws (so many as `drawn`): within 2 %, and for the mean of the slowest flow,
// which has few values (1/3, 1/4, 1/5), within the spread of those draws on top.
struct EcmpFigures {
  double mean_rate = 0;
  double mean_least = 0;
  double share_full = 0;
  double least_spread = 0;
};

struct EcmpCase {
  std::int32_t leaves = 0;
  std::int32_t gpus_per_leaf = 0;
  int drawn = 0;
  EcmpFigures figures;
};

template <class MakeStep>
EcmpFigures ecmp_figures(const EcmpCase& given, MakeStep make_step) {
  const auto fabric =
      build_fabric(leaf_spine_spec(given.leaves, given.gpus_per_leaf, given.gpus_per_leaf));
  const int draws = 100'000 / (given.leaves * given.gpus_per_leaf);
  SeededRng rng{21};
  EcmpFigures figures;
  double flows = 0;
  double squares = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const Router router{*fabric, {Routing::ecmp, rng.next()}};
    double least = 1;
    for (double rate : rates_of(*fabric, routed(router, make_step(rng, *fabric)))) {
      rate = std::min(rate, 1.0);  // to itself
      figures.mean_rate += rate;
      figures.share_full += rate > 1 - 1e-9 ? 1 : 0;
      least = std::min(least, rate);
      ++flows;
    }
    figures.mean_least += least / draws;
    squares += least * least / draws;
  }
  figures.mean_rate /= flows;
  figures.share_full /= flows;
  figures.least_spread = std::sqrt(squares - figures.mean_least * figures.mean_least);
  return figures;
}

void expect_near(const EcmpCase& expected, const EcmpFigures& found) {
  const EcmpFigures& wanted = expected.figures;
  EXPECT_NEAR(found.mean_rate, wanted.mean_rate, wanted.mean_rate * 0.02);
  EXPECT_NEAR(found.share_full, wanted.share_full, wanted.share_full * 0.02);
  EXPECT_NEAR(found.mean_least, wanted.mean_least,
              wanted.mean_least * 0.02 + 3 * found.least_spread / std::sqrt(expected.drawn));
}

TEST(EcmpStatistics, WhenAllFlowsCrossAboutAThirdRunAtLineRate) {
  for (const EcmpCase& expected :
       {EcmpCase{4, 8, 300, {0.654, 0.312, 0.389}}, EcmpCase{16, 16, 30, {0.644, 0.221, 0.379}},
        EcmpCase{16, 32, 12, {0.636, 0.208, 0.372}}}) {
    SCOPED_TRACE(expected.leaves * 100 + expected.gpus_per_leaf);
    const auto gpus = static_cast<GpuIndex>(expected.gpus_per_leaf);
    expect_near(expected, ecmp_figures(expected, [gpus](SeededRng&, const Fabric& fabric) {
                  std::vector<Transfer> step;
                  for (GpuIndex i = 0; i < fabric.gpus(); ++i)
                    step.push_back({i, (i + gpus) % fabric.gpus(), 1});
                  return step;
                }));
  }
}

TEST(EcmpStatistics, OfRandomPermutations) {
  for (const EcmpCase& expected :
       {EcmpCase{4, 8, 300, {0.715, 0.342, 0.486}}, EcmpCase{8, 16, 60, {0.608, 0.243, 0.310}},
        EcmpCase{16, 16, 30, {0.554, 0.222, 0.223}}, EcmpCase{16, 32, 12, {0.549, 0.179, 0.222}}}) {
    SCOPED_TRACE(expected.leaves * 100 + expected.gpus_per_leaf);
    expect_near(expected, ecmp_figures(expected, [](SeededRng& rng, const Fabric& fabric) {
                  return permutation(rng, fabric.gpus());
                }));
  }
}

// n flows on n links: the fullest link and the idle ones.
TEST(EcmpStatistics, BallsInBins) {
  const double expected_most[] = {2.13, 2.60, 3.09, 3.53, 3.94};
  const double expected_idle[] = {0.316, 0.343, 0.357, 0.363, 0.365};
  for (int i = 0; i < 5; ++i) {
    const std::int32_t n = 4 << i;
    const auto fabric = build_fabric(leaf_spine_spec(2, n, n));
    SeededRng rng{22};
    const int draws = 4000;
    double most = 0;
    double idle = 0;
    for (int draw = 0; draw < draws; ++draw) {
      const Router router{*fabric, {Routing::ecmp, rng.next()}};
      std::vector<Transfer> step;
      for (GpuIndex gpu = 0; gpu < static_cast<GpuIndex>(n); ++gpu)
        step.push_back({gpu, gpu + static_cast<GpuIndex>(n), 1});
      std::vector<int> on(fabric->links.size(), 0);
      for (const RoutedFlow& flow : routed(router, step)) ++on[flow.path[1].link];
      int used = 0;
      for (const int count : on) used += count > 0 ? 1 : 0;
      most += *std::max_element(on.begin(), on.end());
      idle += n - used;
    }
    EXPECT_NEAR(most / draws, expected_most[i], expected_most[i] * 0.02);
    EXPECT_NEAR(idle / draws / n, expected_idle[i], expected_idle[i] * 0.02);
  }
}

}  // namespace
}  // namespace weir::network
