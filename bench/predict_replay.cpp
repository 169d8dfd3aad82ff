// SPDX-License-Identifier: Apache-2.0
//
// Predicted starts against what comes true, without Kubernetes: pieces of the openb trace, compressed in time, on too
// few nodes, with the scheduler model itself (another seed, the true durations) as the true scheduler. Every few
// seconds the starts of all pods that wait are predicted; the first prediction for each pod counts. What is known to
// the predictor is what an observer sees: times in whole seconds, and the durations of pods that ended.
//
//   predict_replay [FIRST PODS ARRIVE_SECONDS COMPRESS LONGEST_SECONDS LOAD SEED]
//
// Without arguments: six pieces, of which the parameters were tuned on the first three only.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <queue>

#include "bench_inputs.h"
#include "domain/seeded_rng.h"
#include "observe/kubernetes/calibration.h"
#include "observe/kubernetes/pending.h"
#include "observe/kubernetes/predict.h"
#include "observe/kubernetes/scheduler_model.h"

namespace weir::bench {
namespace {

namespace obs = weir::observe;

struct Piece {
  std::size_t first = 4000;
  std::size_t pods = 700;
  double arrive_seconds = 220;
  double compress = 100;
  double longest = 75;
  double load = 1.1;
  std::uint64_t seed = 1;
  double every = 5;
};

struct TracePod {
  std::shared_ptr<obs::Pod> pod;
  double at = 0;
  double duration = 0;
};

constexpr Time kBegin{std::chrono::hours{24 * 365 * 50}};

Time moment(double seconds) {
  return kBegin + std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds});
}

// As Kubernetes writes times.
Time whole_second(double seconds) {
  return std::chrono::floor<std::chrono::seconds>(moment(seconds));
}

std::vector<TracePod> trace_pods(const Workload& workload, const Piece& piece) {
  std::vector<const WorkloadJob*> jobs;
  for (const auto& job : workload.jobs) {
    if (job.timing && job.timing->run_time > Duration{0}) jobs.push_back(&job);
  }
  std::ranges::stable_sort(jobs, {}, [](const auto* job) { return job->timing->submitted; });
  require(jobs.size() >= piece.first + piece.pods, "the trace has fewer pods");
  std::vector<double> ats{0};
  for (std::size_t i = piece.first + 1; i < piece.first + piece.pods; ++i) {
    const auto gap = to_seconds(jobs[i]->timing->submitted - jobs[i - 1]->timing->submitted);
    ats.push_back(ats.back() + std::min(gap, 3600.0));
  }
  std::vector<TracePod> pods;
  for (std::size_t i = 0; i < piece.pods; ++i) {
    const auto& job = *jobs[piece.first + i];
    auto pod = std::make_shared<obs::Pod>();
    pod->meta.ns = "trace";
    pod->meta.name = job.spec.name;
    pod->requests = {{"cpu", obs::Quantity::of_milli(job.spec.shape.cpu.value)},
                     {"memory", obs::Quantity::of(job.spec.shape.memory.value << 20)}};
    if (job.spec.shape.gpu_count > 0)
      pod->requests.set(obs::kNvidiaGpu, obs::Quantity::of(job.spec.shape.gpu_count));
    const double ran = to_seconds(job.timing->run_time) / piece.compress;
    pods.push_back({pod, ats[i] * piece.arrive_seconds / std::max(ats.back(), 1e-9),
                    std::min(std::max(ran, 1.0), piece.longest)});
  }
  return pods;
}

obs::ObjectMap<obs::Node> trace_nodes(const Cluster& cluster, double gpus, std::uint64_t seed) {
  auto nodes = cluster.nodes;
  SeededRng rng{seed};
  rng.fork("nodes").shuffle(nodes);
  std::ranges::stable_partition(nodes, [](const Node& node) { return node.gpu_count == 8; });
  std::rotate(nodes.begin() + 1,
              std::ranges::find_if(nodes, [](const Node& node) { return node.gpu_count < 8; }),
              nodes.end());
  obs::ObjectMap<obs::Node> chosen;
  double has = 0;
  for (const auto& node : nodes) {
    if (has >= gpus) break;
    if (node.gpu_count == 0) continue;
    auto made = std::make_shared<obs::Node>();
    made->meta.name = node.name;
    made->is_ready = true;
    made->allocatable = {{"cpu", obs::Quantity::of_milli(node.cpu.value)},
                         {"memory", obs::Quantity::of(node.memory.value << 20)},
                         {"pods", obs::Quantity::of(110)},
                         {std::string{obs::kNvidiaGpu}, obs::Quantity::of(node.gpu_count)}};
    chosen[node.name] = made;
    has += node.gpu_count;
  }
  return chosen;
}

struct Guess {
  double at = 0;
  obs::WaitBand raw;
  obs::WaitBand band;
  double naive = 0;
  double naive_shared = 0;
};

class Replay {
 public:
  Replay(const Inputs& inputs, const Piece& piece, int draws)
      : piece_{piece}, draws_{draws}, pods_{trace_pods(inputs.workloads.front(), piece)} {
    double work = 0;
    for (const auto& pod : pods_) work += obs::gpus_in(pod.pod->requests) * pod.duration;
    objects_.nodes =
        trace_nodes(inputs.cluster, work / piece.arrive_seconds / piece.load, piece.seed);
    started_.assign(pods_.size(), -1);
    guesses_.resize(pods_.size());
    for (std::size_t i = 0; i < pods_.size(); ++i) number_[pods_[i].pod->meta.name] = i;
  }

  void play() {
    const obs::ClusterModel cluster{objects_};
    obs::SchedulerModel model{cluster};
    std::vector<obs::ShapeId> shapes;
    for (const auto& pod : pods_) {
      shapes.push_back(model.shape_of(*pod.pod));
      model.make_placeable(shapes.back(), *pod.pod);
    }
    obs::SchedulerPlay truth{model, SeededRng{piece_.seed + 1000}};
    using Ending = std::tuple<double, std::size_t, obs::NodeIndex>;
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;
    const auto begin = [&](std::size_t i, obs::NodeIndex node, double now) {
      started_[i] = now;
      auto copy = std::make_shared<obs::Pod>(*pods_[i].pod);
      copy->node = cluster.node(node).object->meta.name;
      copy->phase = obs::PodPhase::running;
      copy->scheduled = copy->started = whole_second(now);
      objects_.pods["trace/" + copy->meta.name] = copy;
      endings.emplace(now + pods_[i].duration, i, node);
      calibration_.started("trace/" + copy->meta.name, moment(now));
    };
    double next_question = piece_.every;
    std::vector<obs::SchedulerPlay::Start> starts;
    for (std::size_t next = 0; next < pods_.size() || !endings.empty();) {
      const double arrival = next < pods_.size() ? pods_[next].at : 1e18;
      const double end = endings.empty() ? 1e18 : std::get<0>(endings.top());
      const double now = std::min(arrival, end);
      for (; next_question < now && next_question < 3 * piece_.arrive_seconds;
           next_question += piece_.every)
        ask(next_question);
      if (end <= arrival) {
        const auto [at, i, node] = endings.top();
        endings.pop();
        auto over = std::make_shared<obs::Pod>(*objects_.pods["trace/" + pods_[i].pod->meta.name]);
        over->phase = obs::PodPhase::succeeded;
        over->ended = whole_second(at);
        durations_.learn(*over);
        ended_seconds_ += pods_[i].duration;
        ++ended_;
        objects_.pods.erase("trace/" + over->meta.name);
        starts.clear();
        truth.release(shapes[i], node, at, starts);
        for (const auto& one : starts) begin(one.item, one.node, at);
        continue;
      }
      auto pod = std::make_shared<obs::Pod>(*pods_[next].pod);
      pod->meta.created = whole_second(arrival);
      pods_[next].pod = pod;
      objects_.pods["trace/" + pod->meta.name] = pod;
      durations_.learn_arrival(pod);
      if (const auto node = truth.submit(static_cast<obs::ItemId>(next), shapes[next], arrival))
        begin(next, *node, arrival);
      ++next;
    }
  }

  // Of the pods first asked about after a quarter of the time, from which the predictor learns.
  struct Figures {
    std::size_t pods = 0;
    double covered = 0;
    double covered_raw = 0;
    double early = 0;
    double error = 0;
    double naive = 0;
    double naive_shared = 0;
    double width = 0;
    double wait = 0;
    double slowest_ms = 0;
  };
  Figures figures() const {
    Figures all;
    std::vector<double> errors, naives, shared, widths, waits;
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      const auto& guess = guesses_[i];
      if (!guess || guess->at < piece_.arrive_seconds / 4 || started_[i] < 0) continue;
      const double wait = started_[i] - guess->at;
      all.covered += wait >= guess->band.low - 0.5 && wait <= guess->band.high + 0.5 ? 1 : 0;
      all.covered_raw += wait >= guess->raw.low - 0.5 && wait <= guess->raw.high + 0.5 ? 1 : 0;
      all.early += wait < guess->band.low - 0.5 ? 1 : 0;
      errors.push_back(std::abs(wait - guess->band.median));
      naives.push_back(std::abs(wait - guess->naive));
      shared.push_back(std::abs(wait - guess->naive_shared));
      widths.push_back(guess->band.high - guess->band.low);
      waits.push_back(wait);
    }
    all.pods = errors.size();
    if (all.pods == 0) return all;
    for (auto* count : {&all.covered, &all.covered_raw, &all.early})
      *count *= 100.0 / static_cast<double>(all.pods);
    all.error = median(errors);
    all.naive = median(naives);
    all.naive_shared = median(shared);
    all.width = median(widths);
    all.wait = median(waits);
    all.slowest_ms = slowest_ms_;
    return all;
  }
  double gpus() const {
    double sum = 0;
    for (const auto& [name, node] : objects_.nodes) sum += obs::gpus_in(node->allocatable);
    return sum;
  }

 private:
  static double median(std::vector<double> values) {
    std::ranges::nth_element(values,
                             values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
  }

  void ask(double now) {
    objects_.at = moment(now);
    const auto pending = obs::pending_workloads(objects_);
    if (pending.empty()) return;
    const auto begin = std::chrono::steady_clock::now();
    const auto prediction =
        obs::predict_starts(objects_, pending, durations_, {piece_.seed, draws_});
    slowest_ms_ = std::max(
        slowest_ms_,
        1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    std::size_t running = 0;
    for (const auto& [name, pod] : objects_.pods) running += pod->node.empty() ? 0 : 1;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const auto& draws = prediction.starts[i];
      const auto& name = pending[i].pods.front()->meta.name;
      auto& guess = guesses_[number_.at(name)];
      if (guess || !draws.is_known()) continue;
      const auto raw = draws.band();
      const double naive =
          obs::naive_wait(i + 1, ended_ == 0 ? 0 : ended_seconds_ / static_cast<double>(ended_));
      guess = Guess{now, raw, calibration_.adjusted(raw, objects_.at), naive,
                    naive / static_cast<double>(std::max<std::size_t>(1, running))};
    }
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const auto& draws = prediction.starts[i];
      if (draws.is_known())
        calibration_.predicted(pending[i].pods.front()->meta.full_name(), objects_.at,
                               draws.band());
    }
  }

  Piece piece_;
  int draws_;
  std::vector<TracePod> pods_;
  obs::ClusterObjects objects_;
  obs::LearnedDurations durations_;
  obs::Calibration calibration_;
  std::vector<double> started_;
  std::vector<std::optional<Guess>> guesses_;
  std::map<std::string, std::size_t> number_;
  double ended_seconds_ = 0;
  std::size_t ended_ = 0;
  double slowest_ms_ = 0;
};

void report(const Inputs& inputs, const Piece& piece, std::string_view label) {
  Replay replay{inputs, piece, 100};
  replay.play();
  const auto all = replay.figures();
  fmt::print(
      "{:6} first {:5} pods {:5} gpus {:4.0f} load {:.2f}: {:4} waited (median {:6.1f} s); band "
      "covers {:5.1f} % (raw {:5.1f}, early {:4.1f}), "
      "width {:6.1f} s; error {:6.1f} s, naive {:7.1f} s, shared {:6.1f} s; slowest {:.0f} ms\n",
      label, piece.first, piece.pods, replay.gpus(), piece.load, all.pods, all.wait, all.covered,
      all.covered_raw, all.early, all.width, all.error, all.naive, all.naive_shared,
      all.slowest_ms);
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  using namespace weir::bench;
  const auto inputs = default_inputs();
  if (argc == 8) {
    Piece piece{std::strtoull(argv[1], nullptr, 10),
                std::strtoull(argv[2], nullptr, 10),
                std::atof(argv[3]),
                std::atof(argv[4]),
                std::atof(argv[5]),
                std::atof(argv[6]),
                std::strtoull(argv[7], nullptr, 10),
                5};
    report(inputs, piece, "given");
    return 0;
  }
  report(inputs, {4000, 700, 220, 100, 75, 1.1, 1, 5}, "tuned");
  report(inputs, {1500, 700, 220, 100, 75, 1.2, 2, 5}, "tuned");
  report(inputs, {500, 2000, 6000, 4, 2000, 1.15, 3, 60}, "tuned");
  report(inputs, {5000, 700, 220, 100, 75, 1.1, 4, 5}, "check");
  report(inputs, {2500, 700, 220, 100, 75, 1.25, 5, 5}, "check");
  report(inputs, {3000, 2500, 6000, 4, 2000, 1.1, 6, 60}, "check");
  return 0;
}
