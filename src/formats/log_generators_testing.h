// SPDX-License-Identifier: Apache-2.0
//
// For property tests: every type of event and record, with any values.
#pragma once

#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "domain/event.h"
#include "domain/record.h"
#include "formats/domain_generators_testing.h"

namespace weir::formats {

template <class Number>
Number any_number() {
  using Limits = std::numeric_limits<Number>;
  return *rc::gen::oneOf(rc::gen::element<Number>(Number{0}, Limits::min(), Limits::max()),
                         rc::gen::arbitrary<Number>());
}
template <class Id>
Id any_id() {
  return Id{any_number<decltype(Id::value)>()};
}
inline Time any_time() {
  return Time{Duration{any_number<std::int64_t>()}};
}
inline Work any_work() {
  const WideInteger high = any_number<std::int64_t>() / 2;
  return Work{high * (WideInteger{1} << 64) + any_number<std::int64_t>() / 2};
}
inline std::string any_text() {
  return *rc::gen::oneOf(any_name("ab \n\t\x01\x7f/"), rc::gen::just(std::string{}));
}
template <class T, class Make>
std::vector<T> any_vector(Make make) {
  std::vector<T> values(*rc::gen::inRange<std::size_t>(0, 5));
  for (T& value : values) value = make();
  return values;
}
inline GpuBlock any_block() {
  return {any_number<std::uint32_t>(), any_number<std::uint32_t>()};
}
inline Shape free_shape() {
  Shape shape;
  shape.cpu = any_id<MilliCpu>();
  shape.memory = any_id<Mebibytes>();
  shape.gpu_count = any_number<std::int32_t>();
  shape.gpu_share = any_id<MilliGpu>();
  const auto bits = any_number<std::uint64_t>();
  for (std::uint8_t id = 0; id < kMaxGpuModels; ++id) {
    if (((bits >> id) & 1U) != 0) shape.models.insert(GpuModelId{id});
  }
  return shape;
}
inline Timeline any_timeline() {
  return {any_vector<TimelineStep>([] {
            return TimelineStep{any_time(), any_block()};
          }),
          any_time()};
}
inline CurveKey any_key() {
  return {any_text(), any_number<std::int64_t>()};
}
inline TrainingSpec any_spec() {
  TrainingSpec spec;
  spec.name = any_text();
  spec.curve = any_key();
  spec.iterations = any_number<std::int64_t>();
  spec.deadline_kind =
      *rc::gen::element(DeadlineKind::none, DeadlineKind::soft, DeadlineKind::hard);
  spec.deadline = any_time();
  spec.asked_gpus = any_number<std::int32_t>();
  spec.is_rigid = *rc::gen::arbitrary<bool>();
  spec.margin = Duration{any_number<std::int64_t>()};
  spec.tenant = any_text();
  spec.priority = any_number<std::int32_t>();
  return spec;
}
inline Curve any_curve() {
  const auto points = any_vector<CurvePoint>([] {
    return CurvePoint{any_number<std::int32_t>(), any_id<IterationRate>()};
  });
  const auto origin = *rc::gen::element(CurveOrigin::measured, CurveOrigin::profiled,
                                        CurveOrigin::planned, CurveOrigin::assumed);
  return Curve{points, origin};
}

inline TenantTable any_tenants() {
  TenantTable table;
  table.tenants = any_vector<Tenant>([] {
    return Tenant{any_text(), any_number<std::int32_t>(), any_number<std::int64_t>(),
                  any_vector<TenantQuota>([] {
                    return TenantQuota{any_id<PoolIndex>(), any_number<std::int32_t>(),
                                       any_number<std::int32_t>()};
                  })};
  });
  table.half_life = Duration{any_number<std::int64_t>()};
  table.lease = Duration{any_number<std::int64_t>()};
  return table;
}

inline NetworkTerms any_network() {
  NetworkTerms terms;
  terms.fabrics = any_vector<PoolFabric>([] {
    return PoolFabric{any_id<PoolIndex>(),        any_number<std::int32_t>(),
                      any_number<std::int32_t>(), any_number<std::int32_t>(),
                      any_number<std::int32_t>(), any_number<std::int32_t>()};
  });
  terms.placement =
      *rc::gen::element(NetworkPlacement::shared, NetworkPlacement::isolated,
                        NetworkPlacement::isolated_optical, NetworkPlacement::isolated_where_worth);
  terms.kinds = any_vector<KindTraffic>([] {
    return KindTraffic{any_text(), any_number<std::int32_t>(), any_number<std::int32_t>(),
                       any_number<std::int32_t>(), *rc::gen::arbitrary<bool>()};
  });
  terms.hash_seed = any_number<std::uint64_t>();
  return terms;
}
inline LinkGrant any_links() {
  LinkGrant links;
  links.use = *rc::gen::element(LinkUse::shared, LinkUse::own, LinkUse::circuits);
  links.uplinks = any_vector<std::int32_t>([] { return any_number<std::int32_t>(); });
  links.circuits = any_vector<OpticalCircuit>([] {
    return OpticalCircuit{any_number<std::int32_t>(), any_number<std::int32_t>(),
                          any_number<std::int32_t>(), *rc::gen::arbitrary<bool>()};
  });
  links.shift = Duration{any_number<std::int64_t>()};
  return links;
}

// One of the types of events or records, with any values.
template <class T>
T any_of_type() {
  return T{any_id<JobId>()};  // those that only name a job
}
template <>
inline RescaleCostAdopted any_of_type() {
  return {Duration{any_number<std::int64_t>()}, Duration{any_number<std::int64_t>()}};
}
template <>
inline TenantsAdopted any_of_type() {
  return {std::make_shared<const TenantTable>(any_tenants())};
}
template <>
inline TenantsChanged any_of_type() {
  return {any_tenants()};
}
template <>
inline NetworkTermsAdopted any_of_type() {
  return {std::make_shared<const NetworkTerms>(any_network())};
}
template <>
inline NetworkConfigured any_of_type() {
  return {any_network()};
}
template <>
inline LinksGiven any_of_type() {
  return {any_id<JobId>(), std::make_shared<const LinkGrant>(any_links())};
}
template <>
inline ClockSet any_of_type() {
  return {any_id<JobId>(), any_number<std::int32_t>(), any_number<std::int64_t>()};
}
template <>
inline EnergyPriceSet any_of_type() {
  return {any_number<std::int64_t>(), any_number<std::int64_t>(), any_text()};
}
inline SupplyKind any_supply_kind() {
  return {*rc::gen::element(SupplyQuantity::carbon_lifecycle, SupplyQuantity::carbon_direct,
                            SupplyQuantity::price, SupplyQuantity::power_cap),
          any_text()};
}
inline SupplySeries any_series() {
  std::vector<double> values = any_vector<double>(
      [] { return std::abs(static_cast<double>(any_number<std::int64_t>())) / 1e7; });
  if (values.empty()) values.push_back(0.1);
  return {Time{Duration{any_number<std::int64_t>() / 5}},
          Duration{1 + *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50)},
          std::move(values)};
}
inline std::optional<std::int64_t> any_maybe() {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  return any_number<std::int64_t>();
}
inline EnergyTerms any_terms() {
  EnergyTerms terms;
  terms.pools = any_vector<PoolPower>([] {
    return PoolPower{any_id<PoolIndex>(), any_number<std::int64_t>(), any_number<std::int64_t>(),
                     any_number<std::int64_t>(), any_number<std::int32_t>()};
  });
  terms.price_nanos = any_maybe();
  terms.budget_micros = any_maybe();
  terms.from = any_time();
  terms.until = any_time();
  terms.when_spent = *rc::gen::element(WhenSpent::overdraw, WhenSpent::min_power, WhenSpent::pause);
  terms.expected_gpu_seconds = any_number<std::int64_t>();
  terms.cap_milliwatts = any_maybe();
  terms.longest_pause = Duration{any_number<std::int64_t>()};
  terms.tenants = any_vector<TenantBudget>([] {
    return TenantBudget{any_text(), any_number<std::int64_t>(), any_number<std::int64_t>()};
  });
  return terms;
}
inline PowerTable any_power_table() {
  return any_vector<PowerPoint>([] {
    return PowerPoint{*rc::gen::inRange(1, 1000), *rc::gen::inRange(1, 1001),
                      IterationRate{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000)},
                      *rc::gen::inRange<std::int64_t>(0, 1'000'000'000)};
  });
}
template <>
inline SupplyAdopted any_of_type() {
  return {any_supply_kind(), std::make_shared<const SupplySeries>(any_series())};
}
template <>
inline SupplyUpdated any_of_type() {
  return {any_supply_kind(), any_series()};
}
template <>
inline EnergyTermsAdopted any_of_type() {
  return {std::make_shared<const EnergyTerms>(any_terms())};
}
template <>
inline EnergyConfigured any_of_type() {
  return {any_terms()};
}
template <>
inline PowerTableAdopted any_of_type() {
  return {any_id<PoolIndex>(), any_key(), std::make_shared<const PowerTable>(any_power_table()),
          *rc::gen::element(CurveOrigin::measured, CurveOrigin::assumed)};
}
template <>
inline PowerTableUpdated any_of_type() {
  return {any_id<PoolIndex>(), any_key(), any_power_table(),
          *rc::gen::element(CurveOrigin::measured, CurveOrigin::assumed)};
}
template <>
inline ClockStepSeen any_of_type() {
  return {Duration{any_number<std::int64_t>()}};
}
template <>
inline JobAccepted any_of_type() {
  return {any_id<JobId>(), any_id<ShapeIndex>(), free_shape(), any_number<std::int32_t>()};
}
template <>
inline JobPlaced any_of_type() {
  return {any_id<JobId>(), PlacementList{any_vector<Placement>([] {
            return Placement{any_id<NodeIndex>(), GpuMask{any_number<std::uint16_t>()}};
          })}};
}
template <>
inline NodeClosed any_of_type() {
  return {any_id<NodeIndex>()};
}
template <>
inline NodeOpened any_of_type() {
  return {any_id<NodeIndex>()};
}
template <>
inline TargetWorkloadRevised any_of_type() {
  TargetWorkload target;
  target.shapes = any_vector<ExpectedShape>([] {
    return ExpectedShape{free_shape(), any_number<std::int64_t>()};
  });
  target.total = any_number<std::int64_t>();
  target.cpu_demand = any_id<MilliCpu>();
  target.gpu_demand = any_id<MilliGpu>();
  return {any_number<std::uint32_t>(), std::make_shared<const TargetWorkload>(target)};
}
template <>
inline TrainingAccepted any_of_type() {
  return {any_id<JobId>(), std::make_shared<const TrainingSpec>(any_spec()), any_id<PoolIndex>(),
          any_number<std::int64_t>()};
}
template <>
inline PromiseMade any_of_type() {
  return {any_id<JobId>(), any_time(), any_timeline()};
}
template <>
inline TimelineRevised any_of_type() {
  return {any_id<JobId>(), any_timeline()};
}
template <>
inline PromiseRefused any_of_type() {
  PromiseRefused refused{any_id<JobId>(), std::nullopt};
  if (*rc::gen::arbitrary<bool>()) refused.earliest = any_time();
  return refused;
}
template <>
inline JobUnpromised any_of_type() {
  JobUnpromised unpromised{any_id<JobId>(), std::nullopt, std::nullopt};
  if (*rc::gen::arbitrary<bool>()) unpromised.expected_start = any_time();
  if (*rc::gen::arbitrary<bool>()) unpromised.expected_finish = any_time();
  return unpromised;
}
template <>
inline PlannedProvisionally any_of_type() {
  return {any_id<JobId>(), any_timeline()};
}
template <>
inline PoolNodeClosed any_of_type() {
  return {any_id<PoolIndex>(), any_number<std::uint32_t>()};
}
template <>
inline ForeignUseKnown any_of_type() {
  return {any_id<PoolIndex>(), any_number<std::uint32_t>(), GpuMask{any_number<std::uint16_t>()}};
}
template <>
inline PoolNodeOpened any_of_type() {
  return {any_id<PoolIndex>(), any_number<std::uint32_t>()};
}
template <>
inline JobResized any_of_type() {
  return {any_id<JobId>(), any_number<std::uint32_t>(), any_block()};
}
template <>
inline JobObserved any_of_type() {
  return {any_id<JobId>(), any_work(), any_time(), any_number<std::int32_t>()};
}
template <>
inline PromiseAtRisk any_of_type() {
  return {any_id<JobId>(), any_time()};
}
template <>
inline CurveAdopted any_of_type() {
  return {any_id<PoolIndex>(), any_key(), std::make_shared<const Curve>(any_curve())};
}
template <>
inline EventIgnored any_of_type() {
  return {};
}

// Events.
template <>
inline JobSubmitted any_of_type() {
  return {free_shape(), any_number<std::int32_t>()};
}
template <>
inline NodeLost any_of_type() {
  return {any_id<NodeId>()};
}
template <>
inline NodeReturned any_of_type() {
  return {any_id<NodeId>()};
}
template <>
inline NodeDrained any_of_type() {
  return {any_id<NodeId>()};
}
inline ObservedNode any_observed_node() {
  ObservedNode node;
  node.id = any_id<NodeId>();
  node.name = any_text();
  node.pool = any_text();
  node.rack = any_text();
  node.model = any_text();
  node.cpu = any_id<MilliCpu>();
  node.memory = any_id<Mebibytes>();
  node.gpu_count = any_number<std::int32_t>();
  node.model_id = GpuModelId{any_number<std::uint8_t>()};
  node.is_up = *rc::gen::arbitrary<bool>();
  return node;
}
template <>
inline NodesObserved any_of_type() {
  return {any_vector<ObservedNode>(any_observed_node)};
}
template <>
inline NodesKnown any_of_type() {
  return {std::make_shared<const std::vector<ObservedNode>>(
      any_vector<ObservedNode>(any_observed_node))};
}
template <>
inline TaskObserved any_of_type() {
  return {free_shape()};
}
template <>
inline PlacementObserved any_of_type() {
  return {any_id<JobId>(), any_id<NodeId>(), GpuMask{any_number<std::uint16_t>()}};
}
template <>
inline ForeignUseObserved any_of_type() {
  return {any_id<NodeId>(), GpuMask{any_number<std::uint16_t>()}};
}
template <>
inline TrainingSubmitted any_of_type() {
  return {any_spec()};
}
template <>
inline RanksReady any_of_type() {
  return {any_id<JobId>(), any_number<std::uint32_t>()};
}
template <>
inline RanksFailed any_of_type() {
  return {any_id<JobId>(), any_number<std::uint32_t>()};
}
template <>
inline ProgressReported any_of_type() {
  return {any_id<JobId>(), any_work()};
}
template <>
inline CurveUpdated any_of_type() {
  return {any_id<PoolIndex>(), any_key(), any_curve()};
}
template <>
inline RescaleCostMeasured any_of_type() {
  return {Duration{any_number<std::int64_t>()}, Duration{any_number<std::int64_t>()}};
}
template <>
inline ClockStepped any_of_type() {
  return {Duration{any_number<std::int64_t>()}};
}
template <>
inline TimerFired any_of_type() {
  return {};
}

inline Reason any_reason() {
  const auto code = *rc::gen::inRange(0, static_cast<int>(ReasonCode::waits_for_links) + 1);
  return Reason{static_cast<ReasonCode>(code), any_number<std::uint64_t>()};
}

template <class... Each>
std::vector<Record> one_of_each_record(std::type_identity<std::variant<Each...>>) {
  return {Record{any_time(), any_reason(), any_of_type<Each>()}...};
}
inline std::vector<Record> one_record_of_each_type() {
  return one_of_each_record(std::type_identity<decltype(Record::what)>{});
}

template <class... Each>
std::vector<Event> one_of_each_event(std::type_identity<std::variant<Each...>>) {
  return {Event{any_time(), any_of_type<Each>()}...};
}
inline std::vector<Event> one_event_of_each_type() {
  return one_of_each_event(std::type_identity<decltype(Event::what)>{});
}

}  // namespace weir::formats
