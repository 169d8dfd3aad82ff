// SPDX-License-Identifier: Apache-2.0
#include "cli/observe_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>

#include "formats/time_text.h"
#include "observe/kubernetes/constraint.h"
#include "observe/kubernetes/observation_json.h"

namespace weir::cli {
namespace {

using observe::PendingObservation;

std::string number_text(double value) {
  return std::abs(value - std::round(value)) < 0.005 ? fmt::format("{:.0f}", value)
                                                     : fmt::format("{:.1f}", value);
}

// "3 pods", "1 pod"
std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string span_text(Duration span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
  if (seconds < 120) return fmt::format("{} s", std::max<std::int64_t>(0, seconds));
  if (seconds < 2 * 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86'400);
}

std::string cluster_text(const observe::ClusterSummary& cluster) {
  std::string out = fmt::format("{}, {} GPUs: {} used, {} free", counted(cluster.nodes, "node"),
                                number_text(cluster.gpus), number_text(cluster.gpus_used),
                                number_text(cluster.gpus_free));
  if (cluster.gpus_fragmented > 0.05)
    out += fmt::format(", {} of them in pieces the expected pods cannot use",
                       number_text(cluster.gpus_fragmented));
  out += "\n";
  for (const observe::StrandedGpus& stranded : cluster.stranded)
    out += fmt::format("  {} free but stranded ({}) on {}\n", number_text(stranded.gpus),
                       stranded.cause, counted(stranded.nodes, "node"));
  const observe::Defragmentation& moves = cluster.defragmentation;
  if (moves.moves > 0) {
    out += fmt::format("  moving {} together would free {} GPUs{}\n", counted(moves.moves, "pod"),
                       number_text(moves.gpus_freed),
                       moves.would_start.empty()
                           ? std::string{}
                           : fmt::format(" and start {}", fmt::join(moves.would_start, ", ")));
  }
  return out;
}

std::string start_text(const PendingObservation& pending, Time now) {
  if (!pending.predicted_start) {
    return pending.no_prediction.empty()
               ? std::string{}
               : fmt::format("  no prediction: {}\n", pending.no_prediction);
  }
  const observe::StartBand& start = *pending.predicted_start;
  return fmt::format("  probably starts in {} ({} to {}): {}\n", span_text(start.median - now),
                     span_text(start.low - now), span_text(start.high - now), start.basis);
}

std::string pending_text(const PendingObservation& pending, Time now, std::size_t most_changes) {
  const observe::ObjectName& name = pending.workload.name;
  std::string out = fmt::format("{} {}", name.kind, name.full_name());
  const std::size_t pods =
      pending.workload.pods.size() + static_cast<std::size_t>(pending.workload.missing_pods);
  out += fmt::format(": {}, {} GPUs, waits since {}: {}\n", counted(pods, "pod"),
                     number_text(pending.workload.gpus), span_text(now - pending.workload.since),
                     name_of(pending.explanation.constraint));
  out += fmt::format("  {}\n", pending.explanation.why);
  for (const observe::RefusingNodes& nodes : pending.explanation.nodes) {
    const std::string& detail = nodes.blocked.detail;
    out +=
        fmt::format("    {:>6}  {}{}{}  ({}{})\n", nodes.nodes, name_of(nodes.blocked.constraint),
                    detail.empty() ? "" : " ", detail, fmt::join(nodes.examples, ", "),
                    nodes.examples.size() < nodes.nodes ? ", ..." : "");
  }
  out += start_text(pending, now);
  for (std::size_t i = 0; i < pending.explanation.changes.size() && i < most_changes; ++i) {
    const observe::Change& change = pending.explanation.changes[i];
    out += fmt::format("  {} {}\n", i == 0 ? "to start it:" : "         or:", change.text);
    for (const std::string& command : change.commands) out += fmt::format("      $ {}\n", command);
  }
  return out;
}

}  // namespace

std::string observation_text(const observe::Observation& observation, const std::string& title,
                             const std::string& trouble, const ObserveTextOptions& options) {
  std::string out = fmt::format("{}, {}\n", title, observe::to_timestamp(observation.at));
  if (!trouble.empty()) out += fmt::format("Not the whole picture: {}\n", trouble);
  out += cluster_text(observation.cluster);
  if (observation.pending.empty()) return out + "\nNothing waits.\n";
  out += fmt::format("\n{} wait{}\n", counted(observation.pending.size(), "workload"),
                     observation.pending.size() == 1 ? "s" : "");
  std::map<std::string_view, std::size_t> others;
  for (std::size_t i = 0; i < observation.pending.size(); ++i) {
    if (i < options.most_workloads) {
      out += "\n" + pending_text(observation.pending[i], observation.at, options.most_changes);
    } else {
      ++others[name_of(observation.pending[i].explanation.constraint)];
    }
  }
  if (!others.empty()) {
    out += "\nAnd";
    for (const auto& [constraint, count] : others)
      out += fmt::format("{} {} for {}", out.ends_with("And") ? "" : ",", count, constraint);
    out += "; --all tells of each, --json has everything.\n";
  }
  return out;
}

}  // namespace weir::cli
