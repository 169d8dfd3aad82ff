// SPDX-License-Identifier: Apache-2.0
#include "scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <queue>
#include <sstream>

#include "formats/quantity_text.h"
#include "scenario_lines.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "simulate/run_setup.h"

namespace weir::tests {
namespace {

struct NamedJob {
  std::string name;
  JobSubmitted request;
  Duration run_time{0};
};

// At one instant: free what ends, change nodes, then take what arrives; in file order.
enum class Phase : std::uint8_t { release, nodes, arrive };

struct Step {
  Time at;
  Phase phase = Phase::arrive;
  std::size_t sequence = 0;
  std::variant<JobFinished, NodeLost, NodeReturned, std::size_t>
      what;                   // the number of a job that arrives
  std::uint64_t attempt = 0;  // of a job that ends

  friend bool operator>(const Step& a, const Step& b) {
    return std::tie(a.at, a.phase, a.sequence) > std::tie(b.at, b.phase, b.sequence);
  }
};

struct Scenario {
  Cluster cluster;
  const schedule::PlacementPolicy* policy = schedule::find_placement_policy("best-fit");
  schedule::QueueRule queue = schedule::QueueRule::fifo;
  std::vector<NamedJob> jobs;
  std::vector<Step> steps;
  Expectations expected;
};

class Parser : public ScenarioLines {
 public:
  Parser(std::string file, Scenario& scenario)
      : ScenarioLines{std::move(file)}, scenario_{scenario} {}

  void line(const std::string& text) {
    const std::string keyword = begin(text);
    if (keyword.empty()) return;
    if (keyword == "cluster") return cluster();
    if (keyword == "policy") return policy();
    if (keyword == "queue") return queue();
    if (keyword == "job") return job();
    if (keyword == "lose" || keyword == "return") return node_event(keyword == "lose");
    if (keyword == "expect") return expect(text, "at 1s: b starts on node-2", scenario_.expected);
    mistake("line", keyword, "cluster, policy, queue, job, lose, return or expect");
  }

 private:
  // cluster 2 nodes x 8 gpus [x 64 cpus] [model A]
  void cluster() {
    std::int64_t nodes = 0;
    std::int64_t gpus = 0;
    std::int64_t cpus = 64;
    std::string model = "A";
    for (std::size_t i = 1; i < words().size(); ++i) {
      if (words()[i] == "nodes" || words()[i] == "node") nodes = number("nodes", words()[i - 1]);
      if (words()[i] == "gpus" || words()[i] == "gpu") gpus = number("gpus", words()[i - 1]);
      if (words()[i] == "cpus") cpus = number("cpus", words()[i - 1]);
      if (words()[i] == "model" && i + 1 < words().size()) model = words()[i + 1];
    }
    if (nodes < 1) mistake("cluster", "", "a number of nodes, as in `cluster 2 nodes x 8 gpus`");
    for (std::int64_t i = 0; i < nodes; ++i) {
      Cluster& cluster = scenario_.cluster;
      const std::size_t id = cluster.nodes.size() + 1;
      cluster.nodes.push_back(Node{NodeId{id}, fmt::format("node-{}", id),
                                   cluster.pool_named(model), MilliCpu{cpus * 1000},
                                   Mebibytes{1 << 20}, static_cast<std::int32_t>(gpus),
                                   gpus == 0 ? kNoGpuModel : *cluster.models.intern(model)});
    }
  }

  void policy() {
    const std::string name = words().size() > 1 ? words()[1] : "";
    scenario_.policy = schedule::find_placement_policy(name);
    if (scenario_.policy == nullptr) mistake("policy", name, "a name that `weir policies` lists");
  }

  void queue() {
    const std::string name = words().size() > 1 ? words()[1] : "";
    if (name == "drop") scenario_.queue = schedule::QueueRule::drop;
    if (name == "fifo") scenario_.queue = schedule::QueueRule::fifo;
    if (name == "backfill") scenario_.queue = schedule::QueueRule::backfill;
    if (name != "drop" && name != "fifo" && name != "backfill")
      mistake("queue", name, "drop, fifo or backfill");
  }

  void job() {
    if (words().size() < 2) return mistake("job", "", "a name");
    NamedJob job{words()[1], {}, from_seconds(3600)};
    Time at{};
    for (std::size_t i = 2; i + 1 < words().size(); i += 2) {
      const std::string& key = words()[i];
      const std::string& value = words()[i + 1];
      Shape& shape = job.request.shape;
      if (key == "gpus") {
        shape.gpu_count = static_cast<std::int32_t>(number(key, value));
        shape.gpu_share = shape.gpu_count == 0 ? MilliGpu{0} : kWholeGpu;
      } else if (key == "share") {
        shape.gpu_count = 1;
        shape.gpu_share = MilliGpu{formats::parse_decimal(value, 3).value_or(0)};
      } else if (key == "cpus") {
        shape.cpu = MilliCpu{number(key, value) * 1000};
      } else if (key == "replicas") {
        job.request.replicas = static_cast<std::int32_t>(number(key, value));
      } else if (key == "model") {
        const auto model = scenario_.cluster.models.find(value);
        if (!model) return mistake(key, value, "a model of the cluster");
        shape.models.insert(*model);
      } else if (key == "at") {
        at = Time{duration(key, value)};
      } else if (key == "runs") {
        job.run_time = duration(key, value);
      } else {
        mistake("job", key, "gpus, share, cpus, replicas, model, at or runs");
      }
    }
    scenario_.steps.push_back(
        {at, Phase::arrive, scenario_.steps.size(), scenario_.jobs.size(), 0});
    scenario_.jobs.push_back(std::move(job));
  }

  void node_event(bool lost) {
    ScenarioLines::node_event(scenario_.cluster, [&](Time at, NodeId node) {
      Step step{at, Phase::nodes, scenario_.steps.size(), NodeLost{node}, 0};
      if (!lost) step.what = NodeReturned{node};
      scenario_.steps.push_back(step);
    });
  }

  Scenario& scenario_;
};

// Plays the steps: the modelled engine in a few lines.
class Player {
 public:
  explicit Player(const Scenario& scenario)
      : scenario_{scenario},
        core_{{scenario.policy, 42, scenario.queue},
              simulate::initial_state_for(scenario.cluster, simulate::NodeOrder::as_listed, 42,
                                          simulate::Expectation::oracle, target_of(scenario))} {
    for (const Step& step : scenario.steps) steps_.push(step);
  }

  std::vector<std::string> play() {
    while (!steps_.empty()) {
      const Step step = steps_.top();
      steps_.pop();
      if (const auto* arriving = std::get_if<std::size_t>(&step.what)) {
        submitted_.push_back(*arriving);
        attempts_.push_back(0);
        handle({step.at, scenario_.jobs[*arriving].request});
      } else if (const auto* finished = std::get_if<JobFinished>(&step.what)) {
        if (attempts_[finished->job.value - 1] == step.attempt) handle({step.at, *finished});
      } else if (const auto* lost = std::get_if<NodeLost>(&step.what)) {
        handle({step.at, *lost});
      } else {
        handle({step.at, std::get<NodeReturned>(step.what)});
      }
    }
    return std::move(log_);
  }

 private:
  static TargetWorkload target_of(const Scenario& scenario) {
    std::vector<ExpectedShape> counts;
    for (const NamedJob& job : scenario.jobs)
      counts.push_back({job.request.shape, job.request.replicas});
    return make_target_workload(std::move(counts));
  }

  void handle(const Event& event) {
    for (const Record& record : core_.handle(event)) {
      std::visit([&](const auto& what) { note(record.at, what); }, record.what);
    }
  }

  const NamedJob& job(JobId id) const { return scenario_.jobs[submitted_[id.value - 1]]; }
  void say(Time at, JobId id, const std::string& what) {
    log_.push_back(
        fmt::format("at {}: {} {}", formats::format_duration(at - Time{}), job(id).name, what));
  }

  void note(Time at, const JobPlaced& placed) {
    std::string nodes;
    for (const Placement& placement : placed.placements.all())
      nodes += fmt::format(" node-{}", placement.node.value + 1);
    say(at, placed.job, "starts on" + nodes);
    const std::uint64_t attempt = ++attempts_[placed.job.value - 1];
    steps_.push({at + job(placed.job).run_time, Phase::release, ++sequence_,
                 JobFinished{placed.job}, attempt});
  }
  void note(Time at, const JobQueued& queued) { say(at, queued.job, "waits"); }
  void note(Time at, const JobRejected& rejected) { say(at, rejected.job, "is rejected"); }
  void note(Time at, const JobReleased& released) { say(at, released.job, "ends"); }
  void note(Time at, const JobInterrupted& interrupted) {
    ++attempts_[interrupted.job.value - 1];
    say(at, interrupted.job, "is interrupted");
  }
  template <class Other>
  void note(Time, const Other&) {}

  const Scenario& scenario_;
  schedule::Core core_;
  std::priority_queue<Step, std::vector<Step>, std::greater<>> steps_;
  std::vector<std::size_t> submitted_;   // by job id: its number in the scenario
  std::vector<std::uint64_t> attempts_;  // by job id: starts and interruptions so far
  std::size_t sequence_ = 0;
  std::vector<std::string> log_;
};

}  // namespace

ScenarioReport compared(std::vector<std::string> log, const Expectations& expected) {
  ScenarioReport report;
  report.log = std::move(log);
  std::vector<std::string> left = report.log;
  for (const std::string& line : expected.lines) {
    const auto at = std::find(left.begin(), left.end(), line);
    if (at == left.end()) {
      report.missing.push_back(line);
    } else {
      left.erase(at);
    }
  }
  if (expected.nothing_else) report.surplus = left;
  return report;
}

Result<ScenarioReport> run_scenario(const std::string& file_name, const std::string& text) {
  Scenario scenario;
  Parser parser{file_name, scenario};
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) parser.line(line);
  if (!parser.mistakes().empty()) return bad_input(parser.mistakes());

  return compared(Player{scenario}.play(), scenario.expected);
}

}  // namespace weir::tests
