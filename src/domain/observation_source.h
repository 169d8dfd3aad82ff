// SPDX-License-Identifier: Apache-2.0
//
// The port between a cluster that another scheduler runs and whoever watches it. The source tells what is there; it
// never changes the cluster. Times are the wall clock's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/observed.h"
#include "domain/placement.h"
#include "domain/time.h"
#include "domain/units.h"

namespace weir {

enum class ObservedPhase : std::uint8_t { waiting, running, finished, failed };

// A pod, or what stands for one elsewhere.
struct ObservedTask {
  std::string uid;
  std::string name;
  MilliCpu cpu;
  Mebibytes memory;
  std::int32_t gpu_count = 0;  // 0..kMaxGpusPerNode
  MilliGpu gpu_share;          // of each
  std::string node;            // empty: it waits
  GpuMask gpus;                // which of the node's; none: not known
  ObservedPhase phase = ObservedPhase::waiting;
  Time created;
  std::optional<Time> started;
  std::optional<Time> ended;
  bool is_shown = true;  // in lists of jobs; not what every node runs for itself
  std::string detail;    // JSON object: what else people may want to know; has "uid"
  friend bool operator==(const ObservedTask&, const ObservedTask&) = default;
};

// Each node and task at most once, as it is now: however often it changed, and whether it went and came back.
struct ObservedChanges {
  bool is_all = false;              // what is not named here is gone
  std::vector<ObservedNode> nodes;  // model_id is not set: whoever listens numbers the models
  std::vector<std::string> nodes_gone;
  std::vector<ObservedTask> tasks;
  std::vector<std::string> tasks_gone;  // uids
};

// Why a task waits and when it will probably start.
struct TaskInsight {
  std::string uid;
  std::string waits;  // JSON object
  std::optional<Time> expected_start;
};

struct ClusterInsight {
  std::string json;  // the whole, as `weir observe --json` prints it
  double gpus_fragmented = 0;
  std::vector<TaskInsight> tasks;  // all that wait
};

class ObservationSource {
 public:
  virtual ~ObservationSource() = default;

  // `wake` is called, on any thread, when there is something new to take.
  virtual void start(std::function<void()> wake) = 0;
  virtual void stop() = 0;

  // What has changed since the last call, or with `everything` all there is. Nothing before the first look is
  // complete.
  virtual std::optional<ObservedChanges> take_changes(bool everything) = 0;
  // A new one since the last call.
  virtual std::optional<ClusterInsight> take_insight() = 0;

  // Why the picture may be old or has holes; empty: it is whole and live.
  virtual std::string trouble() const = 0;
  // For people: "Kubernetes v1.36.4 at https://..."
  virtual std::string describe() const = 0;
};

}  // namespace weir
