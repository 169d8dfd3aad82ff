// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/predict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <queue>

#include "observe/kubernetes/pending.h"
#include "observe/kubernetes/scheduler_model.h"

namespace weir::observe {
namespace {

constexpr double kHorizon = 60.0 * 24 * 3600;  // seconds
// What is learnt of durations and arrivals is itself uncertain, for all pods of a draw alike: standard deviations of the
// logarithm, tuned on bench/predict_replay.
constexpr double kDurationDoubt = 0.25;
constexpr double kArrivalDoubt = 0.35;
constexpr std::size_t kRecentArrivals = 150;
constexpr std::size_t kScoredNodes = 50;  // more change the choice little and take time
constexpr std::size_t kFewestDraws = 16;
constexpr std::size_t kEventsPerPod =
    5;  // a play ends after so many for each pod that runs or waits at its begin

// Something that runs, waits or may come: its shape and how long its like runs.
struct Kind {
  ShapeId shape = 0;
  const Survival* duration = nullptr;
  double cap = std::numeric_limits<double>::infinity();  // activeDeadlineSeconds
};

struct Running {
  Kind kind;
  NodeIndex node = 0;
  double age = 0;
  bool is_leaving = false;
};

struct Queued {
  Kind kind;
  std::size_t workload = 0;
  int tries = 0;
};

struct Arrival {
  Kind kind;
  double offset = 0;  // seconds from the first of them
};

struct Ending {
  double at = 0;
  ShapeId shape = 0;
  NodeIndex node = 0;
  friend bool operator>(const Ending& a, const Ending& b) {
    return std::tie(a.at, a.node, a.shape) > std::tie(b.at, b.node, b.shape);
  }
};

// Everything that is the same in all draws.
class Scene {
 public:
  Scene(const ClusterObjects& objects, std::span<const PendingWorkload> pending,
        const LearnedDurations& learned)
      : cluster_{objects}, model_{cluster_}, durations_{learned, objects} {
    for (NodeIndex i = 0; i < cluster_.node_count(); ++i) {
      for (const auto& pod : cluster_.node(i).pods) add_running(*pod, i, objects.at);
    }
    add_queue(pending, objects.at);
    add_arrivals(objects, learned);
  }

  const SchedulerModel& model() const { return model_; }
  const std::vector<Running>& running() const { return running_; }
  const std::vector<Queued>& queued() const { return queued_; }
  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  double arrival_window() const { return arrival_window_; }

 private:
  Kind kind_of(const Pod& pod) {
    Kind kind{model_.shape_of(pod), durations_.of(pod)};
    if (pod.active_deadline_seconds) kind.cap = static_cast<double>(*pod.active_deadline_seconds);
    return kind;
  }
  void add_running(const Pod& pod, NodeIndex node, Time now) {
    running_.push_back({kind_of(pod), node, LearnedDurations::seconds_run(pod, now),
                        pod.meta.deleted.has_value()});
  }
  // In the order in which they would be tried: priority, then time of creation.
  void add_queue(std::span<const PendingWorkload> pending, Time now) {
    std::vector<std::pair<const Pod*, std::size_t>> pods;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      for (const auto& pod : pending[i].pods) {
        if (pod->gates.empty() && pod->node.empty()) pods.emplace_back(pod.get(), i);
      }
    }
    std::ranges::stable_sort(pods, [](const auto& a, const auto& b) {
      return std::tuple{-std::int64_t{a.first->priority}, a.first->meta.created,
                        std::cref(a.first->meta.name).get()} <
             std::tuple{-std::int64_t{b.first->priority}, b.first->meta.created,
                        std::cref(b.first->meta.name).get()};
    });
    for (const auto& [pod, workload] : pods) {
      Queued queued{kind_of(*pod), workload, 0};
      model_.make_placeable(queued.kind.shape, *pod);
      // After half a minute of waiting on a busy cluster a pod has been tried often.
      queued.tries = to_seconds(now - pod->meta.created) > 30 ? 5 : 1;
      queued_.push_back(queued);
    }
  }
  void add_arrivals(const ClusterObjects& objects, const LearnedDurations& learned) {
    std::vector<PodPointer> recent(learned.arrivals().begin(), learned.arrivals().end());
    if (recent.empty()) {
      for (const auto& [name, pod] : objects.pods) recent.push_back(pod);
    }
    std::ranges::stable_sort(recent, {}, [](const PodPointer& pod) { return pod->meta.created; });
    if (recent.size() > kRecentArrivals) {
      recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(kRecentArrivals));
    }
    if (recent.size() < 2) return;
    const auto first = recent.front()->meta.created;
    arrival_window_ = std::max(1.0, to_seconds(objects.at - first));
    for (const auto& pod : recent) {
      Pod fresh = *pod;
      fresh.node.clear();
      Arrival arrival{kind_of(fresh), to_seconds(pod->meta.created - first)};
      model_.make_placeable(arrival.kind.shape, fresh);
      arrivals_.push_back(arrival);
    }
  }

  ClusterModel cluster_;
  SchedulerModel model_;
  DurationModel durations_;
  std::vector<Running> running_;
  std::vector<Queued> queued_;
  std::vector<Arrival> arrivals_;
  double arrival_window_ = 0;
};

// The recent arrivals once more, from a random point of their window on, round and round.
class ArrivalReplay {
 public:
  ArrivalReplay(const Scene& scene, SeededRng& rng)
      : scene_{scene}, stretch_{rng.lognormal(0, kArrivalDoubt)} {
    if (scene.arrivals().empty()) return;
    const double from = rng.uniform() * scene.arrival_window();
    const auto& all = scene.arrivals();
    next_ = static_cast<std::size_t>(
        std::ranges::partition_point(all, [&](const Arrival& one) { return one.offset < from; }) -
        all.begin());
    shift_ = -from;
    wrap();
  }
  double next_time() const {
    return scene_.arrivals().empty() ? std::numeric_limits<double>::infinity()
                                     : (scene_.arrivals()[next_].offset + shift_) * stretch_;
  }
  const Kind& take() {
    const auto& kind = scene_.arrivals()[next_].kind;
    ++next_;
    wrap();
    return kind;
  }

 private:
  void wrap() {
    if (next_ < scene_.arrivals().size()) return;
    next_ = 0;
    shift_ += scene_.arrival_window();
  }
  const Scene& scene_;
  double stretch_;
  std::size_t next_ = 0;
  double shift_ = 0;
};

class Draw {
 public:
  Draw(const Scene& scene, SchedulerPlay play, SeededRng rng)
      : scene_{scene},
        play_{std::move(play)},
        rng_{rng},
        durations_{rng.fork("durations")},
        pace_{rng.fork("pace").lognormal(0, kDurationDoubt)} {
    play_.set_rng(rng.fork("ties"));
  }

  // Seconds until each queued pod starts. Ends when all have, at the horizon, or after `most_events`.
  std::vector<double> play(std::size_t most_events) {
    starts_.assign(scene_.queued().size(), StartDraws::kNever);
    left_ = 0;
    for (const auto& one : scene_.queued())
      left_ += scene_.model().has_nodes(one.kind.shape) ? 1 : 0;
    fill_endings();
    for (ItemId i = 0; i < scene_.queued().size(); ++i) {
      const auto& one = scene_.queued()[i];
      if (const auto node = play_.submit(i, one.kind.shape, 0, one.tries))
        begin(i, one.kind.shape, *node, 0);
    }
    double now = 0;
    auto arrivals_rng = rng_.fork("arrivals");
    ArrivalReplay arrivals{scene_, arrivals_rng};
    for (; left_ > 0 && events_ < most_events; ++events_) {
      const double end =
          endings_.empty() ? std::numeric_limits<double>::infinity() : endings_.top().at;
      const double arrival = arrivals.next_time();
      now = std::min(end, arrival);
      if (now > kHorizon) break;
      if (arrival < end) {
        arrive(arrivals.take(), arrival);
      } else {
        finish();
      }
    }
    for (ItemId i = 0; i < starts_.size(); ++i) {
      const bool can_start = scene_.model().has_nodes(scene_.queued()[i].kind.shape);
      if (starts_[i] == StartDraws::kNever && can_start) starts_[i] = now;
    }
    return starts_;
  }
  std::size_t events() const { return events_; }

 private:
  double draw_duration(const Kind& kind, double age) {
    if (kind.duration->empty())
      return std::max(age, 60.0) * std::pow(1 - durations_.uniform(), -1 / Survival::kTailShape);
    const double whole = age + (kind.duration->draw(durations_, age) - age) * pace_;
    return std::min(std::max(kind.cap, age), whole);
  }
  void fill_endings() {
    std::vector<Ending> endings;
    endings.reserve(scene_.running().size());
    for (const auto& one : scene_.running()) {
      // A pod that is being deleted goes within its grace period, 30 s as a rule.
      const double rest =
          one.is_leaving ? durations_.uniform() * 30 : draw_duration(one.kind, one.age) - one.age;
      endings.push_back({rest, one.kind.shape, one.node});
    }
    endings_ = Endings{std::greater<>{}, std::move(endings)};
  }
  const Kind& kind_of(ItemId item) const {
    return item < scene_.queued().size() ? scene_.queued()[item].kind
                                         : newcomers_[item - scene_.queued().size()];
  }
  void begin(ItemId item, ShapeId shape, NodeIndex node, double now) {
    endings_.push({now + draw_duration(kind_of(item), 0), shape, node});
    if (item >= starts_.size()) return;
    starts_[item] = now;
    --left_;
  }
  void arrive(const Kind& kind, double now) {
    const auto item = static_cast<ItemId>(scene_.queued().size() + newcomers_.size());
    newcomers_.push_back(kind);
    if (const auto node = play_.submit(item, kind.shape, now)) begin(item, kind.shape, *node, now);
  }
  void finish() {
    const auto ending = endings_.top();
    endings_.pop();
    begun_.clear();
    play_.release(ending.shape, ending.node, ending.at, begun_);
    for (const auto& one : begun_) begin(one.item, one.shape, one.node, ending.at);
  }

  using Endings = std::priority_queue<Ending, std::vector<Ending>, std::greater<>>;
  const Scene& scene_;
  SchedulerPlay play_;
  SeededRng rng_;
  SeededRng durations_;
  double pace_;
  Endings endings_;
  std::vector<Kind> newcomers_;
  std::vector<SchedulerPlay::Start> begun_;
  std::vector<double> starts_;
  std::size_t left_ = 0;
  std::size_t events_ = 0;
};

// A gang starts with its last pod, anything else with its first.
void add_draw(const Scene& scene, std::span<const PendingWorkload> pending,
              const std::vector<double>& starts, std::vector<StartDraws>& all) {
  std::vector<std::optional<double>> by_workload(pending.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto workload = scene.queued()[i].workload;
    const bool is_gang = pending[workload].group != nullptr;
    auto& start = by_workload[workload];
    if (!start) {
      start = starts[i];
    } else {
      start = is_gang ? std::max(*start, starts[i]) : std::min(*start, starts[i]);
    }
  }
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (by_workload[i]) all[i].seconds.push_back(*by_workload[i]);
  }
}

double quantile(const std::vector<double>& sorted, double fraction) {
  const auto at = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

}  // namespace

WaitBand StartDraws::band() const {
  const auto bounded = [&](double fraction) {
    return std::min(quantile(seconds, fraction), kHorizon);
  };
  return {bounded(0.1), bounded(0.5), bounded(0.9)};
}

Prediction predict_starts(const ClusterObjects& objects, std::span<const PendingWorkload> pending,
                          const LearnedDurations& learned, const PredictOptions& options) {
  Prediction prediction;
  prediction.starts.resize(pending.size());
  if (learned.ended_pods() == 0 || pending.empty()) return prediction;
  const Scene scene{objects, pending, learned};
  if (!scene.arrivals().empty()) {
    prediction.arrivals_per_hour =
        static_cast<double>(scene.arrivals().size()) / scene.arrival_window() * 3600;
  }
  const SeededRng rng{options.seed};
  SchedulerPlay begin{scene.model(), rng};
  begin.limit_scored_nodes(kScoredNodes);
  begin.set_longest_backoff(options.longest_backoff);
  std::size_t events = 0;
  const auto most_per_draw =
      kEventsPerPod * (scene.running().size() + scene.queued().size()) + 1000;
  for (int i = 0;
       i < options.draws && (events < options.most_events || i < static_cast<int>(kFewestDraws));
       ++i) {
    Draw draw{scene, begin, rng.fork(static_cast<std::uint64_t>(i))};
    add_draw(scene, pending, draw.play(most_per_draw), prediction.starts);
    events += draw.events() + scene.running().size() / 8;
    ++prediction.draws;
  }
  for (auto& start : prediction.starts) std::ranges::sort(start.seconds);
  return prediction;
}

double naive_wait(std::size_t position, double mean_seconds) {
  return static_cast<double>(position) * mean_seconds;
}

}  // namespace weir::observe
