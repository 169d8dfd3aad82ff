// SPDX-License-Identifier: Apache-2.0
//
// Jobs that share a fabric, over time. An iteration of a job computes for a while; its collectives
// wait for a point of that and for each other, then move their bytes as flows. It ends when both
// are done, and the next one begins. Jobs meet on links only.
//
// Two ways to play a collective (PlayMode):
//  - stepwise: every step waits for the slowest flow of the one before, plus the latency of a step.
//    Pessimistic for libraries that pipeline.
//  - steady: all steps at once, as a flow over all links in which every pair of ranks advances in
//    step with the slowest. Closer to what NCCL's rings and trees do with large buffers.
//
// A link that fails stops what crosses it; flows that have another way take it with the bytes they
// have left, the others wait for the repair.
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "network/collective.h"
#include "network/fabric.h"
#include "network/flow_run.h"
#include "network/routes.h"

namespace weir::network {

struct JobCollective {
  CollectiveKind kind = CollectiveKind::ring_all_reduce;
  double bytes = 0;     // of a rank's buffer
  double ready_at = 0;  // seconds of the iteration's compute that come before it
  PlayMode mode = PlayMode::stepwise;
};

struct NetworkJob {
  std::string name;
  std::vector<GpuIndex> gpus;  // by rank; at least 2 when it has collectives
  double starts_at = 0;
  std::uint64_t iterations = 1;
  double compute_seconds = 0;  // per iteration
  std::vector<JobCollective> collectives;
  CollectiveOptions options;
};

struct FabricRunOptions {
  RoutingOptions routing;
  RateMethod method = RateMethod::hybrid;
  double step_latency = 0;  // seconds per step of a collective
  std::size_t samples = 0;  // most points of rates over time that are kept; 0 for none
};

struct JobOutcome {
  double start = 0;
  double end = kNoLimit;  // kNoLimit: it did not end
  std::uint64_t iterations = 0;
  std::vector<double> iteration_seconds;
  double communication_seconds = 0;  // in which it had flows
};

struct FabricOutcome {
  double end = 0;
  std::vector<JobOutcome> jobs;
  std::vector<double> link_bytes;  // that crossed each link
  struct Sample {
    double at = 0;
    std::vector<double> rates;  // bytes per second that each job's GPUs send
  };
  std::vector<Sample> samples;
  std::uint64_t flow_events = 0;
  std::uint64_t commits = 0;
};

class FabricRun {
 public:
  // Requires: the fabric outlives the run.
  FabricRun(const Fabric& fabric, const FabricRunOptions& options);

  void add_job(NetworkJob job);
  // Both directions of the link.
  void fail_link(LinkIndex link, double at);
  void repair_link(LinkIndex link, double at);

  // Once. Stops at `until`, or when nothing can happen any more.
  FabricOutcome run(double until = kNoLimit);

 private:
  struct Running {
    NetworkJob job;
    std::vector<Collective> collectives;  // by kind, in the order of job.collectives
    std::size_t next = 0;                 // the collective that is played or waited for
    std::size_t step = 0;
    std::uint32_t flows = 0;
    bool is_computing = false;
    double iteration_began = 0;
    double flows_since = 0;
    double rate = 0;
    std::unordered_map<std::uint64_t, std::vector<RoutedFlow>> routes;  // by pair of ranks
  };
  struct ActiveFlow {
    std::uint32_t job = 0;
    Transfer transfer;  // steady: only the bytes of a rank's buffer
    double bytes = 0;
    double sent_weight = 1;  // what a unit of level sends in all
    std::vector<Hop> path;
    bool is_steady = false;
    bool is_active = false;
  };
  enum class TimerKind : std::uint8_t { link, begin, computed, collective, step };
  struct Timer {
    double at = 0;
    std::uint64_t number = 0;  // first set, first served
    TimerKind kind = TimerKind::begin;
    std::uint32_t job = 0;  // or link
    bool is_repair = false;
    friend bool operator>(const Timer& a, const Timer& b) {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  void set_timer(double at, TimerKind kind, std::uint32_t job, bool is_repair = false);
  void fire(const Timer& timer);
  void begin_iteration(std::uint32_t job);
  void await_collective(std::uint32_t job);
  void begin_collective(std::uint32_t job);
  void begin_step(std::uint32_t job);
  void end_step(std::uint32_t job);
  void end_if_done(std::uint32_t job);
  void start_transfers(std::uint32_t job, const std::vector<Move>& moves, double bytes,
                       const Collective& collective);
  void start_steady(std::uint32_t job, const Collective& collective, double bytes);
  void start_flow(std::uint32_t job, const Transfer& transfer, std::vector<Hop> path, double bytes,
                  double sent_weight, bool is_steady);
  std::vector<RoutedFlow> route(const std::vector<Transfer>& step);
  void end_flow(FlowIndex flow);
  void account(const ActiveFlow& flow, double bytes);
  void change_link(LinkIndex link, bool is_repair);
  void take_sample();

  const Fabric& fabric_;
  FabricRunOptions options_;
  Router router_;
  FlowRun flows_;
  std::vector<Running> jobs_;
  std::vector<ActiveFlow> active_;  // by flow
  std::vector<std::uint32_t> crowd_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::uint64_t timers_set_ = 0;
  std::size_t samples_skipped_ = 0;
  std::size_t sample_every_ = 1;
  FabricOutcome outcome_;
};

// What a collective alone on a fabric takes by the formula of its table: bytes that a rank sends at
// `bandwidth`. For checks and for the report; contention and latency are not in it.
double unshared_seconds(const Collective& collective, double bytes, double bandwidth);

}  // namespace weir::network
