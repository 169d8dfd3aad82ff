// SPDX-License-Identifier: Apache-2.0
#include "report/shown_run_json.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "formats/json_text.h"
#include "formats/rounded_number.h"
#include "report/gantt.h"
#include "report/usage_plot.h"

namespace weir::report {
namespace {

using formats::thousandths;
using Json = nlohmann::ordered_json;
using simulate::AllocatedJob;
using simulate::AllocationHistory;
using simulate::AllocationSpan;

class RunDetail {
 public:
  explicit RunDetail(const ShownRun& shown)
      : history_{shown.history},
        rows_{gantt_rows(shown.pools)},
        part_{gantt_part(shown.history)},
        place_(shown.history.jobs.size()) {}

  void add_to(Json& json) {
    json["part"] = {
        {"from_s", seconds(part_.from)}, {"to_s", seconds(part_.to)}, {"is_all", part_.is_all}};
    Json bars = Json::array();
    for (const AllocationSpan& span : history_.spans) {
      if (is_shown(span)) bars.push_back(bar(span));
    }
    for (std::size_t id = 0; id < history_.jobs.size(); ++id) {
      const AllocatedJob& job = history_.jobs[id];
      if (job.spec && job.is_refused && part_.from <= job.came && job.came <= part_.to)
        job_at(JobId{id});
    }
    json["jobs"] = std::move(jobs_);
    json["reasons"] = std::move(reasons_);
    json["bars"] = std::move(bars);
  }

 private:
  double seconds(Time time) const { return thousandths(to_seconds(time - history_.begin)); }

  std::uint32_t row_of(const AllocationSpan& span) const {
    const std::uint32_t pool = history_.jobs[span.job.value].pool.value;
    return (pool + 1 < rows_.size() ? rows_[pool] : 0) + span.block.first;
  }

  // As the chart decides.
  bool is_shown(const AllocationSpan& span) const {
    return span.to > part_.from && span.from < part_.to && row_of(span) < GanttLimits{}.gpus;
  }

  Json bar(const AllocationSpan& span) {
    return Json::array({job_at(span.job), seconds(span.from), seconds(span.to), row_of(span),
                        span.block.size, span.most_promised(), reason_at(span.reason)});
  }

  std::size_t job_at(JobId id) {
    std::optional<std::size_t>& place = place_[id.value];
    if (place) return *place;
    place = jobs_.size();
    const AllocatedJob& job = history_.jobs[id.value];
    const bool has_deadline = job.spec->deadline_kind != DeadlineKind::none;
    Json json = {{"job", id.value},
                 {"name", job.spec->name},
                 {"came_s", seconds(job.came)},
                 {"deadline_s", has_deadline ? Json(seconds(job.spec->deadline)) : Json(nullptr)},
                 {"answer", job.is_refused    ? "refused"
                            : job.is_promised ? "promised"
                                              : "no promise"},
                 {"ended_s", job.ended ? Json(seconds(*job.ended)) : Json(nullptr)}};
    if (job.earliest) json["earliest_s"] = seconds(*job.earliest);
    jobs_.push_back(std::move(json));
    return *place;
  }

  std::size_t reason_at(const Reason& reason) {
    const auto [found, is_new] = reason_places_.try_emplace(to_string(reason), reasons_.size());
    if (is_new) reasons_.push_back(found->first);
    return found->second;
  }

  const AllocationHistory& history_;
  std::vector<std::uint32_t> rows_;
  GanttPart part_;
  std::vector<std::optional<std::size_t>> place_;  // among jobs_, by JobId::value
  std::map<std::string, std::size_t> reason_places_;
  Json jobs_ = Json::array();
  Json reasons_ = Json::array();
};

Json rounded(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(thousandths(value));
  return json;
}

}  // namespace

Result<std::string> shown_run_json(const ShownRun& shown, const std::string& name,
                                   std::int64_t gpus) {
  const AllocationHistory& history = shown.history;
  const GpuUsage usage = gpu_usage(history, kUsageStretches);
  Json json = {
      {"run", shown.run},
      {"name", name},
      {"gpus", gpus},
      {"length_s", thousandths(to_seconds(history.end - history.begin))},
      {"usage", {{"promised", rounded(usage.promised)}, {"left_over", rounded(usage.left_over)}}}};
  Json pools = Json::array();
  for (const auto& pool : shown.pools) {
    pools.push_back({{"name", pool.name},
                     {"nodes", pool.nodes},
                     {"gpus_per_node", pool.gpus_per_node},
                     {"stride", pool.stride}});
  }
  json["pools"] = std::move(pools);
  RunDetail{shown}.add_to(json);
  return formats::json_text(json, formats::JsonLayout::compact);
}

}  // namespace weir::report
