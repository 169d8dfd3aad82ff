// SPDX-License-Identifier: Apache-2.0
#include "simulate/job_mix_study.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "domain/seeded_rng.h"
#include "domain/whole_numbers.h"
#include "network/coflow_window.h"
#include "network/partition/logical_clos.h"
#include "schedule/place/isolation_choice.h"
#include "simulate/flow_window.h"
#include "simulate/parallel_for.h"

namespace weir::simulate {
namespace {

using network::CoflowWindows;
using network::FabricSize;
using network::JobTraffic;
using network::LinkLoad;
using network::LogicalClos;
using network::OpticalClos;
using network::route_traffic;
using network::RoutedTraffic;

constexpr double kDone = 1e-6;  // s

struct SchemeName {
  NetworkScheme scheme;
  std::string_view name;
};
constexpr std::array kSchemeNames{SchemeName{NetworkScheme::ecmp, "ecmp"},
                                  SchemeName{NetworkScheme::static_routes, "static"},
                                  SchemeName{NetworkScheme::isolated, "isolated"},
                                  SchemeName{NetworkScheme::isolated_optical, "isolated-optical"},
                                  SchemeName{NetworkScheme::chosen, "chosen"},
                                  SchemeName{NetworkScheme::ideal, "ideal"}};

std::uint64_t mixed_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class MixRun {
 public:
  MixRun(const JobMixStudySetup& setup, const std::vector<MixedJob>& jobs, NetworkScheme scheme)
      : setup_{setup},
        jobs_{jobs},
        scheme_{scheme},
        size_{setup.fabric.leaves, setup.fabric.hosts_per_leaf, setup.fabric.uplinks_per_leaf()},
        clos_{setup.fabric},
        optical_{setup.optical},
        jobs_on_(static_cast<std::size_t>(size_.links())),
        asked_of_(static_cast<std::size_t>(size_.links())),
        looked_at_(static_cast<std::size_t>(size_.links())),
        windows_{size_.links()} {
    outcome_.scheme = scheme;
  }

  SchemeOutcome run() {
    std::size_t next = 0;
    double blocked = 0;
    while (ended_ < jobs_.size()) {
      double step =
          next < jobs_.size() ? jobs_[next].at - now_ : std::numeric_limits<double>::infinity();
      for (const auto& [job, running] : running_)
        step = std::min(step, running.left / running.speed);
      if (head_ < next && jobs_[head_].hosts <= free_hosts()) blocked += step;
      now_ += step;
      std::vector<std::size_t> done;
      for (auto& [job, running] : running_) {
        running.left -= step * running.speed;
        if (running.left <= kDone) done.push_back(job);
      }
      for (const std::size_t job : done) end(job);
      while (next < jobs_.size() && jobs_[next].at <= now_) ++next;
      while (head_ < next && start(head_, next - head_)) ++head_;
    }
    outcome_.blocked_share = blocked / now_;
    finish_means();
    return outcome_;
  }

 private:
  struct Running {
    network::Partition partition;  // nodes, and links where it is isolated
    std::vector<int> hosts;
    JobTraffic traffic;  // of jobs that share
    bool shares = false;
    double left = 0;  // s at speed 1
    double speed = 1;
    double started = 0;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  int free_hosts() const {
    return scheme_ == NetworkScheme::isolated_optical ? optical_.free_hosts() : clos_.free_hosts();
  }

  bool start(std::size_t job, std::size_t queued) {
    const int hosts = jobs_[job].hosts;
    if (hosts > free_hosts()) return false;
    switch (scheme_) {
      case NetworkScheme::isolated_optical:
        return start_optical(job);
      case NetworkScheme::isolated: {
        const auto found = clos_.find(hosts);
        return found && start_isolated(job, *found);
      }
      case NetworkScheme::chosen:
        return start_chosen(job, queued);
      case NetworkScheme::ecmp:
      case NetworkScheme::static_routes:
      case NetworkScheme::ideal:
        break;
    }
    Running running = placed(job);
    if (scheme_ == NetworkScheme::ideal) {
      clos_.take(running.partition);
      add(job, std::move(running), 1);
    } else {
      running.traffic = routed(job, running.hosts).traffic;
      share(job, std::move(running));
    }
    return true;
  }

  bool start_optical(std::size_t job) {
    const auto started = optical_.start(JobId{job}, jobs_[job].hosts);
    if (!started) return false;
    const double pause = std::chrono::duration<double>(setup_.rewiring.pause()).count();
    for (const JobId touched : started->jobs_paused) running_.at(touched.value).left += pause;
    outcome_.circuits_moved += started->circuits_moved;
    ++outcome_.isolated_jobs;
    Running running;
    running.left = started->circuits_made > 0 ? pause : 0;
    add(job, std::move(running), 1);
    return true;
  }

  // False, and nothing changed, when a job that shares would be cut off.
  bool start_isolated(std::size_t job, const network::Partition& partition) {
    clos_.take(partition);
    std::map<std::size_t, JobTraffic> rerouted;
    for (const std::size_t other : sharing_on(partition)) {
      RoutedTraffic traffic = routed(other, running_.at(other).hosts);
      if (!traffic.is_connected) {
        clos_.release(partition);
        return false;
      }
      rerouted.emplace(other, std::move(traffic.traffic));
    }
    Running running;
    running.partition = partition;
    ++outcome_.isolated_jobs;
    const MixedJob& mixed = jobs_[job];
    // Paired nodes have no uplinks of their own: data of theirs doubles up on others'.
    double widest = 1;
    for (const network::LeafShare& share : partition.leaves) {
      const auto nodes = static_cast<double>(share.nodes.size());
      if (partition.leaves.size() > 1) widest = std::max(widest, nodes / (nodes - share.paired));
    }
    add(job, std::move(running), 1 / (1 + mixed.all_to_all * (widest - 1)));
    change_traffic(std::move(rerouted));
    return true;
  }

  // Isolated where a partition is free, or where waiting for one costs less than sharing.
  bool start_chosen(std::size_t job, std::size_t queued) {
    const MixedJob& mixed = jobs_[job];
    Running shared = placed(job);
    RoutedTraffic traffic = routed(job, shared.hosts);
    const double slowdown = traffic.traffic.alone_seconds() / mixed.iteration_seconds - 1;
    if (traffic.is_connected && schedule::is_sharing_harmless(slowdown)) {
      shared.traffic = std::move(traffic.traffic);
      share(job, std::move(shared));
      return true;
    }
    if (const auto found = clos_.find(mixed.hosts); found && start_isolated(job, *found))
      return true;
    if (!traffic.is_connected) return false;
    const schedule::SharingQuestion question{
        slowdown, mixed.seconds, static_cast<double>(mixed.hosts) / setup_.fabric.hosts(),
        static_cast<std::int64_t>(queued) - 1, predicted_wait(mixed.hosts)};
    if (schedule::is_worth_waiting(question)) return false;
    shared.traffic = std::move(traffic.traffic);
    share(job, std::move(shared));
    return true;
  }

  // Until a partition is free, if running jobs end as they go now.
  double predicted_wait(int hosts) const {
    std::vector<std::pair<double, std::size_t>> ends;
    for (const auto& [job, running] : running_)
      ends.emplace_back(running.left / running.speed, job);
    std::sort(ends.begin(), ends.end());
    LogicalClos later = clos_;
    for (const auto& [wait, job] : ends) {
      later.release(running_.at(job).partition);
      if (later.free_hosts() >= hosts && later.find(hosts)) return wait;
    }
    return std::numeric_limits<double>::infinity();
  }

  // Nodes without links.
  Running placed(std::size_t job) const {
    const int per_node = setup_.fabric.hosts_per_node;
    const int nodes = static_cast<int>(divide_up(jobs_[job].hosts, per_node));
    Running running;
    running.partition.hosts = jobs_[job].hosts;
    running.partition.leaves =
        setup_.is_scattered ? scattered_nodes(job, nodes) : compact_nodes(nodes);
    for (const network::LeafShare& share : running.partition.leaves) {
      for (const int node : share.nodes) {
        for (int host = 0; host < per_node; ++host) {
          if (std::ssize(running.hosts) < jobs_[job].hosts)
            running.hosts.push_back(share.leaf * size_.hosts_per_leaf + node * per_node + host);
        }
      }
    }
    return running;
  }

  // One leaf where they fit, else the emptiest leaves and at last the fullest with room for the rest.
  std::vector<network::LeafShare> compact_nodes(int rest) const {
    std::vector<network::LeafShare> shares;
    std::vector<int> free;
    for (int leaf = 0; leaf < size_.leaves; ++leaf) free.push_back(clos_.free_nodes_of(leaf));
    while (rest > 0) {
      int chosen = -1;
      for (int leaf = 0; leaf < size_.leaves; ++leaf) {
        if (free[at(leaf)] == 0) continue;
        const bool fits = free[at(leaf)] >= rest;
        const bool fitted = chosen >= 0 && free[at(chosen)] >= rest;
        if (chosen < 0 || (fits && !fitted) ||
            (fits == fitted &&
             (fits ? free[at(leaf)] < free[at(chosen)] : free[at(leaf)] > free[at(chosen)])))
          chosen = leaf;
      }
      const int here = std::min(rest, free[at(chosen)]);
      network::LeafShare share{.leaf = chosen};
      for (int node = 0; std::ssize(share.nodes) < here; ++node) {
        if (clos_.is_node_free(chosen, node)) share.nodes.push_back(node);
      }
      rest -= here;
      free[at(chosen)] = 0;
      shares.push_back(std::move(share));
    }
    return shares;
  }

  // Any free ones; ranks go through them leaf by leaf.
  std::vector<network::LeafShare> scattered_nodes(std::size_t job, int count) const {
    std::vector<std::pair<int, int>> free;
    for (int leaf = 0; leaf < size_.leaves; ++leaf) {
      for (int node = 0; node < setup_.fabric.nodes_per_leaf(); ++node) {
        if (clos_.is_node_free(leaf, node)) free.emplace_back(leaf, node);
      }
    }
    SeededRng rng = SeededRng{setup_.mix.seed}.fork("nodes").fork(job);
    rng.shuffle(free);
    free.resize(at(count));
    std::sort(free.begin(), free.end());
    std::vector<network::LeafShare> shares;
    for (const auto& [leaf, node] : free) {
      if (shares.empty() || shares.back().leaf != leaf) shares.push_back({.leaf = leaf});
      shares.back().nodes.push_back(node);
    }
    return shares;
  }

  RoutedTraffic routed(std::size_t job, const std::vector<int>& hosts) const {
    if (scheme_ == NetworkScheme::static_routes) {
      return route_traffic(jobs_[job], hosts, size_, [&](int from, int) {
        return from % size_.hosts_per_leaf % size_.spines;
      });
    }
    const auto hash = [&](int from, int to) {
      return mixed_bits(mixed_bits(setup_.mix.seed) + static_cast<std::uint64_t>(from) * 1'000'003 +
                        static_cast<std::uint64_t>(to));
    };
    if (scheme_ == NetworkScheme::ecmp) {
      return route_traffic(jobs_[job], hosts, size_, [&](int from, int to) {
        return static_cast<int>(hash(from, to) % static_cast<std::uint64_t>(size_.spines));
      });
    }
    // Links that a partition owns are nobody else's.
    std::map<std::pair<int, int>, std::vector<int>> open;
    return route_traffic(jobs_[job], hosts, size_, [&](int from, int to) {
      const std::pair leaves{from / size_.hosts_per_leaf, to / size_.hosts_per_leaf};
      const auto [known, is_new] = open.try_emplace(leaves);
      for (int spine = 0; is_new && spine < size_.spines; ++spine) {
        if (clos_.is_link_free(leaves.first, spine) && clos_.is_link_free(leaves.second, spine))
          known->second.push_back(spine);
      }
      if (known->second.empty()) return -1;
      return known->second[hash(from, to) % known->second.size()];
    });
  }

  void add(std::size_t job, Running running, double speed) {
    running.left += jobs_[job].seconds;
    running.speed = speed;
    running.started = now_;
    running_.emplace(job, std::move(running));
  }

  void share(std::size_t job, Running running) {
    clos_.take(running.partition);
    running.shares = true;
    add(job, std::move(running), 1);
    put_on_links(job);
    play_around({job});
  }

  void end(std::size_t job) {
    const Running& running = running_.at(job);
    note(job, running);
    ++ended_;
    if (scheme_ == NetworkScheme::isolated_optical) {
      optical_.release(JobId{job});
      running_.erase(job);
      return;
    }
    clos_.release(running.partition);
    if (running.shares) {
      std::set<std::size_t> around = component(job);
      around.erase(job);
      take_off_links(job);
      running_.erase(job);
      play_around(around);
      return;
    }
    const network::Partition partition = running.partition;
    running_.erase(job);
    std::map<std::size_t, JobTraffic> rerouted;
    for (const std::size_t other : sharing_on(partition))
      rerouted.emplace(other, routed(other, running_.at(other).hosts).traffic);
    change_traffic(std::move(rerouted));
  }

  // Jobs that share and have hosts under a leaf whose links this partition takes.
  std::vector<std::size_t> sharing_on(const network::Partition& partition) const {
    std::vector<std::size_t> found;
    if (scheme_ != NetworkScheme::chosen || partition.spines.empty()) return found;
    std::set<int> leaves;
    for (const network::LeafShare& share : partition.leaves) leaves.insert(share.leaf);
    for (const auto& [job, running] : running_) {
      if (!running.shares || running.traffic.phases.empty()) continue;
      for (const network::LeafShare& share : running.partition.leaves) {
        if (!leaves.contains(share.leaf)) continue;
        found.push_back(job);
        break;
      }
    }
    return found;
  }

  void change_traffic(std::map<std::size_t, JobTraffic> rerouted) {
    if (rerouted.empty()) return;
    std::set<std::size_t> around;
    for (auto& [job, traffic] : rerouted) {
      around.merge(component(job));
      take_off_links(job);
      running_.at(job).traffic = std::move(traffic);
      put_on_links(job);
    }
    play_around(around);
  }

  void put_on_links(std::size_t job) {
    for (const LinkLoad& demand : running_.at(job).traffic.demands) {
      jobs_on_[at(demand.link)].push_back(job);
      asked_of_[at(demand.link)] += static_cast<double>(demand.flows);
    }
  }

  void take_off_links(std::size_t job) {
    for (const LinkLoad& demand : running_.at(job).traffic.demands) {
      std::erase(jobs_on_[at(demand.link)], job);
      asked_of_[at(demand.link)] -= static_cast<double>(demand.flows);
    }
  }

  // Jobs that may slow each other down, directly or through others: they meet on links that could
  // be full.
  std::set<std::size_t> component(std::size_t first) {
    ++looks_;
    std::set<std::size_t> found{first};
    std::vector<std::size_t> to_look_at{first};
    while (!to_look_at.empty()) {
      const std::size_t job = to_look_at.back();
      to_look_at.pop_back();
      for (const LinkLoad& demand : running_.at(job).traffic.demands) {
        if (asked_of_[at(demand.link)] <= 1 + 1e-6 || looked_at_[at(demand.link)] == looks_)
          continue;
        looked_at_[at(demand.link)] = looks_;
        for (const std::size_t other : jobs_on_[at(demand.link)]) {
          if (found.insert(other).second) to_look_at.push_back(other);
        }
      }
    }
    return found;
  }

  void play_around(std::set<std::size_t> changed) {
    while (!changed.empty()) {
      const std::set<std::size_t> together = component(*changed.begin());
      std::vector<const JobTraffic*> traffic;
      for (const std::size_t job : together) {
        changed.erase(job);
        traffic.push_back(&running_.at(job).traffic);
      }
      std::vector<double> seconds{traffic.front()->alone_seconds()};
      if (together.size() > 1) {
        seconds = setup_.is_by_flow
                      ? play_flow_window(traffic, size_.links(), setup_.window, setup_.mix.seed)
                      : windows_.play(traffic, setup_.window, setup_.mix.seed);
        ++outcome_.windows;
      }
      std::size_t i = 0;
      for (const std::size_t job : together)
        running_.at(job).speed = jobs_[job].iteration_seconds / seconds[i++];
    }
  }

  void note(std::size_t job, const Running& running) {
    const MixedJob& mixed = jobs_[job];
    for (JobTimes* times : {&outcome_.all, &by_size_[mixed.hosts]}) {
      ++times->jobs;
      times->completion += now_ - mixed.at;
      times->run += now_ - running.started;
      times->wait += running.started - mixed.at;
      times->slowdown += (now_ - running.started) / mixed.seconds;
    }
  }

  void finish_means() {
    for (auto& [hosts, times] : by_size_) {
      times.hosts = hosts;
      outcome_.by_size.push_back(times);
    }
    outcome_.by_size.push_back(outcome_.all);
    for (JobTimes& times : outcome_.by_size) {
      const auto jobs = static_cast<double>(std::max<std::int64_t>(times.jobs, 1));
      times.slowdown = (times.slowdown - 1) / jobs;  // it began at 1
      times.completion /= jobs;
      times.run /= jobs;
      times.wait /= jobs;
    }
    outcome_.all = outcome_.by_size.back();
    outcome_.by_size.pop_back();
  }

  const JobMixStudySetup& setup_;
  const std::vector<MixedJob>& jobs_;
  NetworkScheme scheme_;
  FabricSize size_;
  LogicalClos clos_;
  OpticalClos optical_;
  std::map<std::size_t, Running> running_;
  std::vector<std::vector<std::size_t>> jobs_on_;  // that share, by link
  std::vector<double> asked_of_;                   // at most at once, by link
  std::vector<std::uint64_t> looked_at_;           // by link: in which search for a component last
  std::uint64_t looks_ = 0;
  CoflowWindows windows_;
  std::map<int, JobTimes> by_size_;
  SchemeOutcome outcome_;
  std::size_t head_ = 0;  // jobs before it have started
  std::size_t ended_ = 0;
  double now_ = 0;
};

}  // namespace

std::string_view name_of(NetworkScheme scheme) {
  for (const SchemeName& row : kSchemeNames) {
    if (row.scheme == scheme) return row.name;
  }
  return "";
}

std::optional<NetworkScheme> find_network_scheme(std::string_view name) {
  for (const SchemeName& row : kSchemeNames) {
    if (row.name == name) return row.scheme;
  }
  return std::nullopt;
}

std::vector<std::string> network_scheme_names() {
  std::vector<std::string> names;
  for (const SchemeName& row : kSchemeNames) names.emplace_back(row.name);
  return names;
}

std::vector<SchemeOutcome> study_job_mix(const JobMixStudySetup& setup) {
  const std::vector<MixedJob> jobs = draw_job_mix(setup.mix);
  std::vector<SchemeOutcome> outcomes(setup.schemes.size());
  parallel_for(outcomes.size(), setup.threads, [&](std::size_t i) {
    const double before = thread_cpu_seconds();
    outcomes[i] = MixRun{setup, jobs, setup.schemes[i]}.run();
    outcomes[i].cpu_seconds = thread_cpu_seconds() - before;
  });
  return outcomes;
}

}  // namespace weir::simulate
