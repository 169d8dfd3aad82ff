// SPDX-License-Identifier: Apache-2.0
#include "control/observed_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "control/job_status.h"

namespace weir::control {
namespace {

using SortedJson = nlohmann::json;

Error broken(std::string what) {
  Diagnostics details;
  details.add({"store", 0, "observed nodes", std::move(what),
               "what `weir serve --engine kubernetes` keeps there"});
  return {ErrorCode::failure, std::move(details)};
}

// What the task asked for, from the detail its source gave.
std::optional<Shape> shape_in(const JobStatus& status) {
  const auto detail = SortedJson::parse(status.observed, nullptr, false);
  if (!detail.is_object()) return std::nullopt;
  const auto asked = [&](const char* name) { return detail.value(name, std::int64_t{0}); };
  Shape shape;
  shape.cpu = MilliCpu{asked("cpu_milli")};
  shape.memory = Mebibytes{asked("memory_mib")};
  const double gpus = detail.value("gpus", 0.0);
  if (gpus > 0 && gpus < 1) {
    shape.gpu_count = 1;
    shape.gpu_share =
        MilliGpu{std::max<std::int64_t>(1, static_cast<std::int64_t>(gpus * 1000 + 0.5))};
  } else {
    shape.gpu_count =
        static_cast<std::int32_t>(std::clamp(gpus, 0.0, static_cast<double>(kMaxGpusPerNode)));
    shape.gpu_share = shape.gpu_count > 0 ? kWholeGpu : MilliGpu{0};
  }
  if (!is_well_formed(shape)) return std::nullopt;
  return shape;
}

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

// Median run times by the GPUs a task has.
class KnownRunTimes {
 public:
  void add(const Shape& shape, Duration time) {
    times_[shape.gpu_total()].push_back(time);
    all_.push_back(time);
  }
  Duration median(const Shape& shape) {
    const auto at = times_.find(shape.gpu_total());
    return of(at == times_.end() ? all_ : at->second);
  }

 private:
  static Duration of(std::vector<Duration>& times) {
    if (times.empty()) return std::chrono::hours{1};
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
  std::map<MilliGpu, std::vector<Duration>> times_;
  std::vector<Duration> all_;
};

struct SeenTask {
  JobStatus status;
  Shape shape;
};

Result<std::vector<SeenTask>> tasks_in(StoreReader& reader) {
  std::vector<SeenTask> tasks;
  JobQuery query;
  query.limit = 5000;
  while (true) {
    const auto page = reader.jobs(query);
    if (!page) return tl::unexpected<Error>(page.error());
    for (const std::string& view : page->views) {
      auto status = read_job_status(view);
      if (!status || status->observed.empty()) continue;
      const auto shape = shape_in(*status);
      const bool never_began = is_over(status->phase) && !status->started;
      if (shape && !never_began) tasks.push_back({std::move(*status), *shape});
    }
    if (!page->has_more) break;
    query.after = page->last;
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const SeenTask& a, const SeenTask& b) {
    return a.status.submitted < b.status.submitted;
  });
  return tasks;
}

}  // namespace

std::string observed_nodes_json(const std::map<std::string, ObservedNode>& nodes) {
  SortedJson all = SortedJson::array();
  for (const auto& [name, node] : nodes) {
    all.push_back({{"name", node.name},
                   {"pool", node.pool},
                   {"rack", node.rack},
                   {"model", node.model},
                   {"cpu_milli", node.cpu.value},
                   {"memory_mib", node.memory.value},
                   {"gpus", node.gpu_count},
                   {"up", node.is_up}});
  }
  return all.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

Result<std::vector<ObservedNode>> read_observed_nodes(std::string_view text) {
  try {
    std::vector<ObservedNode> nodes;
    for (const SortedJson& entry : SortedJson::parse(text)) {
      ObservedNode node;
      node.name = entry.at("name").get<std::string>();
      node.pool = entry.at("pool").get<std::string>();
      node.rack = entry.at("rack").get<std::string>();
      node.model = entry.at("model").get<std::string>();
      node.cpu = MilliCpu{entry.at("cpu_milli").get<std::int64_t>()};
      node.memory = Mebibytes{entry.at("memory_mib").get<std::int64_t>()};
      node.gpu_count = entry.at("gpus").get<std::int32_t>();
      node.is_up = entry.at("up").get<bool>();
      nodes.push_back(std::move(node));
    }
    return nodes;
  } catch (const SortedJson::exception& error) {
    return tl::unexpected<Error>(broken(error.what()));
  }
}

Result<ObservedHistory> read_observed_history(StoreReader& reader, std::string_view nodes_json,
                                              Time now) {
  ObservedHistory history;
  auto nodes = read_observed_nodes(nodes_json);
  if (!nodes) return tl::unexpected<Error>(std::move(nodes.error()));
  history.nodes = std::move(*nodes);
  auto tasks = tasks_in(reader);
  if (!tasks) return tl::unexpected<Error>(std::move(tasks.error()));
  KnownRunTimes known;
  for (const SeenTask& task : *tasks) {
    if (task.status.ended && task.status.started)
      known.add(task.shape, *task.status.ended - *task.status.started);
  }
  history.workload.name = "observed";
  std::vector<double> waits;
  for (const SeenTask& task : *tasks) {
    const JobStatus& status = task.status;
    WorkloadJob job;
    job.spec = {status.name, 1, task.shape};
    JobTiming timing;
    timing.submitted = status.submitted - tasks->front().status.submitted;
    if (!status.started) {
      timing.run_time = known.median(task.shape);
      ++history.waiting;
    } else {
      timing.run_time = status.ended.value_or(now) - *status.started;
      status.ended ? ++history.ended : ++history.running;
      waits.push_back(std::max(0.0, to_seconds(*status.started - status.submitted)));
    }
    timing.run_time = std::max(timing.run_time, Duration{std::chrono::milliseconds{1}});
    job.timing = timing;
    history.workload.jobs.push_back(std::move(job));
  }
  for (const double wait : waits) history.wait_mean_s += wait / static_cast<double>(waits.size());
  history.wait_p99_s = percentile(std::move(waits), 0.99);
  return history;
}

Result<Cluster> cluster_of(const std::vector<ObservedNode>& nodes,
                           const std::vector<std::string>& lost, std::int64_t added) {
  Diagnostics mistakes;
  std::set<std::string> names;
  for (const ObservedNode& node : nodes) names.insert({node.name, node.rack, node.pool});
  for (const std::string& name : lost) {
    if (names.contains(name)) continue;
    mistakes.add({"", 0, "--lose", name, "a node, rack or pool that was observed"});
  }
  const ObservedNode* largest = nullptr;
  Cluster cluster;
  cluster.name = "observed";
  const auto add = [&](const ObservedNode& seen, const std::string& name) {
    Node node;
    node.id = NodeId{cluster.nodes.size() + 1};
    node.name = name;
    node.pool = cluster.pool_named(seen.pool);
    node.cpu = seen.cpu;
    node.memory = seen.memory;
    node.gpu_count = seen.gpu_count;
    if (seen.gpu_count > 0)
      node.model = cluster.models.intern(seen.model).value_or(GpuModelId{kMaxGpuModels - 1});
    cluster.nodes.push_back(std::move(node));
  };
  const auto size = [](const ObservedNode& node) {
    return std::tuple{node.gpu_count, node.cpu.value, node.memory.value};
  };
  for (const ObservedNode& node : nodes) {
    if (largest == nullptr || size(*largest) < size(node)) largest = &node;
    const auto is_lost = [&](const std::string& name) {
      return name == node.name || name == node.rack || name == node.pool;
    };
    if (std::none_of(lost.begin(), lost.end(), is_lost)) add(node, node.name);
  }
  if (largest == nullptr && added > 0)
    mistakes.add({"", 0, "--add-nodes", fmt::format("{}", added),
                  "nothing: no node was observed that others could be like"});
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  for (std::int64_t i = 1; i <= added; ++i) add(*largest, fmt::format("added-{}", i));
  return cluster;
}

}  // namespace weir::control
