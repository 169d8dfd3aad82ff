// SPDX-License-Identifier: Apache-2.0
//
// The same flows on SimGrid: model CM02, no latency, no cross traffic, no TCP window. A path is a
// host of a star whose way to the middle is the whole path, so that paths can be chosen freely.
#include "network_workload.h"

#ifdef WEIR_HAS_SIMGRID

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>

namespace weir::bench {
namespace {

namespace sg = simgrid::s4u;

class PeerPlay {
 public:
  PeerPlay(const NetworkWorkload& workload, bool notes_rates, int result_pipe)
      : workload_{workload}, notes_rates_{notes_rates}, pipe_{result_pipe} {}

  void run(const std::string& optimisation) {
    int count = 1;
    char name[] = "peer";
    char* arguments[] = {name, nullptr};
    sg::Engine engine{&count, arguments};
    for (const char* option :
         {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
          "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0",
          "contexts/stack-size:16"}) {
      sg::Engine::set_config(option);
    }
    sg::Engine::set_config("network/optim:" + optimisation);
    build();
    if (!workload_.slots.empty()) {
      comms_.resize(workload_.slots.size());
      left_.resize(workload_.slots.size(), 0);
      for (std::size_t slot = 0; slot < workload_.slots.size(); ++slot) {
        sg::Actor::create("slot", sink_, [this, slot] { play_slot(slot); });
      }
    } else {
      sg::Actor::create("steps", sink_, [this] { play_steps(); });
    }
    begin_ = cpu_seconds();
    engine.run();
  }

 private:
  void build() {
    auto* zone = sg::create_star_zone("fabric");
    std::vector<const sg::Link*> links;
    for (std::size_t i = 0; i < workload_.capacities.size(); ++i) {
      links.push_back(
          zone->create_link(std::to_string(i), workload_.capacities[i])->set_latency(0)->seal());
    }
    sink_ = zone->create_host("sink", 1e9)->seal();
    zone->add_route(nullptr, sink_->get_netpoint(), nullptr, nullptr,
                    std::vector<sg::LinkInRoute>{}, false);
    zone->add_route(sink_->get_netpoint(), nullptr, nullptr, nullptr,
                    std::vector<sg::LinkInRoute>{}, false);
    for (std::size_t i = 0; i < workload_.paths.size(); ++i) {
      auto* host = zone->create_host("path" + std::to_string(i), 1e9)->seal();
      std::vector<sg::LinkInRoute> route;
      for (const auto link : workload_.paths[i]) route.emplace_back(links[link]);
      zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, route, false);
      hosts_.push_back(host);
    }
    zone->seal();
  }

  void note_rates(std::size_t slot) {
    const double now = sg::Engine::get_clock();
    auto& interval = result_.intervals.emplace_back();
    interval.from = since_;
    interval.to = now;
    since_ = now;
    for (std::size_t i = 0; i < comms_.size(); ++i) {
      const double left = i == slot ? 0 : comms_[i]->get_remaining();
      interval.rates.push_back((left_[i] - left) / (interval.to - interval.from));
      left_[i] = left;
    }
  }

  void play_slot(std::size_t slot) {
    for (const PlayedFlow& flow : workload_.slots[slot]) {
      left_[slot] = static_cast<double>(flow.bytes);
      ++result_.events;
      comms_[slot] = sg::Comm::sendto_async(hosts_[flow.path], sink_, flow.bytes);
      comms_[slot]->wait();
      ++result_.events;
      if (notes_rates_) note_rates(slot);
      if (++ended_ == workload_.ends) finish();
    }
  }

  void play_steps() {
    for (const auto& step : workload_.steps) {
      std::vector<sg::CommPtr> comms;
      comms.reserve(step.size());
      for (const PlayedFlow& flow : step)
        comms.push_back(sg::Comm::sendto_async(hosts_[flow.path], sink_, flow.bytes));
      sg::Comm::wait_all(comms);
      result_.events += 2 * step.size();
    }
    finish();
  }

  template <class T>
  void send(const T& value) {
    if (::write(pipe_, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) _exit(1);
  }
  [[noreturn]] void finish() {
    send(cpu_seconds() - begin_);
    send(sg::Engine::get_clock());
    send(result_.events - workload_.slots.size());
    send(result_.intervals.size());
    for (const auto& interval : result_.intervals) {
      send(interval.from);
      send(interval.to);
      for (const double rate : interval.rates) send(rate);
    }
    _exit(0);
  }

  const NetworkWorkload& workload_;
  bool notes_rates_;
  int pipe_;
  sg::Host* sink_ = nullptr;
  std::vector<sg::Host*> hosts_;
  std::vector<sg::CommPtr> comms_;
  std::vector<double> left_;
  double since_ = 0;
  double begin_ = 0;
  std::uint64_t ended_ = 0;
  NetworkRun result_;
};

template <class T>
bool receive(std::FILE* from, T& value) {
  return std::fread(&value, sizeof value, 1, from) == 1;
}

}  // namespace

bool has_peer() {
  return true;
}

bool play_on_peer(const NetworkWorkload& workload, const std::string& optimisation,
                  bool notes_rates, unsigned most_seconds, NetworkRun& run) {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return false;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    close(ends[0]);
    const rlimit limit{most_seconds, most_seconds};
    setrlimit(RLIMIT_CPU, &limit);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    PeerPlay{workload, notes_rates, ends[1]}.run(optimisation);
    _exit(1);
  }
  close(ends[1]);
  std::FILE* from = fdopen(ends[0], "r");
  std::size_t intervals = 0;
  bool is_complete = receive(from, run.cpu_seconds) && receive(from, run.end_time) &&
                     receive(from, run.events) && receive(from, intervals);
  for (std::size_t i = 0; is_complete && i < intervals; ++i) {
    auto& interval = run.intervals.emplace_back();
    is_complete = receive(from, interval.from) && receive(from, interval.to);
    interval.rates.resize(workload.slots.size());
    for (double& rate : interval.rates) is_complete = is_complete && receive(from, rate);
  }
  std::fclose(from);
  int status = 0;
  waitpid(child, &status, 0);
  return is_complete;
}

}  // namespace weir::bench

#else

namespace weir::bench {

bool has_peer() {
  return false;
}

bool play_on_peer(const NetworkWorkload&, const std::string&, bool, unsigned, NetworkRun&) {
  return false;
}

}  // namespace weir::bench

#endif
