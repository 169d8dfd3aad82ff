// SPDX-License-Identifier: Apache-2.0
//
// The members of events and records, and of what they are made of, in the order in which a log has
// them. A member that is missing here does not compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "domain/event.h"
#include "domain/record.h"
#include "formats/log_names.h"

namespace weir::formats::log {

template <class Owner, class Value>
struct Field {
  std::string_view name;
  Value Owner::*member;
  bool may_be_absent = false;  // it is left out when it is empty
};
template <class Owner, class Value>
Field(const char*, Value Owner::*, bool = false) -> Field<Owner, Value>;

// What a curve is made from.
struct CurveParts {
  std::vector<CurvePoint> points;
  CurveOrigin origin{};
};

// What a series is made from.
struct SupplyParts {
  Time begin;
  Duration step{};
  std::vector<double> values;
};

struct NoFields {};
template <class T>
inline constexpr auto kFields = NoFields{};

template <>
inline constexpr auto kFields<Reason> =
    std::tuple{Field{"code", &Reason::code}, Field{"detail", &Reason::detail}};
template <>
inline constexpr auto kFields<Shape> =
    std::tuple{Field{"cpu_milli", &Shape::cpu}, Field{"memory_mib", &Shape::memory},
               Field{"gpus", &Shape::gpu_count}, Field{"gpu_share_milli", &Shape::gpu_share},
               Field{"models", &Shape::models}};
template <>
inline constexpr auto kFields<ExpectedShape> =
    std::tuple{Field{"shape", &ExpectedShape::shape}, Field{"count", &ExpectedShape::count}};
template <>
inline constexpr auto kFields<TargetWorkload> =
    std::tuple{Field{"shapes", &TargetWorkload::shapes}, Field{"total", &TargetWorkload::total},
               Field{"cpu_demand_milli", &TargetWorkload::cpu_demand},
               Field{"gpu_demand_milli", &TargetWorkload::gpu_demand}};
template <>
inline constexpr auto kFields<Placement> =
    std::tuple{Field{"node", &Placement::node}, Field{"gpus", &Placement::gpus}};
template <>
inline constexpr auto kFields<CurveKey> =
    std::tuple{Field{"model", &CurveKey::model}, Field{"global_batch", &CurveKey::global_batch}};
template <>
inline constexpr auto kFields<CurveParts> =
    std::tuple{Field{"points", &CurveParts::points}, Field{"origin", &CurveParts::origin}};
template <>
inline constexpr auto kFields<SupplyParts> =
    std::tuple{Field{"begin", &SupplyParts::begin}, Field{"step", &SupplyParts::step},
               Field{"values", &SupplyParts::values}};
template <>
inline constexpr auto kFields<SupplyKind> = std::tuple{
    Field{"quantity", &SupplyKind::quantity}, Field{"currency", &SupplyKind::currency, true}};
template <>
inline constexpr auto kFields<PoolPower> = std::tuple{
    Field{"pool", &PoolPower::pool}, Field{"idle_milliwatts", &PoolPower::idle_milliwatts},
    Field{"node_milliwatts", &PoolPower::node_milliwatts},
    Field{"asleep_milliwatts", &PoolPower::asleep_milliwatts},
    Field{"overhead_permille", &PoolPower::overhead_permille}};
template <>
inline constexpr auto kFields<TenantBudget> = std::tuple{
    Field{"tenant", &TenantBudget::tenant}, Field{"budget_micros", &TenantBudget::budget_micros},
    Field{"expected_gpu_seconds", &TenantBudget::expected_gpu_seconds}};
template <>
inline constexpr auto kFields<EnergyTerms> =
    std::tuple{Field{"pools", &EnergyTerms::pools},
               Field{"price_nanos", &EnergyTerms::price_nanos},
               Field{"budget_micros", &EnergyTerms::budget_micros},
               Field{"from", &EnergyTerms::from},
               Field{"until", &EnergyTerms::until},
               Field{"when_spent", &EnergyTerms::when_spent},
               Field{"expected_gpu_seconds", &EnergyTerms::expected_gpu_seconds},
               Field{"cap_milliwatts", &EnergyTerms::cap_milliwatts},
               Field{"longest_pause", &EnergyTerms::longest_pause},
               Field{"tenants", &EnergyTerms::tenants, true}};
template <>
inline constexpr auto kFields<TrainingSpec> =
    std::tuple{Field{"name", &TrainingSpec::name},
               Field{"curve", &TrainingSpec::curve},
               Field{"iterations", &TrainingSpec::iterations},
               Field{"deadline_kind", &TrainingSpec::deadline_kind},
               Field{"deadline", &TrainingSpec::deadline},
               Field{"asked_gpus", &TrainingSpec::asked_gpus},
               Field{"is_rigid", &TrainingSpec::is_rigid},
               Field{"in_one_piece", &TrainingSpec::in_one_piece, true},
               Field{"margin", &TrainingSpec::margin, true},
               Field{"tenant", &TrainingSpec::tenant, true},
               Field{"priority", &TrainingSpec::priority, true}};
template <>
inline constexpr auto kFields<TenantQuota> =
    std::tuple{Field{"pool", &TenantQuota::pool}, Field{"guaranteed", &TenantQuota::guaranteed},
               Field{"maximum", &TenantQuota::maximum}};
template <>
inline constexpr auto kFields<Tenant> =
    std::tuple{Field{"name", &Tenant::name}, Field{"parent", &Tenant::parent},
               Field{"weight", &Tenant::weight}, Field{"quotas", &Tenant::quotas}};
template <>
inline constexpr auto kFields<TenantTable> =
    std::tuple{Field{"tenants", &TenantTable::tenants}, Field{"half_life", &TenantTable::half_life},
               Field{"lease", &TenantTable::lease}};
template <>
inline constexpr auto kFields<GpuBlock> =
    std::tuple{Field{"first", &GpuBlock::first}, Field{"size", &GpuBlock::size}};
template <>
inline constexpr auto kFields<Timeline> =
    std::tuple{Field{"steps", &Timeline::steps}, Field{"end", &Timeline::end}};

template <>
inline constexpr auto kFields<JobAccepted> =
    std::tuple{Field{"job", &JobAccepted::job}, Field{"shape_index", &JobAccepted::shape_index},
               Field{"shape", &JobAccepted::shape}, Field{"replicas", &JobAccepted::replicas}};
template <>
inline constexpr auto kFields<JobPlaced> =
    std::tuple{Field{"job", &JobPlaced::job}, Field{"placements", &JobPlaced::placements}};
template <>
inline constexpr auto kFields<JobQueued> = std::tuple{Field{"job", &JobQueued::job}};
template <>
inline constexpr auto kFields<JobRejected> = std::tuple{Field{"job", &JobRejected::job}};
template <>
inline constexpr auto kFields<JobReleased> = std::tuple{Field{"job", &JobReleased::job}};
template <>
inline constexpr auto kFields<JobInterrupted> = std::tuple{Field{"job", &JobInterrupted::job}};
template <>
inline constexpr auto kFields<NodeClosed> = std::tuple{Field{"node", &NodeClosed::node}};
template <>
inline constexpr auto kFields<NodeOpened> = std::tuple{Field{"node", &NodeOpened::node}};
template <>
inline constexpr auto kFields<TargetWorkloadRevised> =
    std::tuple{Field{"version", &TargetWorkloadRevised::version},
               Field{"target", &TargetWorkloadRevised::target}};
template <>
inline constexpr auto kFields<TrainingAccepted> =
    std::tuple{Field{"job", &TrainingAccepted::job}, Field{"spec", &TrainingAccepted::spec},
               Field{"pool", &TrainingAccepted::pool},
               Field{"least_gpu_seconds", &TrainingAccepted::least_gpu_seconds}};
template <>
inline constexpr auto kFields<PromiseMade> =
    std::tuple{Field{"job", &PromiseMade::job}, Field{"deadline", &PromiseMade::deadline},
               Field{"timeline", &PromiseMade::timeline}};
template <>
inline constexpr auto kFields<TimelineRevised> =
    std::tuple{Field{"job", &TimelineRevised::job}, Field{"timeline", &TimelineRevised::timeline}};
template <>
inline constexpr auto kFields<PromiseRefused> =
    std::tuple{Field{"job", &PromiseRefused::job}, Field{"earliest", &PromiseRefused::earliest}};
template <>
inline constexpr auto kFields<JobUnpromised> = std::tuple{
    Field{"job", &JobUnpromised::job}, Field{"expected_start", &JobUnpromised::expected_start},
    Field{"expected_finish", &JobUnpromised::expected_finish}};
template <>
inline constexpr auto kFields<JobResized> =
    std::tuple{Field{"job", &JobResized::job}, Field{"generation", &JobResized::generation},
               Field{"block", &JobResized::block}};
template <>
inline constexpr auto kFields<ClockSet> =
    std::tuple{Field{"job", &ClockSet::job}, Field{"clock_permille", &ClockSet::clock_permille},
               Field{"rate_millionths", &ClockSet::rate_millionths}};
template <>
inline constexpr auto kFields<EnergyPriceSet> =
    std::tuple{Field{"price_nanos", &EnergyPriceSet::price_nanos},
               Field{"nano_units_per_second", &EnergyPriceSet::nano_units_per_second},
               Field{"tenant", &EnergyPriceSet::tenant, true}};
template <>
inline constexpr auto kFields<JobObserved> =
    std::tuple{Field{"job", &JobObserved::job}, Field{"left", &JobObserved::left},
               Field{"ready_at", &JobObserved::ready_at},
               Field{"speed_permille", &JobObserved::speed_permille}};
template <>
inline constexpr auto kFields<PromiseAtRisk> = std::tuple{
    Field{"job", &PromiseAtRisk::job}, Field{"expected_finish", &PromiseAtRisk::expected_finish}};
template <>
inline constexpr auto kFields<CurveAdopted> =
    std::tuple{Field{"pool", &CurveAdopted::pool}, Field{"key", &CurveAdopted::key},
               Field{"curve", &CurveAdopted::curve}};
template <>
inline constexpr auto kFields<PlannedProvisionally> = std::tuple{
    Field{"job", &PlannedProvisionally::job}, Field{"timeline", &PlannedProvisionally::timeline}};
template <>
inline constexpr auto kFields<PoolNodeClosed> =
    std::tuple{Field{"pool", &PoolNodeClosed::pool}, Field{"node", &PoolNodeClosed::node}};
template <>
inline constexpr auto kFields<PoolNodeOpened> =
    std::tuple{Field{"pool", &PoolNodeOpened::pool}, Field{"node", &PoolNodeOpened::node}};
template <>
inline constexpr auto kFields<ForeignUseKnown> =
    std::tuple{Field{"pool", &ForeignUseKnown::pool}, Field{"node", &ForeignUseKnown::node},
               Field{"gpus", &ForeignUseKnown::gpus}};
template <>
inline constexpr auto kFields<EventIgnored> = std::tuple<>{};
template <>
inline constexpr auto kFields<RescaleCostAdopted> =
    std::tuple{Field{"base", &RescaleCostAdopted::base},
               Field{"per_doubling", &RescaleCostAdopted::per_doubling}};
template <>
inline constexpr auto kFields<ObservedNode> = std::tuple{Field{"id", &ObservedNode::id},
                                                         Field{"name", &ObservedNode::name},
                                                         Field{"pool", &ObservedNode::pool},
                                                         Field{"rack", &ObservedNode::rack},
                                                         Field{"model", &ObservedNode::model},
                                                         Field{"cpu_milli", &ObservedNode::cpu},
                                                         Field{"memory_mib", &ObservedNode::memory},
                                                         Field{"gpus", &ObservedNode::gpu_count},
                                                         Field{"model_id", &ObservedNode::model_id},
                                                         Field{"is_up", &ObservedNode::is_up}};
template <>
inline constexpr auto kFields<NodesKnown> = std::tuple{Field{"nodes", &NodesKnown::nodes}};
template <>
inline constexpr auto kFields<ClockStepSeen> = std::tuple{Field{"by", &ClockStepSeen::by}};

// Events.
template <>
inline constexpr auto kFields<JobSubmitted> =
    std::tuple{Field{"shape", &JobSubmitted::shape}, Field{"replicas", &JobSubmitted::replicas}};
template <>
inline constexpr auto kFields<JobFinished> = std::tuple{Field{"job", &JobFinished::job}};
template <>
inline constexpr auto kFields<NodeLost> = std::tuple{Field{"node", &NodeLost::node}};
template <>
inline constexpr auto kFields<NodeReturned> = std::tuple{Field{"node", &NodeReturned::node}};
template <>
inline constexpr auto kFields<TrainingSubmitted> =
    std::tuple{Field{"spec", &TrainingSubmitted::spec}};
template <>
inline constexpr auto kFields<JobCancelled> = std::tuple{Field{"job", &JobCancelled::job}};
template <>
inline constexpr auto kFields<RanksReady> =
    std::tuple{Field{"job", &RanksReady::job}, Field{"generation", &RanksReady::generation}};
template <>
inline constexpr auto kFields<RanksFailed> =
    std::tuple{Field{"job", &RanksFailed::job}, Field{"generation", &RanksFailed::generation}};
template <>
inline constexpr auto kFields<ProgressReported> =
    std::tuple{Field{"job", &ProgressReported::job}, Field{"done", &ProgressReported::done}};
template <>
inline constexpr auto kFields<CurveUpdated> =
    std::tuple{Field{"pool", &CurveUpdated::pool}, Field{"key", &CurveUpdated::key},
               Field{"curve", &CurveUpdated::curve}};
template <>
inline constexpr auto kFields<NodeDrained> = std::tuple{Field{"node", &NodeDrained::node}};
template <>
inline constexpr auto kFields<ForeignUseObserved> =
    std::tuple{Field{"node", &ForeignUseObserved::node}, Field{"gpus", &ForeignUseObserved::gpus}};
template <>
inline constexpr auto kFields<TimerFired> = std::tuple<>{};
template <>
inline constexpr auto kFields<JobFailed> = std::tuple{Field{"job", &JobFailed::job}};
template <>
inline constexpr auto kFields<RescaleCostMeasured> =
    std::tuple{Field{"base", &RescaleCostMeasured::base},
               Field{"per_doubling", &RescaleCostMeasured::per_doubling}};
template <>
inline constexpr auto kFields<NodesObserved> = std::tuple{Field{"nodes", &NodesObserved::nodes}};
template <>
inline constexpr auto kFields<TaskObserved> = std::tuple{Field{"shape", &TaskObserved::shape}};
template <>
inline constexpr auto kFields<PlacementObserved> =
    std::tuple{Field{"job", &PlacementObserved::job}, Field{"node", &PlacementObserved::node},
               Field{"gpus", &PlacementObserved::gpus}};
template <>
inline constexpr auto kFields<SupplyAdopted> =
    std::tuple{Field{"kind", &SupplyAdopted::kind}, Field{"series", &SupplyAdopted::series}};
template <>
inline constexpr auto kFields<SupplyUpdated> =
    std::tuple{Field{"kind", &SupplyUpdated::kind}, Field{"series", &SupplyUpdated::series}};
template <>
inline constexpr auto kFields<EnergyTermsAdopted> =
    std::tuple{Field{"terms", &EnergyTermsAdopted::terms}};
template <>
inline constexpr auto kFields<EnergyConfigured> =
    std::tuple{Field{"terms", &EnergyConfigured::terms}};
template <>
inline constexpr auto kFields<PowerTableAdopted> = std::tuple{
    Field{"pool", &PowerTableAdopted::pool}, Field{"key", &PowerTableAdopted::key},
    Field{"table", &PowerTableAdopted::table}, Field{"origin", &PowerTableAdopted::origin}};
template <>
inline constexpr auto kFields<PowerTableUpdated> = std::tuple{
    Field{"pool", &PowerTableUpdated::pool}, Field{"key", &PowerTableUpdated::key},
    Field{"table", &PowerTableUpdated::table}, Field{"origin", &PowerTableUpdated::origin}};
template <>
inline constexpr auto kFields<PoolFabric> =
    std::tuple{Field{"pool", &PoolFabric::pool},
               Field{"leaves", &PoolFabric::leaves},
               Field{"nodes_per_leaf", &PoolFabric::nodes_per_leaf},
               Field{"spines", &PoolFabric::spines},
               Field{"links_per_pair", &PoolFabric::links_per_pair},
               Field{"spine_ports", &PoolFabric::spine_ports}};
template <>
inline constexpr auto kFields<KindTraffic> = std::tuple{
    Field{"model", &KindTraffic::model}, Field{"all_reduce", &KindTraffic::all_reduce},
    Field{"all_to_all", &KindTraffic::all_to_all}, Field{"all_gather", &KindTraffic::all_gather},
    Field{"halves_and_doubles", &KindTraffic::halves_and_doubles}};
template <>
inline constexpr auto kFields<NetworkTerms> = std::tuple{
    Field{"fabrics", &NetworkTerms::fabrics}, Field{"placement", &NetworkTerms::placement},
    Field{"kinds", &NetworkTerms::kinds}, Field{"hash_seed", &NetworkTerms::hash_seed}};
template <>
inline constexpr auto kFields<OpticalCircuit> = std::tuple{
    Field{"switch", &OpticalCircuit::optical_switch}, Field{"leaf", &OpticalCircuit::leaf},
    Field{"end", &OpticalCircuit::end}, Field{"is_direct", &OpticalCircuit::is_direct, true}};
template <>
inline constexpr auto kFields<LinkGrant> = std::tuple{
    Field{"use", &LinkGrant::use}, Field{"uplinks", &LinkGrant::uplinks, true},
    Field{"circuits", &LinkGrant::circuits, true}, Field{"shift", &LinkGrant::shift, true}};
template <>
inline constexpr auto kFields<NetworkTermsAdopted> =
    std::tuple{Field{"terms", &NetworkTermsAdopted::terms}};
template <>
inline constexpr auto kFields<NetworkConfigured> =
    std::tuple{Field{"terms", &NetworkConfigured::terms}};
template <>
inline constexpr auto kFields<LinksGiven> =
    std::tuple{Field{"job", &LinksGiven::job}, Field{"links", &LinksGiven::links}};
template <>
inline constexpr auto kFields<TenantsAdopted> = std::tuple{Field{"table", &TenantsAdopted::table}};
template <>
inline constexpr auto kFields<TenantsChanged> = std::tuple{Field{"table", &TenantsChanged::table}};
template <>
inline constexpr auto kFields<ClockStepped> = std::tuple{Field{"by", &ClockStepped::by}};

template <class T>
concept HasFields = !std::same_as<std::remove_const_t<decltype(kFields<T>)>, NoFields>;

// Stands for any member, to count them.
struct Anything {
  template <class T>
  operator T() const {
    std::terminate();
  }
};
template <class T, std::size_t... Each>
constexpr bool can_have(std::index_sequence<Each...>) {
  return requires {
    T{(static_cast<void>(Each), Anything{})...};
  };
}
template <class T>
constexpr bool knows_all_members() {
  constexpr std::size_t kCount = std::tuple_size_v<std::remove_const_t<decltype(kFields<T>)>>;
  return can_have<T>(std::make_index_sequence<kCount>{}) &&
         !can_have<T>(std::make_index_sequence<kCount + 1>{});
}
template <class... Described>
constexpr bool all_are_known(std::type_identity<std::variant<Described...>>) {
  return (... && (HasFields<Described> && !kTypeName<Described>.empty() &&
                  knows_all_members<Described>()));
}
static_assert(all_are_known(std::type_identity<decltype(Record::what)>{}) &&
                  all_are_known(std::type_identity<decltype(Event::what)>{}),
              "the log does not know the members of a record or an event");
static_assert(knows_all_members<Reason>() && knows_all_members<Shape>() &&
                  knows_all_members<ExpectedShape>() && knows_all_members<TargetWorkload>() &&
                  knows_all_members<Placement>() && knows_all_members<CurveKey>() &&
                  knows_all_members<TrainingSpec>() && knows_all_members<GpuBlock>() &&
                  knows_all_members<Timeline>() && knows_all_members<ObservedNode>() &&
                  knows_all_members<TenantQuota>() && knows_all_members<Tenant>() &&
                  knows_all_members<TenantTable>() && knows_all_members<SupplyParts>() &&
                  knows_all_members<SupplyKind>() && knows_all_members<PoolPower>() &&
                  knows_all_members<TenantBudget>() && knows_all_members<EnergyTerms>() &&
                  knows_all_members<PoolFabric>() && knows_all_members<KindTraffic>() &&
                  knows_all_members<NetworkTerms>() && knows_all_members<OpticalCircuit>() &&
                  knows_all_members<LinkGrant>(),
              "the log does not know a member of what records are made of");

}  // namespace weir::formats::log
