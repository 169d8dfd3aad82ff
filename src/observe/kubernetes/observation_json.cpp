// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/observation_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weir::observe {
namespace {

using Json = nlohmann::ordered_json;

Json object_json(const ObjectName& object) {
  Json all{{"kind", object.kind}};
  if (!object.ns.empty()) all["namespace"] = object.ns;
  all["name"] = object.name;
  return all;
}

Json edit_json(const Edit& edit) {
  switch (edit.action) {
    case Edit::Action::patch:
      return {{"action", "patch"},
              {"object", object_json(edit.object)},
              {"patch", Json::parse(edit.json)}};
    case Edit::Action::create:
      return {{"action", "create"},
              {"object", object_json(edit.object)},
              {"manifest", Json::parse(edit.json)}};
    case Edit::Action::remove:
      break;
  }
  return {{"action", "delete"}, {"object", object_json(edit.object)}};
}

Json change_json(const Change& change) {
  Json edits = Json::array();
  for (const auto& edit : change.edits) edits.push_back(edit_json(edit));
  return {{"text", change.text}, {"commands", change.commands}, {"edits", std::move(edits)}};
}

Json nodes_json(const std::vector<RefusingNodes>& nodes) {
  Json all = Json::array();
  for (const auto& entry : nodes) {
    all.push_back({{"constraint", name_of(entry.blocked.constraint)},
                   {"detail", entry.blocked.detail},
                   {"nodes", entry.nodes},
                   {"examples", entry.examples}});
  }
  return all;
}

Json pending_json(const PendingObservation& pending) {
  Json pods = Json::array();
  for (const auto& pod : pending.workload.pods) pods.push_back(pod->meta.full_name());
  Json changes = Json::array();
  for (const auto& change : pending.explanation.changes) changes.push_back(change_json(change));
  Json all{{"workload", object_json(pending.workload.name)},
           {"pods", std::move(pods)},
           {"gpus", pending.workload.gpus},
           {"since", to_timestamp(pending.workload.since)},
           {"constraint", name_of(pending.explanation.constraint)},
           {"detail", pending.explanation.detail},
           {"why", pending.explanation.why},
           {"nodes", nodes_json(pending.explanation.nodes)},
           {"changes", std::move(changes)}};
  if (const auto& band = pending.predicted_start) {
    all["predicted_start"] = {{"low", to_timestamp(band->low)},
                              {"median", to_timestamp(band->median)},
                              {"high", to_timestamp(band->high)},
                              {"basis", band->basis}};
  } else {
    all["predicted_start"] = nullptr;
    all["no_prediction"] = pending.no_prediction;
  }
  return all;
}

Json cluster_json(const ClusterSummary& cluster) {
  Json stranded = Json::array();
  for (const auto& entry : cluster.stranded) {
    stranded.push_back({{"cause", entry.cause}, {"gpus", entry.gpus}, {"nodes", entry.nodes}});
  }
  return {{"nodes", cluster.nodes},
          {"gpus", cluster.gpus},
          {"gpus_used", cluster.gpus_used},
          {"gpus_free", cluster.gpus_free},
          {"gpus_fragmented", cluster.gpus_fragmented},
          {"stranded", std::move(stranded)},
          {"defragmentation",
           {{"moves", cluster.defragmentation.moves},
            {"gpus_freed", cluster.defragmentation.gpus_freed},
            {"would_start", cluster.defragmentation.would_start}}}};
}

}  // namespace

std::string to_timestamp(Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto days = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date{days};
  const std::chrono::hh_mm_ss clock{seconds - days};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string to_json(const Observation& observation) {
  Json sources = Json::array();
  for (const auto& source : observation.sources) {
    sources.push_back({{"kind", source.kind},
                       {"objects", source.objects},
                       {"state", source.state},
                       {"detail", source.detail}});
  }
  Json pending = Json::array();
  for (const auto& entry : observation.pending) pending.push_back(pending_json(entry));
  const Json all{{"at", to_timestamp(observation.at)},
                 {"version", observation.version},
                 {"sources", std::move(sources)},
                 {"cluster", cluster_json(observation.cluster)},
                 {"pending", std::move(pending)}};
  // Names come from a cluster: bytes that are no UTF-8 must not end the program.
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weir::observe
