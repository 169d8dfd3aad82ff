// SPDX-License-Identifier: Apache-2.0
//
// One look at a large cluster: how long explanations, changes, predictions and the summary take.
//
//   observe_bench [NODES PODS PENDING]       default 5000 20000 1000
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "bench_inputs.h"
#include "domain/seeded_rng.h"
#include "observe/kubernetes/explain.h"
#include "observe/kubernetes/observation.h"
#include "observe/kubernetes/observation_json.h"
#include "observe/kubernetes/pending.h"

namespace weir::bench {
namespace {

namespace obs = weir::observe;

constexpr Time kNow{std::chrono::hours{24 * 365 * 50}};

std::shared_ptr<obs::Pod> made_pod(SeededRng& rng, std::size_t number) {
  static constexpr std::int64_t kGpus[] = {0, 1, 1, 1, 2, 4, 8};
  static constexpr std::int64_t kCpu[] = {1, 2, 4, 8, 12, 16};
  auto pod = std::make_shared<obs::Pod>();
  pod->meta.ns = fmt::format("team-{}", rng.below(20));
  pod->meta.name = fmt::format("job-{}", number);
  pod->meta.created = kNow - std::chrono::seconds{60 + static_cast<std::int64_t>(rng.below(36000))};
  pod->requests = {{"cpu", obs::Quantity::of(kCpu[rng.below(6)])},
                   {"memory", obs::Quantity::of(std::int64_t{4 << rng.below(4)} << 30)}};
  const auto gpus = kGpus[rng.below(7)];
  if (gpus > 0) pod->requests.set(obs::kNvidiaGpu, obs::Quantity::of(gpus));
  pod->containers = {{false, pod->requests}};
  if (rng.below(4) == 0)
    pod->node_selector = {{"nvidia.com/gpu.product", rng.below(2) == 0 ? "A100" : "H100"}};
  return pod;
}

struct Made {
  obs::ClusterObjects objects;
  obs::LearnedDurations learned;
};

Made make(std::size_t nodes, std::size_t pods, std::size_t pending) {
  Made made;
  SeededRng rng{7};
  made.objects.at = kNow;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes; ++i) {
    auto node = std::make_shared<obs::Node>();
    node->meta.name = fmt::format("node-{:05}", i);
    node->meta.labels = {{"kubernetes.io/hostname", node->meta.name},
                         {"nvidia.com/gpu.product", i % 3 == 0 ? "H100" : "A100"}};
    node->is_ready = true;
    node->allocatable = {{"cpu", obs::Quantity::of(32)},
                         {"memory", obs::Quantity::of(std::int64_t{256} << 30)},
                         {"pods", obs::Quantity::of(110)},
                         {std::string{obs::kNvidiaGpu}, obs::Quantity::of(8)}};
    if (i % 20 == 0) node->taints = {{"dedicated", "infra", obs::TaintEffect::no_schedule}};
    names.push_back(node->meta.name);
    made.objects.nodes[node->meta.name] = node;
  }
  for (std::size_t i = 0; i < pods + pending; ++i) {
    auto pod = made_pod(rng, i);
    if (i < pods) {
      pod->node = names[i % nodes];
      pod->phase = obs::PodPhase::running;
      pod->scheduled = pod->started = pod->meta.created;
    } else {
      pod->requests.set(obs::kNvidiaGpu, obs::Quantity::of(8));
      pod->requests.set("cpu", obs::Quantity::of(30));
    }
    made.objects.pods[pod->meta.full_name()] = pod;
  }
  for (std::size_t i = 0; i < 3000; ++i) {
    auto pod = made_pod(rng, i);
    pod->phase = obs::PodPhase::succeeded;
    pod->started = pod->meta.created;
    pod->ended = *pod->started + std::chrono::duration_cast<Duration>(
                                     std::chrono::duration<double>{rng.lognormal(8, 1.5)});
    made.learned.learn(*pod);
  }
  return made;
}

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  using namespace weir::bench;
  const auto argument = [&](int i, std::size_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const auto made = make(argument(1, 5000), argument(2, 20000), argument(3, 1000));
  std::vector<obs::PendingWorkload> pending;
  const double grouping = seconds_of([&] { pending = obs::pending_workloads(made.objects); });
  obs::Explainer explainer{made.objects};
  std::size_t explained = 0;
  const double explaining = seconds_of([&] {
    for (const auto& workload : pending)
      explained += explainer.explain(workload, false).why.empty() ? 0 : 1;
  });
  std::size_t changes = 0;
  const double changing = seconds_of([&] {
    for (std::size_t i = 0; i < pending.size() && i < 100; ++i)
      changes += explainer.explain(pending[i]).changes.size();
  });
  obs::Prediction prediction;
  const double predicting =
      seconds_of([&] { prediction = obs::predict_starts(made.objects, pending, made.learned); });
  const double summary =
      seconds_of([&] { static_cast<void>(obs::summarize(made.objects, pending)); });
  require(explained == pending.size(), "every workload is explained");
  require(changes >= 100, "changes are found");
  fmt::print(
      "{} nodes, {} pods, {} pending: group {:.2f} s; explain all {:.2f} s; changes for 100 of "
      "them {:.2f} s; "
      "predict all {:.2f} s ({} draws); summary {:.2f} s; peak {:.0f} MB\n",
      made.objects.nodes.size(), made.objects.pods.size(), pending.size(), grouping, explaining,
      changing, predicting, prediction.draws, summary, peak_memory_mb());
  return 0;
}
