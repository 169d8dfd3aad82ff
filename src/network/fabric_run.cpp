// SPDX-License-Identifier: Apache-2.0
#include "network/fabric_run.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace weir::network {
namespace {

std::uint64_t pair_key(const Transfer& transfer) {
  return (std::uint64_t{transfer.from} << 32U) | transfer.to;
}

}  // namespace

FabricRun::FabricRun(const Fabric& fabric, const FabricRunOptions& options)
    : fabric_{fabric},
      options_{options},
      router_{fabric, options.routing},
      flows_{fabric.capacities(), options.method} {
  outcome_.link_bytes.assign(fabric.links.size(), 0);
  if (options.routing.routing == Routing::adaptive) crowd_.assign(fabric.links.size(), 0);
}

void FabricRun::add_job(NetworkJob job) {
  assert(job.collectives.empty() || job.gpus.size() >= 2);
  const auto index = static_cast<std::uint32_t>(jobs_.size());
  Running running;
  running.job = std::move(job);
  for (const JobCollective& collective : running.job.collectives) {
    running.collectives.push_back(make_collective(
        collective.kind, static_cast<std::uint32_t>(running.job.gpus.size()), running.job.options));
  }
  set_timer(running.job.starts_at, TimerKind::begin, index);
  JobOutcome outcome;
  outcome.start = running.job.starts_at;
  outcome_.jobs.push_back(std::move(outcome));
  jobs_.push_back(std::move(running));
}

void FabricRun::fail_link(LinkIndex link, double at) {
  set_timer(at, TimerKind::link, link);
}
void FabricRun::repair_link(LinkIndex link, double at) {
  set_timer(at, TimerKind::link, link, true);
}

void FabricRun::set_timer(double at, TimerKind kind, std::uint32_t job, bool is_repair) {
  timers_.push({at, timers_set_++, kind, job, is_repair});
}

FabricOutcome FabricRun::run(double until) {
  for (;;) {
    const double timer = timers_.empty() ? kNoLimit : timers_.top().at;
    const double limit = std::min(timer, until);
    const auto ended = flows_.advance(limit);
    if (options_.samples > 0) take_sample();
    if (ended.empty() && flows_.now() + kSameInstant < limit) break;  // nothing moves any more
    for (const FlowIndex flow : ended) end_flow(flow);
    while (!timers_.empty() && timers_.top().at <= flows_.now() + kSameInstant) {
      const Timer next = timers_.top();
      timers_.pop();
      fire(next);
    }
    if (flows_.now() >= until) break;
    if (ended.empty() && timers_.empty() && flows_.active() == 0) break;
  }
  outcome_.end = flows_.now();
  outcome_.flow_events = flows_.events();
  outcome_.commits = flows_.commits();
  for (FlowIndex flow = 0; flow < active_.size(); ++flow) {
    if (active_[flow].is_active)
      account(active_[flow], active_[flow].bytes - flows_.remaining(flow));
  }
  return std::move(outcome_);
}

void FabricRun::fire(const Timer& timer) {
  switch (timer.kind) {
    case TimerKind::link:
      return change_link(timer.job, timer.is_repair);
    case TimerKind::begin:
      return begin_iteration(timer.job);
    case TimerKind::computed:
      jobs_[timer.job].is_computing = false;
      return end_if_done(timer.job);
    case TimerKind::collective:
      return begin_collective(timer.job);
    case TimerKind::step:
      return begin_step(timer.job);
  }
}

void FabricRun::begin_iteration(std::uint32_t index) {
  Running& running = jobs_[index];
  if (outcome_.jobs[index].iterations == running.job.iterations) {
    outcome_.jobs[index].end = flows_.now();
    return;
  }
  running.iteration_began = flows_.now();
  running.next = 0;
  running.is_computing = running.job.compute_seconds > 0;
  if (running.is_computing)
    set_timer(flows_.now() + running.job.compute_seconds, TimerKind::computed, index);
  await_collective(index);
}

void FabricRun::await_collective(std::uint32_t index) {
  Running& running = jobs_[index];
  if (running.next == running.job.collectives.size()) return end_if_done(index);
  const double ready = running.iteration_began + running.job.collectives[running.next].ready_at;
  if (ready > flows_.now() + kSameInstant) {
    set_timer(ready, TimerKind::collective, index);
  } else {
    begin_collective(index);
  }
}

void FabricRun::end_if_done(std::uint32_t index) {
  Running& running = jobs_[index];
  if (running.is_computing || running.next < running.job.collectives.size()) return;
  JobOutcome& outcome = outcome_.jobs[index];
  ++outcome.iterations;
  outcome.iteration_seconds.push_back(flows_.now() - running.iteration_began);
  // Not at once: iterations without length would never return.
  set_timer(flows_.now(), TimerKind::begin, index);
}

void FabricRun::begin_collective(std::uint32_t index) {
  Running& running = jobs_[index];
  running.step = 0;
  const Collective& collective = running.collectives[running.next];
  const JobCollective& wanted = running.job.collectives[running.next];
  const bool is_steady = wanted.mode == PlayMode::steady;
  const double latency =
      options_.step_latency * (is_steady ? static_cast<double>(collective.steps.size()) : 1.0);
  if (latency > 0) {
    set_timer(flows_.now() + latency, TimerKind::step, index);
  } else {
    begin_step(index);
  }
}

void FabricRun::begin_step(std::uint32_t index) {
  Running& running = jobs_[index];
  const Collective& collective = running.collectives[running.next];
  const JobCollective& wanted = running.job.collectives[running.next];
  running.flows_since = flows_.now();
  if (wanted.mode == PlayMode::steady) {
    running.step = collective.steps.size();
    start_steady(index, collective, wanted.bytes);
  } else {
    const auto& moves = collective.steps[running.step++];
    start_transfers(index, moves, wanted.bytes, collective);
  }
}

void FabricRun::end_step(std::uint32_t index) {
  Running& running = jobs_[index];
  outcome_.jobs[index].communication_seconds += flows_.now() - running.flows_since;
  if (running.step < running.collectives[running.next].steps.size()) {
    if (options_.step_latency > 0) {
      set_timer(flows_.now() + options_.step_latency, TimerKind::step, index);
    } else {
      begin_step(index);
    }
    return;
  }
  ++running.next;
  await_collective(index);
}

std::vector<RoutedFlow> FabricRun::route(const std::vector<Transfer>& step) {
  std::vector<RoutedFlow> routed;
  std::vector<std::uint32_t> lost;
  router_.route(step, crowd_, routed, lost);
  // Without a way: over a link that has failed, where they wait.
  for (const std::uint32_t place : lost) {
    std::vector<LinkIndex> links;
    const RouteTable whole{fabric_};
    whole.find_path(step[place].from, step[place].to, links, [](auto, auto, auto) { return 0U; });
    RoutedFlow flow{place, step[place].bytes, {}};
    for (const LinkIndex link : links) {
      flow.path.push_back({link, 1});
      if (!crowd_.empty()) ++crowd_[link];
    }
    routed.push_back(std::move(flow));
  }
  return routed;
}

void FabricRun::start_transfers(std::uint32_t index, const std::vector<Move>& moves, double bytes,
                                const Collective& collective) {
  Running& running = jobs_[index];
  std::vector<Transfer> step;
  std::vector<Transfer> unknown;
  for (const Move& move : moves) {
    step.push_back({running.job.gpus[move.from], running.job.gpus[move.to],
                    collective.bytes_of(move, bytes), index});
    if (router_.is_fixed() && running.routes.count(pair_key(step.back())) == 0) {
      running.routes[pair_key(step.back())];
      unknown.push_back(step.back());
      unknown.back().bytes = 1;
    }
  }
  if (!router_.is_fixed()) {
    for (RoutedFlow& flow : route(step)) {
      start_flow(index, step[flow.transfer], std::move(flow.path), flow.bytes, 1, false);
    }
    return;
  }
  for (RoutedFlow& flow : route(unknown)) {
    running.routes[pair_key(unknown[flow.transfer])].push_back(std::move(flow));
  }
  for (const Transfer& transfer : step) {
    for (const RoutedFlow& flow : running.routes[pair_key(transfer)]) {
      start_flow(index, transfer, flow.path, flow.bytes * transfer.bytes, 1, false);
    }
  }
}

void FabricRun::start_steady(std::uint32_t index, const Collective& collective, double bytes) {
  Running& running = jobs_[index];
  std::map<std::pair<GpuIndex, GpuIndex>, double> sums;
  for (const auto& step : collective.steps) {
    for (const Move& move : step) {
      sums[{running.job.gpus[move.from], running.job.gpus[move.to]}] +=
          collective.bytes_of(move, bytes);
    }
  }
  std::vector<Transfer> pairs;
  double most = 0;
  double sent = 0;
  for (const auto& [pair, sum] : sums) {
    pairs.push_back({pair.first, pair.second, sum, index});
    most = std::max(most, sum);
    sent += sum;
  }
  std::map<LinkIndex, double> weights;
  for (const RoutedFlow& flow : route(pairs)) {
    for (const Hop& hop : flow.path) weights[hop.link] += hop.weight * flow.bytes / most;
  }
  std::vector<Hop> path;
  for (const auto& [link, weight] : weights) path.push_back({link, weight});
  start_flow(index, {0, 0, bytes, index}, std::move(path), most, sent / most, true);
}

void FabricRun::start_flow(std::uint32_t index, const Transfer& transfer, std::vector<Hop> path,
                           double bytes, double sent_weight, bool is_steady) {
  const FlowIndex flow = flows_.start(path, bytes);
  if (flow >= active_.size()) active_.resize(flow + 1);
  active_[flow] = {index, transfer, bytes, sent_weight, std::move(path), is_steady, true};
  ++jobs_[index].flows;
}

void FabricRun::account(const ActiveFlow& flow, double bytes) {
  for (const Hop& hop : flow.path) outcome_.link_bytes[hop.link] += hop.weight * bytes;
}

void FabricRun::end_flow(FlowIndex index) {
  ActiveFlow& flow = active_[index];
  account(flow, flow.bytes);
  flow.is_active = false;
  if (!crowd_.empty()) {
    for (const Hop& hop : flow.path) --crowd_[hop.link];
  }
  if (--jobs_[flow.job].flows == 0) end_step(flow.job);
}

void FabricRun::change_link(LinkIndex link, bool is_repair) {
  for (const LinkIndex each : {link, link ^ 1U}) {
    flows_.set_capacity(each, is_repair ? fabric_.links[each].capacity : 0);
  }
  if (is_repair) {
    router_.repair(link);
  } else {
    router_.fail(link);
  }
  for (Running& running : jobs_) running.routes.clear();
  // Who waits on a failed link looks for another way; after a repair that is the old one.
  const auto count = static_cast<FlowIndex>(active_.size());
  for (FlowIndex index = 0; index < count; ++index) {
    const bool is_touched =
        active_[index].is_active &&
        std::any_of(active_[index].path.begin(), active_[index].path.end(),
                    [&](const Hop& hop) { return (hop.link | 1U) == (link | 1U); });
    if (!is_touched || is_repair) continue;
    const ActiveFlow old = active_[index];
    const double left = flows_.remaining(index);
    account(old, old.bytes - left);
    if (!crowd_.empty()) {
      for (const Hop& hop : old.path) --crowd_[hop.link];
    }
    active_[index].is_active = false;
    flows_.cancel(index);
    --jobs_[old.job].flows;
    if (old.is_steady) {
      // The whole of it, with what each pair has left.
      const Running& running = jobs_[old.job];
      start_steady(old.job, running.collectives[running.next],
                   old.transfer.bytes * left / old.bytes);
      continue;
    }
    Transfer rest = old.transfer;
    rest.bytes = left;
    for (RoutedFlow& flow : route({rest})) {
      start_flow(old.job, rest, std::move(flow.path), flow.bytes, 1, false);
    }
  }
}

void FabricRun::take_sample() {
  // When there are too many, every second one goes, and fewer are taken.
  if (++samples_skipped_ < sample_every_) return;
  samples_skipped_ = 0;
  FabricOutcome::Sample sample{flows_.now(), std::vector<double>(jobs_.size(), 0)};
  for (FlowIndex index = 0; index < active_.size(); ++index) {
    const ActiveFlow& flow = active_[index];
    if (flow.is_active) sample.rates[flow.job] += flow.sent_weight * flows_.rate(index);
  }
  outcome_.samples.push_back(std::move(sample));
  if (outcome_.samples.size() < 2 * options_.samples) return;
  auto& kept = outcome_.samples;
  for (std::size_t i = 1; i < options_.samples; ++i) kept[i] = std::move(kept[2 * i]);
  kept.resize(options_.samples);
  sample_every_ *= 2;
}

double unshared_seconds(const Collective& collective, double bytes, double bandwidth) {
  return collective.most_sent(bytes) / bandwidth;
}

}  // namespace weir::network
