// SPDX-License-Identifier: Apache-2.0
#include "training_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <variant>

#include "formats/log_codec.h"
#include "formats/quantity_text.h"
#include "scenario_lines.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::tests {
namespace {

// A GPU does an iteration a second, whatever the job.
constexpr std::int64_t kIterationsPerHour = 3600;

struct TrainingStep {
  Time at;
  std::variant<TrainingSubmitted, TenantsChanged, NodeLost, NodeReturned, JobCancelled> what;
};

struct TrainingScenario {
  Cluster cluster;
  Duration price{0};
  std::vector<std::string> names;  // of jobs, in the order they come
  std::vector<std::pair<CurveKey, Curve>> curves;
  std::vector<TrainingStep> steps;
  Expectations expected;
};

class TrainingParser : public ScenarioLines {
 public:
  TrainingParser(std::string file, TrainingScenario& scenario)
      : ScenarioLines{std::move(file)}, scenario_{scenario} {}

  void line(const std::string& text) {
    const std::string keyword = begin(text);
    if (keyword.empty()) return;
    if (keyword == "cluster") return cluster();
    if (keyword == "tenant") return tenant();
    if (keyword == "tenants") return tenants();
    if (keyword == "price") {
      scenario_.price = duration("price", words().size() > 1 ? words()[1] : "");
      return;
    }
    if (keyword == "job") return job();
    if (keyword == "cancel") return cancel();
    if (keyword == "lose" || keyword == "return") return node_event(keyword == "lose");
    if (keyword == "expect") return expect(text, "at 1h: b has 4", scenario_.expected);
    mistake("line", keyword,
            "cluster, tenant, tenants, price, job, cancel, lose, return or expect");
  }

  // Steps in order; at one time tables come first.
  Diagnostics finish() {
    for (const auto& [at, table] : tables_) scenario_.steps.push_back({at, TenantsChanged{table}});
    std::stable_sort(scenario_.steps.begin(), scenario_.steps.end(),
                     [](const TrainingStep& a, const TrainingStep& b) {
                       const auto is_table = [](const TrainingStep& step) {
                         return std::holds_alternative<TenantsChanged>(step.what);
                       };
                       return std::pair{a.at, !is_table(a)} < std::pair{b.at, !is_table(b)};
                     });
    for (const TrainingStep& step : scenario_.steps) {
      if (const auto* submitted = std::get_if<TrainingSubmitted>(&step.what))
        scenario_.names.push_back(submitted->spec.name);
    }
    return mistakes();
  }

 private:
  std::int32_t small(const std::string& field, const std::string& text) {
    return static_cast<std::int32_t>(number(field, text));
  }
  void cluster() {
    if (words().size() != 6) return mistake("cluster", "", "`cluster 2 nodes x 8 gpus`");
    Cluster& cluster = scenario_.cluster;
    for (std::int64_t i = 0; i < number("nodes", words()[1]); ++i) {
      const std::size_t id = cluster.nodes.size() + 1;
      cluster.nodes.push_back(Node{NodeId{id}, fmt::format("node-{}", id), cluster.pool_named("A"),
                                   MilliCpu{64'000}, Mebibytes{1 << 20}, small("gpus", words()[4]),
                                   *cluster.models.intern("A")});
    }
  }

  // The table that holds from that time on, made from the one before.
  TenantTable& table_from(Time at) {
    const auto next = tables_.upper_bound(at);
    if (next != tables_.begin() && std::prev(next)->first == at) return std::prev(next)->second;
    const TenantTable before = next == tables_.begin() ? TenantTable{} : std::prev(next)->second;
    return tables_[at] = before;
  }

  void tenant() {
    if (words().size() < 2) return mistake("tenant", "", "a name");
    Time from{};
    for (std::size_t i = 2; i + 1 < words().size(); i += 2)
      if (words()[i] == "from") from = Time{duration("from", words()[i + 1])};
    TenantTable& table = table_from(from);
    const auto same_name = [&](const Tenant& each) { return each.name == words()[1]; };
    auto found = std::find_if(table.tenants.begin(), table.tenants.end(), same_name);
    if (found == table.tenants.end()) {
      table.tenants.push_back({words()[1], kNoParent, 1, {{PoolIndex{0}, 0, kNoMaximum}}});
      found = table.tenants.end() - 1;
    }
    for (std::size_t i = 2; i + 1 < words().size(); i += 2) {
      const std::string& value = words()[i + 1];
      if (words()[i] == "guaranteed") {
        found->quotas[0].guaranteed = small("guaranteed", value);
      } else if (words()[i] == "maximum") {
        found->quotas[0].maximum = small("maximum", value);
      } else if (words()[i] == "weight") {
        found->weight = number("weight", value);
      } else if (words()[i] == "below") {
        found->parent = static_cast<std::int32_t>(table.index_of(value));
      } else if (words()[i] != "from") {
        mistake("tenant", words()[i], "guaranteed, maximum, weight, below or from");
      }
    }
  }

  void tenants() {
    for (std::size_t i = 1; i + 1 < words().size(); i += 2) {
      TenantTable& table = table_from(Time{});
      if (words()[i] == "lease") {
        table.lease = duration("lease", words()[i + 1]);
      } else if (words()[i] == "half-life") {
        table.half_life = duration("half-life", words()[i + 1]);
      } else {
        mistake("tenants", words()[i], "lease or half-life");
      }
    }
  }

  // gpus 4, or gpus 1..8
  void sizes(TrainingSpec& spec, const std::string& text) {
    const auto dots = text.find("..");
    const std::int32_t least = small("gpus", text.substr(0, dots));
    const std::int32_t most =
        dots == std::string::npos ? least : small("gpus", text.substr(dots + 2));
    spec.is_rigid = least == most;
    spec.asked_gpus = most;
    std::vector<CurvePoint> points;
    for (std::int32_t gpus = least; gpus <= most && gpus > 0; gpus *= 2)
      points.push_back({gpus, IterationRate{gpus * std::int64_t{1'000'000}}});
    scenario_.curves.emplace_back(spec.curve, Curve{std::move(points)});
  }

  void job() {
    if (words().size() < 2) return mistake("job", "", "a name");
    TrainingSpec spec;
    spec.name = words()[1];
    spec.curve = {words()[1], 1};
    spec.iterations = kIterationsPerHour;
    Time at{};
    for (std::size_t i = 2; i < words().size(); i += 2) {
      const std::string& key = words()[i];
      if (key == "one-piece") {
        spec.in_one_piece = true;
        --i;
        continue;
      }
      const std::string value = i + 1 < words().size() ? words()[i + 1] : "";
      if (key == "tenant") {
        spec.tenant = value;
      } else if (key == "gpus") {
        sizes(spec, value);
      } else if (key == "needs") {
        spec.iterations = number(key, value) * kIterationsPerHour;
        ++i;  // gpu-hours
      } else if (key == "at") {
        at = Time{duration(key, value)};
      } else if (key == "priority") {
        spec.priority = small(key, value);
      } else if (key == "deadline") {
        spec.deadline_kind = DeadlineKind::hard;
        spec.deadline = Time{duration(key, value)};
      } else {
        mistake("job", key, "tenant, gpus, needs, at, priority, deadline or one-piece");
      }
    }
    scenario_.steps.push_back({at, TrainingSubmitted{spec}});
  }

  void cancel() {
    if (words().size() != 4 || words()[2] != "at") return mistake("cancel", "", "`cancel a at 5m`");
    JobId id{0};
    for (const TrainingStep& step : scenario_.steps) {
      const auto* submitted = std::get_if<TrainingSubmitted>(&step.what);
      if (submitted == nullptr) continue;
      ++id.value;
      if (submitted->spec.name == words()[1])
        return scenario_.steps.push_back({Time{duration("at", words()[3])}, JobCancelled{id}});
    }
    mistake("cancel", words()[1], "a job above, and jobs in the order they come");
  }

  void node_event(bool lost) {
    ScenarioLines::node_event(scenario_.cluster, [&](Time at, NodeId node) {
      if (lost) return scenario_.steps.push_back({at, NodeLost{node}});
      scenario_.steps.push_back({at, NodeReturned{node}});
    });
  }

  TrainingScenario& scenario_;
  std::map<Time, TenantTable> tables_;
};

// Plays the steps. Jobs do exactly what the scheduler believes.
class TrainingPlayer {
 public:
  explicit TrainingPlayer(const TrainingScenario& scenario)
      : scenario_{scenario}, core_{config(), initial(scenario)} {
    for (const auto& [key, curve] : scenario.curves)
      core_.handle({Time{}, CurveUpdated{PoolIndex{0}, key, curve}});
  }

  std::vector<std::string> play() {
    constexpr int kMostMoments = 100'000;
    std::size_t next = 0;
    Time now{};
    for (int moment = 0; moment < kMostMoments; ++moment) {
      for (const JobId id : due(now)) handle({now, JobFinished{id}});
      for (; next < scenario_.steps.size() && scenario_.steps[next].at <= now; ++next) {
        std::visit([&](const auto& what) { handle({now, what}); }, scenario_.steps[next].what);
      }
      handle({now, TimerFired{}});
      Time then = next < scenario_.steps.size() ? scenario_.steps[next].at : Time::max();
      for (const JobId id : pool().active) then = std::min(then, end_of(job(id)));
      // Without jobs there is nothing to wake up for.
      if (!pool().active.empty()) then = std::min(then, core_.wake_up());
      if (then == Time::max()) break;
      now = then;
    }
    return std::move(log_);
  }

 private:
  static schedule::CoreConfig config() {
    schedule::CoreConfig config;
    config.policy = schedule::placement_policies().front().policy;
    config.training_policy = schedule::find_training_policy("weir");
    return config;
  }
  static schedule::State initial(const TrainingScenario& scenario) {
    schedule::State state = schedule::initial_state_for_training(scenario.cluster);
    state.training.rescale_cost = {scenario.price, Duration{0}};
    return state;
  }

  const schedule::PoolState& pool() const { return core_.state().training.pools.front(); }
  const schedule::TrainingJob& job(JobId id) const { return core_.state().training.job(id); }

  static Time end_of(const schedule::TrainingJob& job) {
    if (job.block.is_none()) return Time::max();
    return std::max(job.observed_at, job.ready_at) + time_for(job.left, job.rate());
  }
  std::vector<JobId> due(Time now) const {
    std::vector<JobId> jobs;
    for (const JobId id : pool().active)
      if (end_of(job(id)) <= now) jobs.push_back(id);
    return jobs;
  }

  void handle(const Event& event) {
    for (const Record& record : core_.handle(event))
      std::visit([&](const auto& what) { note(record, what); }, record.what);
  }

  void say(const Record& record, JobId id, const std::string& what) {
    log_.push_back(fmt::format("at {}: {} {}", formats::format_duration(record.at - Time{}),
                               scenario_.names[id.value - 1], what));
  }
  // ", quota_reclaimed b"
  std::string reason_of(const Record& record) const {
    switch (record.reason.code) {
      case ReasonCode::as_promised:
      case ReasonCode::left_over:
      case ReasonCode::its_share:
        return "";
      case ReasonCode::outranked:
      case ReasonCode::quota_reclaimed:
      case ReasonCode::had_its_turn:
        return fmt::format(", {} {}", formats::reason_name(record.reason.code),
                           scenario_.names[record.reason.detail - 1]);
      default:
        return fmt::format(", {}", formats::reason_name(record.reason.code));
    }
  }

  void note(const Record& record, const JobResized& resized) {
    const std::string what =
        resized.block.is_none() ? "is stopped" : fmt::format("has {}", resized.block.size);
    say(record, resized.job, what + reason_of(record));
  }
  void note(const Record& record, const PromiseMade& made) { say(record, made.job, "is promised"); }
  void note(const Record& record, const PromiseRefused& refused) {
    say(record, refused.job, "is refused" + reason_of(record));
  }
  void note(const Record& record, const PromiseAtRisk& risk) {
    say(record, risk.job, "is at risk");
  }
  void note(const Record& record, const JobReleased& released) {
    say(record, released.job, "ends");
  }
  template <class Other>
  void note(const Record&, const Other&) {}

  const TrainingScenario& scenario_;
  schedule::Core core_;
  std::vector<std::string> log_;
};

}  // namespace

Result<ScenarioReport> run_training_scenario(const std::string& file_name,
                                             const std::string& text) {
  TrainingScenario scenario;
  TrainingParser parser{file_name, scenario};
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) parser.line(line);
  if (Diagnostics mistakes = parser.finish(); !mistakes.empty()) return bad_input(mistakes);
  return compared(TrainingPlayer{scenario}.play(), scenario.expected);
}

}  // namespace weir::tests
