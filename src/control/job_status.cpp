// SPDX-License-Identifier: Apache-2.0
#include "control/job_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "formats/log_names.h"
#include "formats/record_log.h"
#include "formats/time_text.h"
#include "transport/http_message.h"

namespace weir::control {
namespace {

constexpr std::array<std::string_view, 8> kPhases = {"waiting",  "queued", "running",   "paused",
                                                     "finished", "failed", "cancelled", "refused"};

std::int64_t whole_iterations(Work work) {
  return static_cast<std::int64_t>(work.femto_iterations / kFemtoPerIteration);
}

class Follower {
 public:
  Follower(JobStatus& status, const Record& record, PoolIndex pool, const StatusContext& context)
      : status_{status}, record_{record}, pool_{pool}, context_{context} {}

  template <class Other>
  void operator()(const Other&) {}

  void operator()(const TrainingAccepted& made) {
    status_.job = made.job;
    status_.name = made.spec->name;
    status_.priority = made.spec->priority;
    status_.submitted = wall(record_.at);
    status_.deadline_kind = made.spec->deadline_kind;
    if (status_.deadline_kind != DeadlineKind::none) status_.deadline = wall(made.spec->deadline);
    status_.phase = record_.reason.code == ReasonCode::waits_for_a_curve ? ShownPhase::waiting
                                                                         : ShownPhase::queued;
    status_.reason = record_.reason;
  }
  void operator()(const PromiseMade& made) {
    status_.is_promised = true;
    planned(made.timeline);
    answered();
  }
  void operator()(const PlannedProvisionally& made) {
    planned(made.timeline);
    answered();
  }
  void operator()(const TimelineRevised& made) {
    planned(made.timeline);
    if (record_.reason.code == ReasonCode::back_on_plan) status_.is_at_risk = false;
    status_.reason = record_.reason;
  }
  void operator()(const JobUnpromised& made) {
    status_.is_promised = false;
    if (made.expected_start) status_.expected_start = wall(*made.expected_start);
    if (made.expected_finish) status_.expected_finish = wall(*made.expected_finish);
    answered();
  }
  void operator()(const PromiseRefused& made) {
    if (made.earliest) status_.earliest_deadline = wall(*made.earliest);
    over(ShownPhase::refused);
  }
  void operator()(const JobResized& made) {
    status_.generation = made.generation;
    status_.gpus = made.block.size;
    status_.nodes = context_.nodes_of(pool_, made.block);
    status_.reason = record_.reason;
    if (!made.block.is_none()) {
      if (!status_.started) status_.started = wall(record_.at);
      status_.phase = ShownPhase::running;
    } else if (status_.started) {
      status_.phase = ShownPhase::paused;
    }
  }
  void operator()(const JobObserved& made) {
    if (status_.iterations > 0)
      status_.done = std::max<std::int64_t>(0, status_.iterations - whole_iterations(made.left));
    status_.speed_permille = made.speed_permille;
  }
  void operator()(const PromiseAtRisk& made) {
    status_.is_at_risk = true;
    status_.expected_finish.reset();
    if (made.expected_finish != Time::max()) status_.expected_finish = wall(made.expected_finish);
    status_.reason = record_.reason;
  }
  void operator()(const JobReleased&) {
    const ReasonCode code = record_.reason.code;
    if (code == ReasonCode::as_reported && status_.iterations > 0)
      status_.done = status_.iterations;
    over(code == ReasonCode::cancelled ? ShownPhase::cancelled
         : code == ReasonCode::failed  ? ShownPhase::failed
                                       : ShownPhase::finished);
  }

 private:
  Time wall(Time time) const { return context_.to_wall(time); }

  void planned(const Timeline& timeline) {
    status_.expected_start.reset();
    for (const TimelineStep& step : timeline.steps) {
      if (step.block.is_none()) continue;
      status_.expected_start = wall(step.from);
      break;
    }
    status_.expected_finish = wall(timeline.end);
  }
  void answered() {
    status_.reason = record_.reason;
    if (status_.phase == ShownPhase::waiting) status_.phase = ShownPhase::queued;
    status_.is_being_profiled = false;
  }
  void over(ShownPhase phase) {
    status_.phase = phase;
    status_.is_being_profiled = false;
    status_.reason = record_.reason;
    status_.ended = wall(record_.at);
    status_.gpus = 0;
    status_.nodes.clear();
    status_.expected_start.reset();
    status_.expected_finish.reset();
  }

  JobStatus& status_;
  const Record& record_;
  PoolIndex pool_;
  const StatusContext& context_;
};

struct ChangePart {
  const char* name;
  Duration ChangeTimes::*time;
};
constexpr std::array<ChangePart, 8> kChangeParts{{{"announce", &ChangeTimes::announce},
                                                  {"save", &ChangeTimes::save},
                                                  {"stop", &ChangeTimes::stop},
                                                  {"wait", &ChangeTimes::wait},
                                                  {"start", &ChangeTimes::start},
                                                  {"import", &ChangeTimes::import},
                                                  {"load", &ChangeTimes::load},
                                                  {"step", &ChangeTimes::step}}};

constexpr double kMicro = 1e6;
constexpr double kNano = 1e9;

// Writes the fields of one object, in order.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_{out} {}
  void text(std::string_view key, std::string_view value) {
    name(key);
    transport::append_json_string(out_, value);
  }
  void number(std::string_view key, std::int64_t value) {
    name(key);
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void fraction(std::string_view key, double value) {
    name(key);
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void truth(std::string_view key, bool value) {
    name(key);
    out_ += value ? "true" : "false";
  }
  void time(std::string_view key, const std::optional<Time>& value) {
    if (value) text(key, formats::format_time(*value));
  }
  void raw(std::string_view key, std::string_view json) {
    name(key);
    out_ += json;
  }

 private:
  void name(std::string_view key) {
    out_ += is_first_ ? "{\"" : ",\"";
    is_first_ = false;
    out_ += key;
    out_ += "\":";
  }
  std::string& out_;
  bool is_first_ = true;
};

std::string curve_json(const ShownCurve& curve) {
  std::string rates;
  ObjectWriter sizes{rates};
  for (const CurvePoint& point : curve.rates) {
    sizes.fraction(fmt::format("{}", point.gpus), static_cast<double>(point.rate.value) / kMicro);
  }
  std::string out;
  ObjectWriter object{out};
  object.text("origin", curve.origin);
  object.raw("rates", rates.empty() ? "{}" : rates + "}");
  if (!curve.measured_on.empty())
    object.raw("measured_on", fmt::format("[{}]", fmt::join(curve.measured_on, ",")));
  return out + "}";
}

std::string change_json(const ChangeTimes& times) {
  std::string out;
  ObjectWriter object{out};
  for (const ChangePart& part : kChangeParts) {
    object.fraction(part.name, static_cast<double>((times.*part.time).count()) / kNano);
  }
  object.truth("warm", times.is_warm);
  return out + "}";
}

std::string energy_json(const ShownJobEnergy& energy) {
  std::string out;
  ObjectWriter object{out};
  object.fraction("kwh", energy.kwh);
  object.fraction("amount", energy.amount);
  object.text("unit", energy.unit);
  object.text("source", energy.source);
  object.fraction("clock", energy.clock_permille / 1000.0);
  if (energy.gpu_kwh) object.fraction("gpu_kwh", *energy.gpu_kwh);
  if (!energy.clock_problem.empty()) object.text("clock_problem", energy.clock_problem);
  return out + "}";
}

std::int64_t nearest_integer(double value) {
  return std::llround(value);
}

ShownCurve curve_from(const nlohmann::json& json) {
  ShownCurve curve{json.value("origin", std::string{}), {}, {}};
  curve.measured_on = json.value("measured_on", std::vector<std::int32_t>{});
  for (const auto& [gpus, rate] : json.at("rates").items()) {
    curve.rates.push_back({static_cast<std::int32_t>(std::strtol(gpus.c_str(), nullptr, 10)),
                           IterationRate{nearest_integer(rate.get<double>() * kMicro)}});
  }
  std::sort(curve.rates.begin(), curve.rates.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.gpus < b.gpus; });
  return curve;
}

ChangeTimes change_from(const nlohmann::json& json) {
  ChangeTimes times;
  for (const ChangePart& part : kChangeParts)
    times.*part.time = Duration{nearest_integer(json.value(part.name, 0.0) * kNano)};
  times.is_warm = json.value("warm", false);
  return times;
}

std::string reason_text(const JobStatus& status) {
  if (status.phase != ShownPhase::waiting) return to_string(status.reason);
  if (status.is_being_profiled) return "it is measured first, on GPUs that nobody was promised";
  return to_string(status.reason) +
         "; state its throughput, or let it be measured first with profile: true";
}

std::optional<Time> optional_time(const nlohmann::json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end()) return std::nullopt;
  return formats::parse_time(at->get_ref<const std::string&>());
}

std::optional<ReasonCode> reason_named(std::string_view name) {
  for (int code = 0; code < 256; ++code) {
    const std::string_view known = formats::reason_name(static_cast<ReasonCode>(code));
    if (known.empty()) return std::nullopt;
    if (known == name) return static_cast<ReasonCode>(code);
  }
  return std::nullopt;
}

JobStatus status_from(const nlohmann::json& json) {
  JobStatus status;
  status.job = JobId{json.at("id").get<std::uint64_t>()};
  status.name = json.at("name").get<std::string>();
  status.tenant = json.value("tenant", std::string{});
  status.priority = json.value("priority", 0);
  const auto phase = std::find(kPhases.begin(), kPhases.end(),
                               std::string_view{json.at("phase").get_ref<const std::string&>()});
  status.phase = static_cast<ShownPhase>(phase - kPhases.begin());
  status.submitted = optional_time(json, "submitted").value_or(Time{});
  if (const auto deadline = optional_time(json, "deadline")) {
    status.deadline = *deadline;
    status.deadline_kind =
        json.value("deadline_kind", "hard") == "soft" ? DeadlineKind::soft : DeadlineKind::hard;
  }
  status.is_promised = json.value("promised", false);
  status.is_at_risk = json.value("at_risk", false);
  status.is_being_profiled = json.value("profiling", false);
  status.expected_start = optional_time(json, "expected_start");
  status.expected_finish = optional_time(json, "expected_finish");
  status.earliest_deadline = optional_time(json, "earliest_deadline");
  status.reason = {reason_named(json.at("reason_code").get_ref<const std::string&>())
                       .value_or(ReasonCode::as_reported),
                   json.value("reason_detail", std::uint64_t{0})};
  status.gpus = json.at("gpus").get<std::uint32_t>();
  status.nodes = json.value("nodes", std::vector<std::string>{});
  status.generation = json.at("generation").get<std::uint32_t>();
  status.restarts = json.at("restarts").get<std::uint32_t>();
  status.resumes = json.value("resumes", std::uint32_t{0});
  status.losses = json.value("losses", std::uint32_t{0});
  status.iterations = json.value("iterations", std::int64_t{0});
  status.done = json.value("done", std::int64_t{0});
  status.speed_permille =
      static_cast<std::int32_t>(nearest_integer(json.value("speed", 1.0) * 1000));
  status.rate = IterationRate{nearest_integer(json.value("rate", 0.0) * kMicro)};
  if (const auto loss = json.find("loss"); loss != json.end()) status.loss = loss->get<double>();
  if (const auto curve = json.find("curve"); curve != json.end()) status.curve = curve_from(*curve);
  if (const auto change = json.find("last_change"); change != json.end())
    status.last_change = change_from(*change);
  if (const auto batch = json.find("batch"); batch != json.end())
    status.batch = {batch->value("global", std::int64_t{0}), batch->value("local", std::int64_t{0}),
                    batch->value("passes", std::int64_t{0})};
  if (const auto energy = json.find("energy"); energy != json.end()) {
    ShownJobEnergy& shown = status.energy.emplace();
    shown.kwh = energy->value("kwh", 0.0);
    shown.amount = energy->value("amount", 0.0);
    shown.unit = energy->value("unit", std::string{});
    shown.source = energy->value("source", std::string{});
    shown.clock_permille =
        static_cast<std::int32_t>(nearest_integer(energy->value("clock", 1.0) * 1000));
    if (const auto counted = energy->find("gpu_kwh"); counted != energy->end())
      shown.gpu_kwh = counted->get<double>();
    shown.clock_problem = energy->value("clock_problem", std::string{});
  }
  status.started = optional_time(json, "started");
  status.ended = optional_time(json, "ended");
  status.exit = json.value("exit", std::string{});
  if (const auto observed = json.find("observed"); observed != json.end())
    status.observed = observed->dump();
  if (const auto waits = json.find("waits"); waits != json.end()) status.waits = waits->dump();
  return status;
}

}  // namespace

std::string_view to_string(ShownPhase phase) {
  return kPhases[static_cast<std::size_t>(phase)];
}

std::string_view to_string(CurveOrigin origin) {
  return formats::log::name_of(origin);
}

void count_promise(PromiseCounts& counts, const JobStatus& status) {
  if (status.phase == ShownPhase::refused) {
    ++counts.refused;
  } else if (status.is_promised && status.ended && *status.ended > status.deadline) {
    ++counts.broken;
  } else if (status.is_promised && status.phase == ShownPhase::finished) {
    ++counts.kept;
  }
}

std::optional<JobId> job_of(const Record& record) {
  return std::visit(
      [](const auto& what) -> std::optional<JobId> {
        if constexpr (requires { what.job; }) {
          return what.job;
        } else {
          return std::nullopt;
        }
      },
      record.what);
}

void follow(JobStatus& status, const Record& record, PoolIndex pool, const StatusContext& context) {
  std::visit(Follower{status, record, pool, context}, record.what);
}

std::string to_json(const JobStatus& status) {
  std::string out;
  out.reserve(640);
  ObjectWriter object{out};
  object.number("id", static_cast<std::int64_t>(status.job.value));
  object.text("name", status.name);
  if (!status.tenant.empty()) object.text("tenant", status.tenant);
  if (status.priority != 0) object.number("priority", status.priority);
  object.text("phase", to_string(status.phase));
  object.time("submitted", status.submitted);
  if (status.deadline_kind != DeadlineKind::none) {
    object.time("deadline", status.deadline);
    object.text("deadline_kind", status.deadline_kind == DeadlineKind::hard ? "hard" : "soft");
    object.truth("promised", status.is_promised);
    if (status.is_at_risk) object.truth("at_risk", true);
  }
  if (status.phase == ShownPhase::waiting && status.is_being_profiled)
    object.truth("profiling", true);
  object.time("expected_start", status.expected_start);
  object.time("expected_finish", status.expected_finish);
  object.time("earliest_deadline", status.earliest_deadline);
  object.text("reason", reason_text(status));
  object.text("reason_code", formats::reason_name(status.reason.code));
  if (status.reason.detail != 0)
    object.number("reason_detail", static_cast<std::int64_t>(status.reason.detail));
  object.number("gpus", status.gpus);
  if (!status.nodes.empty()) {
    std::string list;
    for (const std::string& node : status.nodes) {
      list += list.empty() ? '[' : ',';
      transport::append_json_string(list, node);
    }
    object.raw("nodes", list + "]");
  }
  object.number("generation", status.generation);
  object.number("restarts", status.restarts);
  if (status.resumes > 0) object.number("resumes", status.resumes);
  if (status.losses > 0) object.number("losses", status.losses);
  if (status.iterations > 0) {
    object.number("iterations", status.iterations);
    object.number("done", status.done);
    object.fraction("speed", status.speed_permille / 1000.0);
    if (status.rate.value > 0)
      object.fraction("rate", static_cast<double>(status.rate.value) / kMicro);
    if (status.loss && std::isfinite(*status.loss)) object.fraction("loss", *status.loss);
    if (status.curve) object.raw("curve", curve_json(*status.curve));
  }
  if (status.last_change) object.raw("last_change", change_json(*status.last_change));
  if (status.batch.global_batch > 0)
    object.raw("batch",
               fmt::format(R"({{"global":{},"local":{},"passes":{}}})", status.batch.global_batch,
                           status.batch.local_batch, status.batch.passes));
  if (status.energy) object.raw("energy", energy_json(*status.energy));
  object.time("started", status.started);
  object.time("ended", status.ended);
  if (!status.exit.empty()) object.text("exit", status.exit);
  if (!status.observed.empty()) object.raw("observed", status.observed);
  if (!status.waits.empty()) object.raw("waits", status.waits);
  if (status.phase == ShownPhase::finished && status.deadline_kind != DeadlineKind::none)
    object.truth("met_deadline", *status.ended <= status.deadline);
  out += '}';
  return out;
}

Result<JobStatus> read_job_status(std::string_view json) {
  try {
    return status_from(nlohmann::json::parse(json));
  } catch (const nlohmann::json::exception& error) {
    Diagnostics details;
    details.add({"store", 0, "view of a job", error.what(), "JSON as weir writes it"});
    return tl::unexpected<Error>(Error{ErrorCode::failure, std::move(details)});
  }
}

}  // namespace weir::control
