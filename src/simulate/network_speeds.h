// SPDX-License-Identifier: Apache-2.0
//
// How fast jobs run for what their network gives them, of what they would do with links without limits.
// Between two decisions nobody comes or goes, so some iterations of jobs that meet on links are played
// once (network/coflow_window.h) and count until something changes. Jobs with links of their own meet
// nobody; what their own flows do to each other counts too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "domain/ids.h"
#include "network/job_traffic.h"
#include "schedule/core/training_state.h"

namespace weir::simulate {

struct NetworkSpeed {
  JobId job;
  std::int64_t millionths = 1'000'000;  // of the rate its curve says
};

class NetworkSpeeds {
 public:
  explicit NetworkSpeeds(int window) : window_{window} {}

  // The jobs of which the speed is another than the last time. A job that is not named and was not
  // before runs at full speed.
  std::vector<NetworkSpeed> follow(const schedule::TrainingState& state);

  std::int64_t windows() const { return windows_; }  // that were played

 private:
  // What a job's traffic was made from, and the traffic.
  struct Player {
    GpuBlock block;
    std::shared_ptr<const LinkGrant> links;
    std::int64_t rate = 0;
    std::int64_t version = 0;  // another for every other traffic
    network::JobTraffic traffic;
    double iteration_seconds = 0;
  };
  using Players = std::map<JobId, Player>;

  void follow_pool(const schedule::TrainingState& state, const schedule::PoolState& pool,
                   std::map<JobId, std::int64_t>& speeds);
  std::vector<double> play(const std::vector<const Player*>& together);

  int window_;
  std::int64_t windows_ = 0;
  std::int64_t versions_ = 0;
  std::map<PoolIndex, Players> players_;
  std::map<PoolIndex, schedule::LinkOwners> owners_;
  // Seconds of an iteration of jobs that meet, by the versions of their traffic: the last time, and now.
  std::map<std::vector<std::int64_t>, std::vector<double>> played_;
  std::map<std::vector<std::int64_t>, std::vector<double>> playing_;
  std::map<JobId, std::int64_t> speeds_;
};

}  // namespace weir::simulate
