// SPDX-License-Identifier: Apache-2.0
//
// What the types and values of events and records are called in a log. Both directions use these
// tables. A name that was ever written keeps its meaning.
#pragma once

#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "domain/event.h"
#include "domain/record.h"

namespace weir::formats::log {

template <class T>
inline constexpr std::string_view kTypeName{};
template <>
inline constexpr std::string_view kTypeName<JobAccepted> = "job_accepted";
template <>
inline constexpr std::string_view kTypeName<JobPlaced> = "job_placed";
template <>
inline constexpr std::string_view kTypeName<JobQueued> = "job_queued";
template <>
inline constexpr std::string_view kTypeName<JobRejected> = "job_rejected";
template <>
inline constexpr std::string_view kTypeName<JobReleased> = "job_released";
template <>
inline constexpr std::string_view kTypeName<JobInterrupted> = "job_interrupted";
template <>
inline constexpr std::string_view kTypeName<NodeClosed> = "node_closed";
template <>
inline constexpr std::string_view kTypeName<NodeOpened> = "node_opened";
template <>
inline constexpr std::string_view kTypeName<TargetWorkloadRevised> = "target_workload_revised";
template <>
inline constexpr std::string_view kTypeName<TrainingAccepted> = "training_accepted";
template <>
inline constexpr std::string_view kTypeName<PromiseMade> = "promise_made";
template <>
inline constexpr std::string_view kTypeName<TimelineRevised> = "timeline_revised";
template <>
inline constexpr std::string_view kTypeName<PromiseRefused> = "promise_refused";
template <>
inline constexpr std::string_view kTypeName<JobUnpromised> = "job_unpromised";
template <>
inline constexpr std::string_view kTypeName<JobResized> = "job_resized";
template <>
inline constexpr std::string_view kTypeName<JobObserved> = "job_observed";
template <>
inline constexpr std::string_view kTypeName<PromiseAtRisk> = "promise_at_risk";
template <>
inline constexpr std::string_view kTypeName<CurveAdopted> = "curve_adopted";
template <>
inline constexpr std::string_view kTypeName<PlannedProvisionally> = "planned_provisionally";
template <>
inline constexpr std::string_view kTypeName<PoolNodeClosed> = "pool_node_closed";
template <>
inline constexpr std::string_view kTypeName<PoolNodeOpened> = "pool_node_opened";
template <>
inline constexpr std::string_view kTypeName<ForeignUseKnown> = "foreign_use_known";
template <>
inline constexpr std::string_view kTypeName<EventIgnored> = "event_ignored";
template <>
inline constexpr std::string_view kTypeName<RescaleCostAdopted> = "rescale_cost_adopted";
template <>
inline constexpr std::string_view kTypeName<ClockStepSeen> = "clock_step_seen";

template <>
inline constexpr std::string_view kTypeName<TenantsAdopted> = "tenants_adopted";
template <>
inline constexpr std::string_view kTypeName<TenantsChanged> = "tenants_changed";
template <>
inline constexpr std::string_view kTypeName<ClockSet> = "clock_set";
template <>
inline constexpr std::string_view kTypeName<EnergyPriceSet> = "energy_price_set";
template <>
inline constexpr std::string_view kTypeName<SupplyAdopted> = "supply_adopted";
template <>
inline constexpr std::string_view kTypeName<SupplyUpdated> = "supply_updated";
template <>
inline constexpr std::string_view kTypeName<EnergyTermsAdopted> = "energy_terms_adopted";
template <>
inline constexpr std::string_view kTypeName<EnergyConfigured> = "energy_configured";
template <>
inline constexpr std::string_view kTypeName<PowerTableAdopted> = "power_table_adopted";
template <>
inline constexpr std::string_view kTypeName<PowerTableUpdated> = "power_table_updated";
template <>
inline constexpr std::string_view kTypeName<NetworkTermsAdopted> = "network_terms_adopted";
template <>
inline constexpr std::string_view kTypeName<NetworkConfigured> = "network_configured";
template <>
inline constexpr std::string_view kTypeName<LinksGiven> = "links_given";
template <>
inline constexpr std::string_view kTypeName<NodesKnown> = "nodes_known";

template <>
inline constexpr std::string_view kTypeName<NodesObserved> = "nodes_observed";
template <>
inline constexpr std::string_view kTypeName<TaskObserved> = "task_observed";
template <>
inline constexpr std::string_view kTypeName<PlacementObserved> = "placement_observed";
template <>
inline constexpr std::string_view kTypeName<JobSubmitted> = "job_submitted";
template <>
inline constexpr std::string_view kTypeName<JobFinished> = "job_finished";
template <>
inline constexpr std::string_view kTypeName<NodeLost> = "node_lost";
template <>
inline constexpr std::string_view kTypeName<NodeReturned> = "node_returned";
template <>
inline constexpr std::string_view kTypeName<TrainingSubmitted> = "training_submitted";
template <>
inline constexpr std::string_view kTypeName<JobCancelled> = "job_cancelled";
template <>
inline constexpr std::string_view kTypeName<RanksReady> = "ranks_ready";
template <>
inline constexpr std::string_view kTypeName<RanksFailed> = "ranks_failed";
template <>
inline constexpr std::string_view kTypeName<ProgressReported> = "progress_reported";
template <>
inline constexpr std::string_view kTypeName<CurveUpdated> = "curve_updated";
template <>
inline constexpr std::string_view kTypeName<NodeDrained> = "node_drained";
template <>
inline constexpr std::string_view kTypeName<ForeignUseObserved> = "foreign_use_observed";
template <>
inline constexpr std::string_view kTypeName<TimerFired> = "timer_fired";
template <>
inline constexpr std::string_view kTypeName<JobFailed> = "job_failed";
template <>
inline constexpr std::string_view kTypeName<RescaleCostMeasured> = "rescale_cost_measured";
template <>
inline constexpr std::string_view kTypeName<ClockStepped> = "clock_stepped";

// A switch, so that a new enumerator without a name does not compile (-Wswitch).
constexpr std::string_view name_of(ReasonCode code) {
  switch (code) {
    case ReasonCode::best_score:
      return "best_score";
    case ReasonCode::no_node_fits:
      return "no_node_fits";
    case ReasonCode::never_fits:
      return "never_fits";
    case ReasonCode::malformed:
      return "malformed";
    case ReasonCode::waits_for_earlier:
      return "waits_for_earlier";
    case ReasonCode::node_lost:
      return "node_lost";
    case ReasonCode::as_reported:
      return "as_reported";
    case ReasonCode::unknown_job:
      return "unknown_job";
    case ReasonCode::not_running:
      return "not_running";
    case ReasonCode::unknown_node:
      return "unknown_node";
    case ReasonCode::already_so:
      return "already_so";
    case ReasonCode::workload_drifted:
      return "workload_drifted";
    case ReasonCode::fits_beside_promises:
      return "fits_beside_promises";
    case ReasonCode::fits_after_replan:
      return "fits_after_replan";
    case ReasonCode::makes_room:
      return "makes_room";
    case ReasonCode::ahead_of_plan:
      return "ahead_of_plan";
    case ReasonCode::too_slow_alone:
      return "too_slow_alone";
    case ReasonCode::no_room:
      return "no_room";
    case ReasonCode::no_block:
      return "no_block";
    case ReasonCode::spares_cheaper_jobs:
      return "spares_cheaper_jobs";
    case ReasonCode::no_promise_asked:
      return "no_promise_asked";
    case ReasonCode::waits_for_a_curve:
      return "waits_for_a_curve";
    case ReasonCode::as_promised:
      return "as_promised";
    case ReasonCode::left_over:
      return "left_over";
    case ReasonCode::reclaimed:
      return "reclaimed";
    case ReasonCode::policy_order:
      return "policy_order";
    case ReasonCode::behind_plan:
      return "behind_plan";
    case ReasonCode::back_on_plan:
      return "back_on_plan";
    case ReasonCode::gives_way:
      return "gives_way";
    case ReasonCode::larger_than_most:
      return "larger_than_most";
    case ReasonCode::ranks_failed:
      return "ranks_failed";
    case ReasonCode::foreign_use:
      return "foreign_use";
    case ReasonCode::cancelled:
      return "cancelled";
    case ReasonCode::failed:
      return "failed";
    case ReasonCode::observed:
      return "observed";
    case ReasonCode::overcommitted:
      return "overcommitted";
    case ReasonCode::over_quota:
      return "over_quota";
    case ReasonCode::guaranteed_others:
      return "guaranteed_others";
    case ReasonCode::its_share:
      return "its_share";
    case ReasonCode::outranked:
      return "outranked";
    case ReasonCode::quota_reclaimed:
      return "quota_reclaimed";
    case ReasonCode::had_its_turn:
      return "had_its_turn";
    case ReasonCode::at_this_price:
      return "at_this_price";
    case ReasonCode::waits_for_cleaner:
      return "waits_for_cleaner";
    case ReasonCode::over_power_cap:
      return "over_power_cap";
    case ReasonCode::budget_spent:
      return "budget_spent";
    case ReasonCode::own_links:
      return "own_links";
    case ReasonCode::shares_links:
      return "shares_links";
    case ReasonCode::rewired:
      return "rewired";
    case ReasonCode::waits_for_links:
      return "waits_for_links";
  }
  return {};
}

constexpr std::string_view name_of(DeadlineKind kind) {
  switch (kind) {
    case DeadlineKind::none:
      return "none";
    case DeadlineKind::soft:
      return "soft";
    case DeadlineKind::hard:
      return "hard";
  }
  return {};
}

constexpr std::string_view name_of(CurveOrigin origin) {
  switch (origin) {
    case CurveOrigin::measured:
      return "measured";
    case CurveOrigin::profiled:
      return "profiled";
    case CurveOrigin::planned:
      return "planned";
    case CurveOrigin::assumed:
      return "assumed";
  }
  return {};
}

constexpr std::string_view name_of(WhenSpent rule) {
  switch (rule) {
    case WhenSpent::overdraw:
      return "overdraw";
    case WhenSpent::min_power:
      return "min_power";
    case WhenSpent::pause:
      return "pause";
  }
  return {};
}

constexpr std::string_view name_of(SupplyQuantity quantity) {
  switch (quantity) {
    case SupplyQuantity::carbon_lifecycle:
      return "carbon_lifecycle";
    case SupplyQuantity::carbon_direct:
      return "carbon_direct";
    case SupplyQuantity::price:
      return "price";
    case SupplyQuantity::power_cap:
      return "power_cap";
  }
  return {};
}

constexpr std::string_view name_of(NetworkPlacement placement) {
  switch (placement) {
    case NetworkPlacement::shared:
      return "shared";
    case NetworkPlacement::isolated:
      return "isolated";
    case NetworkPlacement::isolated_optical:
      return "isolated_optical";
    case NetworkPlacement::isolated_where_worth:
      return "isolated_where_worth";
  }
  return {};
}

constexpr std::string_view name_of(LinkUse use) {
  switch (use) {
    case LinkUse::shared:
      return "shared";
    case LinkUse::own:
      return "own";
    case LinkUse::circuits:
      return "circuits";
  }
  return {};
}

template <class T>
concept HasNames = std::is_enum_v<T> && requires(T value) {
  name_of(value);
};

// Enumerators count from 0 without gaps; numbers that are none have no name.
template <HasNames Enum>
std::optional<Enum> named(std::string_view text) {
  for (int value = 0; value <= std::numeric_limits<std::underlying_type_t<Enum>>::max(); ++value) {
    const std::string_view name = name_of(static_cast<Enum>(value));
    if (name.empty()) break;
    if (name == text) return static_cast<Enum>(value);
  }
  return std::nullopt;
}

}  // namespace weir::formats::log
