// SPDX-License-Identifier: Apache-2.0
#include "control/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "domain/nearest_name.h"
#include "formats/log_codec.h"
#include "formats/time_text.h"
#include "schedule/policies/training_policies.h"

namespace weir::control {
namespace {

using Json = nlohmann::ordered_json;
using schedule::Counterfactual;
using schedule::Forecast;
using schedule::ForeseenAnswer;
using schedule::ForeseenJob;

std::string short_text(const Json& json) {
  constexpr std::size_t kMost = 60;
  return json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, kMost);
}

class QuestionReader {
 public:
  Result<WhatIfQuestion> read(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) {
      add("", "", "a JSON object such as {\"add_nodes\": 4}");
      return bad_input(std::move(mistakes_));
    }
    for (const auto& [key, value] : json.items()) read_field(key, value);
    const bool asks = !question_.add_nodes.empty() || !question_.lose.empty() ||
                      !question_.policy.empty() || !question_.submit.empty();
    if (!asks && mistakes_.empty())
      add("", "nothing to suppose", "one of add_nodes, lose, policy, submit");
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(question_);
  }

 private:
  void add(std::string field, std::string found, std::string expected) {
    mistakes_.add({"body", 0, std::move(field), std::move(found), std::move(expected)});
  }

  void read_field(const std::string& key, const Json& value) {
    if (key == "add_nodes") {
      read_nodes(value);
    } else if (key == "lose") {
      read_lost(value);
    } else if (key == "policy") {
      if (!value.is_string() || value.get_ref<const std::string&>().empty())
        return add(key, short_text(value), "the name of a policy");
      question_.policy = value.get<std::string>();
    } else if (key == "submit") {
      read_jobs(value);
    } else if (key == "records") {
      if (!value.is_boolean()) return add(key, short_text(value), "true or false");
      question_.wants_records = value.get<bool>();
    } else {
      add(key.substr(0, 60), "", "one of add_nodes, lose, policy, submit, records");
    }
  }

  void read_nodes(const Json& value) {
    const auto read_count = [&](const std::string& pool, const Json& count) {
      const bool is_good = count.is_number_integer() && count >= 1 && count <= kMostAddedNodes;
      if (!is_good) {
        return add("add_nodes", short_text(count),
                   fmt::format("a whole number from 1 to {}", kMostAddedNodes));
      }
      question_.add_nodes.push_back({pool, count.get<std::int32_t>()});
    };
    if (!value.is_object()) return read_count("", value);
    if (value.empty()) add("add_nodes", "{}", "pools with numbers of nodes");
    for (const auto& [pool, count] : value.items()) read_count(pool, count);
  }

  void read_lost(const Json& value) {
    const bool is_list =
        value.is_array() && !value.empty() &&
        std::all_of(value.begin(), value.end(), [](const Json& name) { return name.is_string(); });
    if (!is_list) return add("lose", short_text(value), "a list of names of nodes or racks");
    for (const Json& name : value) question_.lose.push_back(name.get<std::string>());
  }

  void read_jobs(const Json& value) {
    if (!value.is_array() || value.empty() || value.size() > kMostSupposedJobs) {
      return add("submit", short_text(value),
                 fmt::format("a list of 1 to {} jobs", kMostSupposedJobs));
    }
    for (const Json& job : value) {
      auto read = formats::read_job_json(job.dump(-1, ' ', true, Json::error_handler_t::replace),
                                         "body: submit");
      if (!read) {
        mistakes_.append(read.error().details);
      } else {
        question_.submit.push_back(std::move(*read));
      }
    }
  }

  WhatIfQuestion question_;
  Diagnostics mistakes_;
};

void add_time(Json& json, const char* key, const std::optional<Time>& time, Duration ahead) {
  if (time) json[key] = formats::format_time(*time + ahead);
}

Json job_json(const ForeseenJob& job, Duration ahead) {
  constexpr const char* kAnswers[] = {"promised", "no_promise", "refused", "waits_for_a_curve"};
  Json json;
  if (job.job != JobId{}) json["id"] = job.job.value;
  json["name"] = job.spec->name;
  json["answer"] = kAnswers[static_cast<std::size_t>(job.answer)];
  if (job.has_deadline()) add_time(json, "deadline", job.spec->deadline, ahead);
  add_time(json, "start", job.started, ahead);
  add_time(json, "finish", job.finished, ahead);
  add_time(json, "earliest_deadline", job.earliest, ahead);
  if (job.has_deadline()) json["in_time"] = job.is_on_time();
  json["most_gpus"] = job.most_gpus;
  return json;
}

// For charts: the pools with their rows, and what would be decided.
void add_records(Json& json, const Forecast& forecast, const std::vector<Pool>& names) {
  Json pools = Json::array();
  for (const Pool& pool : names)
    pools.push_back({{"name", pool.name}, {"nodes", 0}, {"gpus_per_node", 0}, {"stride", 1}});
  for (const auto& pool : forecast.pools) {
    Json& shown = pools[pool->id.value];
    shown["nodes"] = pool->nodes.size();
    shown["gpus_per_node"] = *std::max_element(pool->gpus.begin(), pool->gpus.end());
    shown["stride"] = pool->stride;
  }
  json["pools"] = std::move(pools);
  Json lines = Json::array();
  std::uint64_t seq = 0;
  for (const Record& record : forecast.records) {
    std::string line;
    formats::append_record_line(line, record, ++seq, "");
    lines.push_back(std::move(line));
  }
  json["records"] = std::move(lines);
}

Json side_json(const Forecast& forecast, const WhatIfAnswer& answer, bool with_records) {
  const Duration ahead = answer.wall_ahead;
  const schedule::ForecastTotals totals = totals_of(forecast);
  Json json;
  json["complete"] = forecast.is_complete;
  json["gpus"] = forecast.gpus;
  add_time(json, "until", forecast.until, ahead);
  json["totals"] = {{"jobs", totals.jobs},
                    {"promised", totals.promised},
                    {"kept", totals.kept},
                    {"refused", totals.refused},
                    {"finished", totals.finished},
                    {"mean_wait_seconds", totals.mean_wait_seconds},
                    {"utilisation", totals.utilisation}};
  Json jobs = Json::array();
  for (const ForeseenJob& job : forecast.jobs) jobs.push_back(job_json(job, ahead));
  json["jobs"] = std::move(jobs);
  if (with_records) add_records(json, forecast, answer.pools);
  return json;
}

std::string plural(std::int32_t count, std::string_view word) {
  return fmt::format("{} more {}{}", count, word, count == 1 ? "" : "s");
}

std::string second_text(Time wall) {
  return formats::format_time(std::chrono::floor<std::chrono::seconds>(wall));
}

using TimeText = std::function<std::string(Time)>;

std::string change_text(const Counterfactual& line, const std::string& other,
                        const TimeText& clock) {
  switch (line.change) {
    case Counterfactual::Change::submitted_again:
      return "submitted again";
    case Counterfactual::Change::more_gpus:
      return "with " + plural(line.count, "GPU");
    case Counterfactual::Change::more_nodes:
      return "with " + plural(line.count, "node");
    case Counterfactual::Change::other_cancelled:
      return fmt::format("if job {} ({}) were cancelled", line.other.value, other);
    case Counterfactual::Change::later_deadline:
      return "submitted again with its deadline at " + clock(line.deadline);
  }
  return "";
}

std::string effect_text(const Counterfactual& line, Time now, const TimeText& clock) {
  switch (line.wish) {
    case schedule::Wish::start:
      return line.at == now ? "starts now" : "starts at " + clock(line.at);
    case schedule::Wish::promise:
      return "is promised";
    case schedule::Wish::in_time:
      return "is done in time, at " + clock(line.at);
  }
  return "";
}

}  // namespace

Result<WhatIfQuestion> read_what_if(std::string_view json) {
  return QuestionReader{}.read(json);
}

Result<schedule::Supposition> supposition_about(const WhatIfQuestion& question,
                                                const Cluster& cluster,
                                                const schedule::TrainingState& state) {
  schedule::Supposition what;
  Diagnostics mistakes;
  for (const WhatIfQuestion::More& more : question.add_nodes) {
    const schedule::PoolState* pool = nullptr;
    std::vector<std::string> names;
    for (const schedule::PoolState& candidate : state.pools) {
      names.push_back(cluster.pools[candidate.pool->id.value].name);
      if (more.pool.empty() ? state.pools.size() == 1 : names.back() == more.pool)
        pool = &candidate;
    }
    if (pool == nullptr) {
      mistakes.add(
          {"", 0, "add_nodes", more.pool,
           fmt::format("a pool and a number of nodes: the pools are {}", fmt::join(names, ", "))});
      continue;
    }
    const auto& gpus = pool->pool->gpus;
    what.more_nodes.push_back(
        {pool->pool->id, more.nodes, *std::max_element(gpus.begin(), gpus.end())});
  }
  for (const std::string& name : question.lose) {
    bool is_known = false;
    for (const Node& node : cluster.nodes) {
      const bool is_meant = node.name == name || (!name.empty() && node.rack == name);
      if (!is_meant || !schedule::find_node(state, node.id)) continue;
      is_known = true;
      const bool is_told =
          std::find(what.lost.begin(), what.lost.end(), node.id) != what.lost.end();
      if (!is_told) what.lost.push_back(node.id);
    }
    if (is_known) continue;
    std::vector<std::string> names;
    for (const Node& node : cluster.nodes) {
      names.push_back(node.name);
      const bool is_new =
          !node.rack.empty() && std::find(names.begin(), names.end(), node.rack) == names.end();
      if (is_new) names.push_back(node.rack);
    }
    mistakes.add({"", 0, "lose", name.substr(0, 128),
                  "the name of a node or rack with GPUs" + did_you_mean(name, names)});
  }
  if (!question.policy.empty()) {
    what.policy = schedule::find_training_policy(question.policy);
    if (what.policy == nullptr) {
      std::vector<std::string> names;
      for (const auto& row : schedule::training_policies()) names.emplace_back(row.name);
      mistakes.add({"", 0, "policy", question.policy.substr(0, 128),
                    "a policy for training jobs; `weir policies` lists them" +
                        did_you_mean(question.policy, names)});
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return what;
}

std::string to_json(const WhatIfAnswer& answer, bool with_records) {
  Json json;
  json["from"] = formats::format_time(answer.now.from + answer.wall_ahead);
  json["now"] = side_json(answer.now, answer, with_records);
  json["then"] = side_json(answer.then, answer, with_records);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_json(const ShownCounterfactuals& shown,
                    const std::function<std::string(Time)>& clock) {
  const TimeText text = [&](Time time) {
    return clock ? clock(time + shown.wall_ahead) : second_text(time + shown.wall_ahead);
  };
  constexpr const char* kChanges[] = {"submitted_again", "more_gpus", "more_nodes",
                                      "other_cancelled", "later_deadline"};
  constexpr const char* kEffects[] = {"starts", "promised", "in_time"};
  Json lines = Json::array();
  for (std::size_t i = 0; i < shown.told.size(); ++i) {
    const Counterfactual& line = shown.told[i];
    Json json;
    json["change"] = kChanges[static_cast<std::size_t>(line.change)];
    if (line.count > 0) json["count"] = line.count;
    if (line.other != JobId{}) json["job"] = line.other.value;
    if (line.change == Counterfactual::Change::later_deadline)
      add_time(json, "deadline", line.deadline, shown.wall_ahead);
    json["effect"] = kEffects[static_cast<std::size_t>(line.wish)];
    add_time(json, "at", line.at, shown.wall_ahead);
    json["text"] =
        change_text(line, shown.others[i], text) + ": " + effect_text(line, shown.now, text);
    lines.push_back(std::move(json));
  }
  return Json{{"would_change", std::move(lines)}}.dump(-1, ' ', false,
                                                       Json::error_handler_t::replace);
}

}  // namespace weir::control
