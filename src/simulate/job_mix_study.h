// SPDX-License-Identifier: Apache-2.0
//
// What a way to share the network means for jobs, waiting included: a mix of training jobs, first in,
// first out, on one fabric under several schemes. Between starts and ends nothing changes, so the
// iterations of jobs that share links are played once per such state (network/coflow_window.h) and jobs move on
// at that speed; a job with links of its own needs no playing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/job_traffic.h"
#include "network/partition/optical_clos.h"
#include "simulate/job_mix.h"

namespace weir::simulate {

enum class NetworkScheme : std::uint8_t {
  ecmp,              // a spine by hash for each pair of hosts
  static_routes,     // the spine with the number of the sender under its leaf
  isolated,          // contention-free partitions of fixed links, or wait
  isolated_optical,  // the same with circuits made for each job
  chosen,            // isolated where the predicted contention is worth the wait, else by hash
  ideal,             // a network without limits
};
std::string_view name_of(NetworkScheme scheme);
std::optional<NetworkScheme> find_network_scheme(std::string_view name);
std::vector<std::string> network_scheme_names();

struct JobMixStudySetup {
  JobMixSetup mix;
  network::ClosShape fabric{.leaves = 128, .hosts_per_leaf = 64, .spines = 64, .hosts_per_node = 4};
  network::OpticalShape optical{.leaves = 256,
                                .hosts_per_leaf = 32,
                                .spines = 128,
                                .spine_ports_per_switch = 2,
                                .hosts_per_node = 4};
  network::RewiringTimes rewiring;
  std::vector<NetworkScheme> schemes{NetworkScheme::ecmp,     NetworkScheme::static_routes,
                                     NetworkScheme::isolated, NetworkScheme::isolated_optical,
                                     NetworkScheme::chosen,   NetworkScheme::ideal};
  // Jobs that share lie on few leaves; or their nodes on any, by chance.
  bool is_scattered = false;
  int window = 5;           // iterations
  bool is_by_flow = false;  // every flow by itself (flow_window.h): exact, and slow
  unsigned threads = 0;
};

struct JobTimes {
  int hosts = 0;  // 0: all sizes
  std::int64_t jobs = 0;
  // Means, in seconds: wait + run = completion.
  double completion = 0;
  double run = 0;
  double wait = 0;
  double slowdown = 1;  // run over what it would be alone at line rate
};

struct SchemeOutcome {
  NetworkScheme scheme{};
  JobTimes all;
  std::vector<JobTimes> by_size;
  double blocked_share = 0;  // of the time: the first of the queue waits though hosts are free
  std::int64_t windows = 0;  // played
  std::int64_t isolated_jobs = 0;
  std::int64_t circuits_moved = 0;  // of jobs that run
  double cpu_seconds = 0;           // that playing took
};

// One outcome per scheme, in the order of the setup. Same seed, same outcomes, any number of threads.
std::vector<SchemeOutcome> study_job_mix(const JobMixStudySetup& setup);

}  // namespace weir::simulate
