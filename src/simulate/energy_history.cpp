// SPDX-License-Identifier: Apache-2.0
#include "simulate/energy_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "formats/reserve_text.h"
#include "schedule/core/core.h"
#include "schedule/energy/power_use.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::simulate {
namespace {

constexpr Duration kCalendarDay = std::chrono::hours{24};

Time next_midnight(Time time) {
  const auto count = time.time_since_epoch().count();
  const auto day = kCalendarDay.count();
  const auto past = ((count % day) + day) % day;
  return time + Duration{day - past};
}

bool may_change_draws(const Record& record) {
  return !std::holds_alternative<JobObserved>(record.what) &&
         !std::holds_alternative<EventIgnored>(record.what) &&
         !std::holds_alternative<EnergyPriceSet>(record.what);
}

// Adds up who draws what, from one change to the next.
class EnergyTally {
 public:
  EnergyTally(EnergyHistory& history, Time since, Time until)
      : history_{history}, since_{since}, until_{until} {}

  // What was drawn until then. Requires: times do not go back.
  void advance(Time now) {
    if (supply_ != nullptr && now > at_) {
      for (Time from = std::max(at_ + wall_ahead_, since_);
           from < std::min(now + wall_ahead_, until_);) {
        const Time to = std::min({next_midnight(from), now + wall_ahead_, until_});
        add(from, to);
        from = to;
      }
    }
    at_ = std::max(at_, now);
  }

  // From the time of the last advance on. Requires: advance() came first.
  void look(const schedule::TrainingState& state) {
    draws_.clear();
    supply_ = state.energy.terms == nullptr ? nullptr : state.energy.supply;
    if (supply_ == nullptr) return;
    if (history_.was_asked && history_.kind != state.energy.kind) {
      history_.has_other_kinds = true;
      for (auto& [key, use] : history_.uses) use.units = 0;
    }
    history_.was_asked = true;
    history_.kind = state.energy.kind;
    for (const schedule::PoolState& pool : state.pools) {
      double nobodys = pool_watts(state, pool);
      for (const schedule::JobDraw& draw : job_draws(state, pool)) {
        draws_.push_back(draw);
        nobodys -= draw.watts;
        const TrainingSpec& spec = *state.job(draw.job).spec;
        history_.jobs.try_emplace(draw.job, EnergyHistory::Job{spec.name, spec.tenant});
      }
      // What the shares leave over in rounding is none.
      if (nobodys > 1e-6) draws_.push_back({kNobodysJob, nobodys});
    }
  }

  void step_clock(Duration by) { wall_ahead_ += by; }

 private:
  void add(Time from, Time to) {
    const Time day = next_midnight(from) - kCalendarDay;
    const double units = emitted(*supply_, 1, from - wall_ahead_, to - wall_ahead_);
    for (const schedule::JobDraw& draw : draws_) {
      UsedEnergy& use = history_.uses[{day, draw.job}];
      use.joules += draw.watts * to_seconds(to - from);
      use.units += draw.watts * units;
    }
  }

  EnergyHistory& history_;
  Time since_;
  Time until_;
  Time at_;
  Duration wall_ahead_{0};
  std::shared_ptr<const SupplySeries> supply_;
  std::vector<schedule::JobDraw> draws_;
};

}  // namespace

Result<EnergyHistory> read_energy_history(formats::RecordLogReader log, const std::string& name,
                                          Time since, Time until) {
  const formats::RecordLogHeader& header = log.header();
  schedule::CoreConfig config;
  config.policy = schedule::placement_policies().front().policy;
  config.training_policy = schedule::find_training_policy(header.policy);
  config.training.slot = header.slot;
  config.training.reserve = formats::parse_reserve(header.reserve).value_or(Reserve{});
  if (config.training_policy == nullptr) {
    return bad_input(Diagnostic{name, 1, "policy", header.policy,
                                "a policy for training jobs; `weir policies` lists them"});
  }
  schedule::Core core{config,
                      schedule::initial_state_for_training(formats::cluster_of(header),
                                                           config.training_policy->size_rule())};
  EnergyHistory history;
  EnergyTally tally{history, since, until};
  bool has_events = false;
  Time last;
  std::vector<Record> made;
  std::size_t compared = 0;
  const auto decided_otherwise = [&](std::uint64_t record) {
    return bad_input(Diagnostic{name, 0, "log", fmt::format("other decisions at record {}", record),
                                "the whole log of a server of this version; `weir trace replay` "
                                "shows the difference"});
  };
  std::uint64_t seen = 0;
  while (true) {
    auto line = log.next_line_of_any_kind();
    if (!line) return tl::unexpected(std::move(line.error()));
    if (!*line) break;
    if (const auto* entry = std::get_if<formats::LogEntry>(&(*line)->what)) {
      seen = entry->seq;
      if (has_events && (compared == made.size() || !(made[compared] == entry->record)))
        return decided_otherwise(seen);
      ++compared;
      continue;
    }
    const auto& event = std::get<Event>((*line)->what);
    if (compared < made.size()) return decided_otherwise(seen);
    has_events = true;
    last = event.at;
    made = core.handle(event);
    compared = 0;
    if (std::any_of(made.begin(), made.end(), may_change_draws)) {
      tally.advance(event.at);
      if (const auto* step = std::get_if<ClockStepped>(&event.what)) tally.step_clock(step->by);
      tally.look(core.state().training);
    }
  }
  if (!has_events) {
    return bad_input(Diagnostic{name, 0, "events", "",
                                "the log of a live run, as `weir trace export` writes it"});
  }
  tally.advance(last);
  return history;
}

}  // namespace weir::simulate
