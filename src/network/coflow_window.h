// SPDX-License-Identifier: Apache-2.0
//
// How long iterations take while some jobs share links and nobody comes or goes: a few iterations of
// each are played, every job as one co-flow (all flows of a phase at the rate of its slowest), rates
// max-min fair between jobs.
//
// Limits: flows that are not a job's slowest leave slack which nobody gets here, so jobs that share many
// links come out too slow: by 3.7 % in the mean and 9.5 % at worst where groups of four hosts lie
// anywhere, against flow_window.h (docs/models/network.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/job_traffic.h"

namespace weir::network {

// Keeps its memory from one window to the next.
//
// Only links that jobs ask too much of at this moment, at the rates they would have alone, can be full: the others
// are not looked at. When a job goes from one phase to the next and neither touches such a link, no rate changes.
class CoflowWindows {
 public:
  // Requires of all jobs: 0 <= link < links.
  explicit CoflowWindows(int links);

  // Seconds of an iteration, by job; the mean over `iterations` at least. `seed` says where in its
  // iteration each job is at first; or `starts`, by job, the seconds until its first iteration begins.
  std::vector<double> play(std::span<const JobTraffic* const> jobs, int iterations,
                           std::uint64_t seed, std::span<const double> starts = {});

 private:
  struct Member {
    int player = 0;
    double flows = 0;
  };
  struct Link {
    double most = 0;   // asked if all jobs ask for their most at once
    int jobs = 0;      // that ever ask
    double asked = 0;  // now, if nobody were held back
    int hot = -1;      // its place among the links that are asked too much of; -1: it is not one
    std::vector<Member> members;  // now
  };
  struct HotLink {
    int link = 0;
    double room = 0;
    double weight = 0;  // flows of those that still rise
  };
  struct HotLoad {
    int hot = 0;
    double flows = 0;
  };
  struct Player {
    const JobTraffic* traffic = nullptr;
    int phase = 0;
    double left = 0;  // s at line rate, or of computing
    double rate = 1;
    double own_rate = 1;  // if nobody else were there
    double level = 0;     // no higher than it will be
    std::vector<HotLoad> loads;
    int iterations = -1;  // whole ones; the first end is where counting begins
    double first_end = 0;
    double last_end = 0;
  };

  bool may_bind(const Link& link) const;
  void begin(std::span<const JobTraffic* const> jobs, std::uint64_t seed,
             std::span<const double> starts);
  void forget(std::span<const JobTraffic* const> jobs);
  bool advance(std::size_t index);
  void enter_phase(std::size_t index);
  void leave_phase(std::size_t index);
  void make_hot(int link);
  void make_cool(int link);
  void share_links();
  double level_of(const Player& player) const;
  void stop_rising(Player& player);
  Link& link_at(int link) { return links_[static_cast<std::size_t>(link)]; }

  std::vector<Link> links_;
  std::vector<HotLink> hot_;
  std::vector<Player> players_;
  std::vector<Player*> rising_;
  bool has_changed_ = false;  // what hot links are asked
  double now_ = 0;
};

// One window.
std::vector<double> play_window(std::span<const JobTraffic* const> jobs, int iterations,
                                std::uint64_t seed, std::span<const double> starts = {});

}  // namespace weir::network
