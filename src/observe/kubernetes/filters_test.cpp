// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/filters.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "observe/kubernetes/cluster_testing.h"
#include "observe/kubernetes/matching.h"
#include "observe/kubernetes/placing.h"
#include "observe/kubernetes/random_cluster_testing.h"

namespace weir::observe {
namespace {

using testing::ClusterBuilder;

TEST(Matching, NotInHoldsWithoutTheLabel) {
  EXPECT_TRUE(matches(MatchExpression{"a", MatchOperator::not_in, {"x"}}, Labels{}));
  EXPECT_FALSE(matches(MatchExpression{"a", MatchOperator::not_in, {"x"}}, Labels{{"a", "x"}}));
  EXPECT_FALSE(matches(MatchExpression{"a", MatchOperator::in, {"x"}}, Labels{}));
}

TEST(Matching, GreaterAndLessCompareNumbers) {
  EXPECT_TRUE(matches(MatchExpression{"a", MatchOperator::greater, {"9"}}, Labels{{"a", "10"}}));
  EXPECT_FALSE(matches(MatchExpression{"a", MatchOperator::greater, {"9"}}, Labels{{"a", "ten"}}));
  EXPECT_TRUE(matches(MatchExpression{"a", MatchOperator::less, {"9"}}, Labels{{"a", "-1"}}));
  EXPECT_FALSE(matches(MatchExpression{"a", MatchOperator::less, {"9"}}, Labels{}));
}

TEST(Matching, AnEmptyTermMatchesNothingAndAnEmptySelectorEverything) {
  EXPECT_FALSE(matches(NodeTerm{}, Node{}));
  EXPECT_TRUE(matches(LabelSelector{}, Labels{}));
}

TEST(Matching, Tolerations) {
  const Taint taint{"key", "value", TaintEffect::no_schedule};
  EXPECT_TRUE(tolerates(Toleration{"", true, "", {}}, taint));
  EXPECT_TRUE(tolerates(Toleration{"key", true, "", TaintEffect::no_schedule}, taint));
  EXPECT_TRUE(tolerates(Toleration{"key", false, "value", {}}, taint));
  EXPECT_FALSE(tolerates(Toleration{"key", false, "other", {}}, taint));
  EXPECT_FALSE(tolerates(Toleration{"key", true, "", TaintEffect::no_execute}, taint));
  EXPECT_FALSE(tolerates(Toleration{"", false, "", {}}, taint));
}

TEST(Filters, PreferNoScheduleKeepsNobodyAway) {
  ClusterBuilder cluster;
  cluster.node("n1", 8).taints = {{"slow", "", TaintEffect::prefer_no_schedule}};
  const ClusterModel model{cluster.objects};
  EXPECT_TRUE((PodFilters{model, cluster.pod("waits", 1)}.passes(0)));
}

TEST(Filters, TheFirstOfItsKindNeedsNoPartner) {
  ClusterBuilder cluster;
  cluster.node("n1", 8);
  auto& pod = cluster.pod("waits", 1);
  pod.meta.labels = {{"app", "ring"}};
  pod.pod_affinity = {
      {LabelSelector{{{"app", "ring"}}, {}}, {}, {}, "kubernetes.io/hostname", {}, {}}};
  const ClusterModel model{cluster.objects};
  EXPECT_TRUE((PodFilters{model, pod}.passes(0)));
}

TEST(Filters, HostPortsCollideByPortProtocolAndAddress) {
  ClusterBuilder cluster;
  cluster.node("n1", 8);
  cluster.pod("there", 0, "n1").host_ports = {{"10.0.0.1", "TCP", 80, 0, 0}};
  auto& pod = cluster.pod("waits", 0);
  const ClusterModel model{cluster.objects};
  const auto passes = [&](const HostPort& port) {
    pod.host_ports = {port};
    return PodFilters{model, pod}.passes(0);
  };
  EXPECT_FALSE(passes({"", "TCP", 80, 0, 0}));
  EXPECT_FALSE(passes({"10.0.0.1", "TCP", 80, 0, 0}));
  EXPECT_TRUE(passes({"10.0.0.2", "TCP", 80, 0, 0}));
  EXPECT_TRUE(passes({"", "UDP", 80, 0, 0}));
}

TEST(Filters, AResourceThatIsOverdrawnStopsOnlyThoseWhoAskForIt) {
  ClusterBuilder cluster;
  cluster.node("n1", 8, 4);
  cluster.pod("there", 1, "n1", 6);
  auto& pod = cluster.pod("waits", 1);
  pod.requests = {{std::string{kNvidiaGpu}, Quantity::of(1)}};
  const ClusterModel model{cluster.objects};
  EXPECT_TRUE((PodFilters{model, pod}.passes(0)));
}

// The definitions once more, for one node, without any shared count.
bool plainly_keeps_away(const ClusterModel& model, const Pod& pod, const Node& node) {
  const auto same_domain = [&](const Node& other, const std::string& key) {
    const auto* here = node.meta.labels.find(key);
    const auto* there = other.meta.labels.find(key);
    return here != nullptr && there != nullptr && *here == *there;
  };
  for (const auto& other_node : model.nodes()) {
    for (const auto& other : other_node.pods) {
      for (const auto& term : pod.pod_anti_affinity) {
        if (term_matches(term, pod, *other, model) &&
            same_domain(*other_node.object, term.topology_key))
          return true;
      }
      for (const auto& term : other->pod_anti_affinity) {
        if (term_matches(term, *other, pod, model) &&
            same_domain(*other_node.object, term.topology_key))
          return true;
      }
    }
  }
  return false;
}

bool plainly_fits(const ClusterModel& model, const Pod& pod, NodeIndex index) {
  const auto& node = model.node(index);
  for (const auto& [name, quantity] : pod.requests) {
    const auto* offered = node.object->allocatable.find(name);
    Amount left = offered != nullptr ? offered_amount(name, *offered) : 0;
    for (const auto& other : node.pods) {
      if (const auto* taken = other->requests.find(name)) left -= requested_amount(name, *taken);
    }
    if (!quantity.is_zero() && requested_amount(name, quantity) > left) return false;
  }
  return static_cast<Amount>(node.pods.size()) <
         offered_amount("pods", *node.object->allocatable.find("pods"));
}

bool plainly_spreads(const ClusterModel& model, const Pod& pod, const Node& node) {
  for (const auto& spread : pod.spread) {
    const auto* domain = node.meta.labels.find(spread.topology_key);
    if (domain == nullptr) return false;
    std::map<std::string, std::int64_t> counts;
    for (const auto& other : model.nodes()) {
      const auto* value = other.object->meta.labels.find(spread.topology_key);
      if (value == nullptr || !accepts_node(pod, *other.object)) continue;
      auto& count = counts[*value];
      for (const auto& there : other.pods) {
        if (there->meta.ns == pod.meta.ns && !there->meta.deleted &&
            matches(*spread.selector, there->meta.labels))
          ++count;
      }
    }
    std::int64_t least = 1'000'000;
    for (const auto& [value, count] : counts) least = std::min(least, count);
    const std::int64_t self = matches(*spread.selector, pod.meta.labels) ? 1 : 0;
    if (counts[*domain] + self - least > spread.max_skew) return false;
  }
  return true;
}

RC_GTEST_PROP(Filters, SharedCountsGiveWhatThePlainDefinitionsGive, ()) {
  const auto objects = testing::random_cluster(*rc::gen::arbitrary<std::uint64_t>());
  const ClusterModel model{objects};
  for (const auto& [name, pod] : objects.pods) {
    if (!pod->node.empty()) continue;
    const PodFilters filters{model, *pod};
    for (NodeIndex i = 0; i < model.node_count(); ++i) {
      const auto failing = filters.failing(i);
      const auto& node = *model.node(i).object;
      RC_ASSERT(failing.has(Filter::resources) == !plainly_fits(model, *pod, i));
      RC_ASSERT(failing.has(Filter::pod_anti_affinity) == plainly_keeps_away(model, *pod, node));
      RC_ASSERT(failing.has(Filter::topology_spread) == !plainly_spreads(model, *pod, node));
      RC_ASSERT(failing.has(Filter::node_affinity) == !accepts_node(*pod, node));
    }
  }
}

RC_GTEST_PROP(Trial, LeavesTheModelAsItWas, ()) {
  const auto objects = testing::random_cluster(*rc::gen::arbitrary<std::uint64_t>());
  ClusterModel model{objects};
  const auto used_before = [&] {
    std::vector<std::vector<Amount>> all;
    for (const auto& node : model.nodes()) {
      all.emplace_back();
      for (ResourceId id = 0; id < model.resources().size(); ++id)
        all.back().push_back(node.free_of(id));
      all.back().push_back(static_cast<Amount>(node.pods.size()));
    }
    return all;
  };
  const auto before = used_before();
  const auto anti_affine = model.pods_with_anti_affinity().size();
  {
    Trial trial{model};
    std::vector<PodPointer> waiting;
    for (const auto& [name, pod] : objects.pods) {
      if (pod->node.empty()) {
        waiting.push_back(pod);
      } else {
        trial.remove(pod);
      }
    }
    trial.add_node(objects.nodes.begin()->second);
    place_in_order(model, trial, waiting);
  }
  RC_ASSERT(used_before() == before);
  RC_ASSERT(model.pods_with_anti_affinity().size() == anti_affine);
}

}  // namespace
}  // namespace weir::observe
