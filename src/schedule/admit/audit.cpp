// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/audit.h"

#include <algorithm>

#include "schedule/admit/promises.h"

namespace weir::schedule {
namespace {

class Auditor {
 public:
  Auditor(const TrainingState& state, const PoolState& pool, Time now)
      : state_{state}, pool_{pool}, now_{now} {}

  Audit run() {
    check_blocks();
    check_timelines();
    check_deadlines();
    return std::move(audit_);
  }

 private:
  void note(JobId job, const char* what) {
    audit_.violations.push_back("job " + std::to_string(job.value) + ": " + what);
  }

  void check_blocks() {
    BlockMap map = pool_.closed;
    for (const JobId id : pool_.active) {
      const TrainingJob& job = state_.job(id);
      if (job.block.is_none()) continue;
      if (job.level() == kPaused) note(id, "has a size that is not its own");
      if (map.is_free(job.block)) {
        map.take(job.block);
      } else {
        note(id, "has GPUs that are taken or closed");
      }
    }
  }

  // A sweep through time: what ends is freed before what begins is taken.
  void check_timelines() {
    struct Edge {
      Time at;
      bool begins;
      JobId job;
      GpuBlock block;
    };
    std::vector<Edge> edges;
    for (const JobId id : pool_.active) {
      const Timeline& timeline = state_.job(id).timeline;
      for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
        const Time from = std::max(timeline.steps[i].from, now_);
        if (timeline.steps[i].block.is_none() || timeline.end_of(i) <= from) continue;
        edges.push_back({from, true, id, timeline.steps[i].block});
        edges.push_back({timeline.end_of(i), false, id, timeline.steps[i].block});
      }
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
      return a.at != b.at ? a.at < b.at : a.begins < b.begins;
    });
    BlockMap map = pool_.closed;
    for (const Edge& edge : edges) {
      if (!edge.begins) {
        map.give_back(edge.block);
      } else if (map.is_free(edge.block)) {
        map.take(edge.block);
      } else {
        note(edge.job, "has a timeline that crosses another's or a closed node");
        return;  // the map is of no use any more
      }
    }
  }

  void check_deadlines() {
    for (const JobId id : pool_.active) {
      const TrainingJob& job = state_.job(id);
      if (!job.is_promised()) continue;
      ++audit_.promises;
      if (!job.is_at_risk && surplus(job, now_) < Work{}) note(id, "would miss its deadline");
    }
  }

  const TrainingState& state_;
  const PoolState& pool_;
  Time now_;
  Audit audit_;
};

}  // namespace

Audit audit_promises(const TrainingState& state, const PoolState& pool, Time now) {
  return Auditor{state, pool, now}.run();
}

}  // namespace weir::schedule
