// SPDX-License-Identifier: Apache-2.0
#include "formats/record_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <exception>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace weir::formats {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;
constexpr std::string_view kHeaderType = "log_header";

// ---- Names. Both directions use these tables.

template <class T>
constexpr std::string_view kTypeName{};
template <>
constexpr std::string_view kTypeName<JobAccepted> = "job_accepted";
template <>
constexpr std::string_view kTypeName<JobPlaced> = "job_placed";
template <>
constexpr std::string_view kTypeName<JobQueued> = "job_queued";
template <>
constexpr std::string_view kTypeName<JobRejected> = "job_rejected";
template <>
constexpr std::string_view kTypeName<JobReleased> = "job_released";
template <>
constexpr std::string_view kTypeName<JobInterrupted> = "job_interrupted";
template <>
constexpr std::string_view kTypeName<NodeClosed> = "node_closed";
template <>
constexpr std::string_view kTypeName<NodeOpened> = "node_opened";
template <>
constexpr std::string_view kTypeName<TargetWorkloadRevised> = "target_workload_revised";
template <>
constexpr std::string_view kTypeName<TrainingAccepted> = "training_accepted";
template <>
constexpr std::string_view kTypeName<PromiseMade> = "promise_made";
template <>
constexpr std::string_view kTypeName<TimelineRevised> = "timeline_revised";
template <>
constexpr std::string_view kTypeName<PromiseRefused> = "promise_refused";
template <>
constexpr std::string_view kTypeName<JobUnpromised> = "job_unpromised";
template <>
constexpr std::string_view kTypeName<JobResized> = "job_resized";
template <>
constexpr std::string_view kTypeName<JobObserved> = "job_observed";
template <>
constexpr std::string_view kTypeName<PromiseAtRisk> = "promise_at_risk";
template <>
constexpr std::string_view kTypeName<CurveAdopted> = "curve_adopted";
template <>
constexpr std::string_view kTypeName<PlannedProvisionally> = "planned_provisionally";
template <>
constexpr std::string_view kTypeName<PoolNodeClosed> = "pool_node_closed";
template <>
constexpr std::string_view kTypeName<PoolNodeOpened> = "pool_node_opened";
template <>
constexpr std::string_view kTypeName<ForeignUseKnown> = "foreign_use_known";
template <>
constexpr std::string_view kTypeName<EventIgnored> = "event_ignored";
template <>
constexpr std::string_view kTypeName<RescaleCostAdopted> = "rescale_cost_adopted";
template <>
constexpr std::string_view kTypeName<ClockStepSeen> = "clock_step_seen";

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

// ---- Members.

template <class Owner, class Value>
struct Field {
  std::string_view name;
  Value Owner::*member;
};
template <class Owner, class Value>
Field(const char*, Value Owner::*) -> Field<Owner, Value>;

struct NoFields {};
template <class T>
constexpr auto kFields = NoFields{};

template <>
constexpr auto kFields<Reason> =
    std::tuple{Field{"code", &Reason::code}, Field{"detail", &Reason::detail}};
template <>
constexpr auto kFields<Shape> =
    std::tuple{Field{"cpu_milli", &Shape::cpu}, Field{"memory_mib", &Shape::memory},
               Field{"gpus", &Shape::gpu_count}, Field{"gpu_share_milli", &Shape::gpu_share},
               Field{"models", &Shape::models}};
template <>
constexpr auto kFields<ExpectedShape> =
    std::tuple{Field{"shape", &ExpectedShape::shape}, Field{"count", &ExpectedShape::count}};
template <>
constexpr auto kFields<TargetWorkload> =
    std::tuple{Field{"shapes", &TargetWorkload::shapes}, Field{"total", &TargetWorkload::total},
               Field{"cpu_demand_milli", &TargetWorkload::cpu_demand},
               Field{"gpu_demand_milli", &TargetWorkload::gpu_demand}};
template <>
constexpr auto kFields<Placement> =
    std::tuple{Field{"node", &Placement::node}, Field{"gpus", &Placement::gpus}};
template <>
constexpr auto kFields<CurveKey> =
    std::tuple{Field{"model", &CurveKey::model}, Field{"global_batch", &CurveKey::global_batch}};
template <>
constexpr auto kFields<TrainingSpec> =
    std::tuple{Field{"name", &TrainingSpec::name},
               Field{"curve", &TrainingSpec::curve},
               Field{"iterations", &TrainingSpec::iterations},
               Field{"deadline_kind", &TrainingSpec::deadline_kind},
               Field{"deadline", &TrainingSpec::deadline},
               Field{"asked_gpus", &TrainingSpec::asked_gpus},
               Field{"is_rigid", &TrainingSpec::is_rigid}};
template <>
constexpr auto kFields<GpuBlock> =
    std::tuple{Field{"first", &GpuBlock::first}, Field{"size", &GpuBlock::size}};
template <>
constexpr auto kFields<Timeline> =
    std::tuple{Field{"steps", &Timeline::steps}, Field{"end", &Timeline::end}};

template <>
constexpr auto kFields<JobAccepted> =
    std::tuple{Field{"job", &JobAccepted::job}, Field{"shape_index", &JobAccepted::shape_index},
               Field{"shape", &JobAccepted::shape}, Field{"replicas", &JobAccepted::replicas}};
template <>
constexpr auto kFields<JobPlaced> =
    std::tuple{Field{"job", &JobPlaced::job}, Field{"placements", &JobPlaced::placements}};
template <>
constexpr auto kFields<JobQueued> = std::tuple{Field{"job", &JobQueued::job}};
template <>
constexpr auto kFields<JobRejected> = std::tuple{Field{"job", &JobRejected::job}};
template <>
constexpr auto kFields<JobReleased> = std::tuple{Field{"job", &JobReleased::job}};
template <>
constexpr auto kFields<JobInterrupted> = std::tuple{Field{"job", &JobInterrupted::job}};
template <>
constexpr auto kFields<NodeClosed> = std::tuple{Field{"node", &NodeClosed::node}};
template <>
constexpr auto kFields<NodeOpened> = std::tuple{Field{"node", &NodeOpened::node}};
template <>
constexpr auto kFields<TargetWorkloadRevised> =
    std::tuple{Field{"version", &TargetWorkloadRevised::version},
               Field{"target", &TargetWorkloadRevised::target}};
template <>
constexpr auto kFields<TrainingAccepted> =
    std::tuple{Field{"job", &TrainingAccepted::job}, Field{"spec", &TrainingAccepted::spec},
               Field{"pool", &TrainingAccepted::pool},
               Field{"least_gpu_seconds", &TrainingAccepted::least_gpu_seconds}};
template <>
constexpr auto kFields<PromiseMade> =
    std::tuple{Field{"job", &PromiseMade::job}, Field{"deadline", &PromiseMade::deadline},
               Field{"timeline", &PromiseMade::timeline}};
template <>
constexpr auto kFields<TimelineRevised> =
    std::tuple{Field{"job", &TimelineRevised::job}, Field{"timeline", &TimelineRevised::timeline}};
template <>
constexpr auto kFields<PromiseRefused> =
    std::tuple{Field{"job", &PromiseRefused::job}, Field{"earliest", &PromiseRefused::earliest}};
template <>
constexpr auto kFields<JobUnpromised> = std::tuple{
    Field{"job", &JobUnpromised::job}, Field{"expected_start", &JobUnpromised::expected_start},
    Field{"expected_finish", &JobUnpromised::expected_finish}};
template <>
constexpr auto kFields<JobResized> =
    std::tuple{Field{"job", &JobResized::job}, Field{"generation", &JobResized::generation},
               Field{"block", &JobResized::block}};
template <>
constexpr auto kFields<JobObserved> =
    std::tuple{Field{"job", &JobObserved::job}, Field{"left", &JobObserved::left},
               Field{"ready_at", &JobObserved::ready_at},
               Field{"speed_permille", &JobObserved::speed_permille}};
template <>
constexpr auto kFields<PromiseAtRisk> = std::tuple{
    Field{"job", &PromiseAtRisk::job}, Field{"expected_finish", &PromiseAtRisk::expected_finish}};
template <>
constexpr auto kFields<CurveAdopted> =
    std::tuple{Field{"pool", &CurveAdopted::pool}, Field{"key", &CurveAdopted::key},
               Field{"curve", &CurveAdopted::curve}};
template <>
constexpr auto kFields<PlannedProvisionally> = std::tuple{
    Field{"job", &PlannedProvisionally::job}, Field{"timeline", &PlannedProvisionally::timeline}};
template <>
constexpr auto kFields<PoolNodeClosed> =
    std::tuple{Field{"pool", &PoolNodeClosed::pool}, Field{"node", &PoolNodeClosed::node}};
template <>
constexpr auto kFields<PoolNodeOpened> =
    std::tuple{Field{"pool", &PoolNodeOpened::pool}, Field{"node", &PoolNodeOpened::node}};
template <>
constexpr auto kFields<ForeignUseKnown> =
    std::tuple{Field{"pool", &ForeignUseKnown::pool}, Field{"node", &ForeignUseKnown::node},
               Field{"gpus", &ForeignUseKnown::gpus}};
template <>
constexpr auto kFields<EventIgnored> = std::tuple<>{};
template <>
constexpr auto kFields<RescaleCostAdopted> =
    std::tuple{Field{"base", &RescaleCostAdopted::base},
               Field{"per_doubling", &RescaleCostAdopted::per_doubling}};
template <>
constexpr auto kFields<ClockStepSeen> = std::tuple{Field{"by", &ClockStepSeen::by}};

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
using What = decltype(Record::what);
static_assert(all_are_known(std::type_identity<What>{}),
              "the log does not know a record's members");
static_assert(all_are_known(std::type_identity<What>{}) && knows_all_members<Reason>() &&
                  knows_all_members<Shape>() && knows_all_members<ExpectedShape>() &&
                  knows_all_members<TargetWorkload>() && knows_all_members<Placement>() &&
                  knows_all_members<CurveKey>() && knows_all_members<TrainingSpec>() &&
                  knows_all_members<GpuBlock>() && knows_all_members<Timeline>(),
              "the log does not know a member of what records are made of");

// ---- Writing.

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

class Writer {
 public:
  explicit Writer(std::string& line) : line_{line} {}

  void raw(std::string_view text) { line_ += text; }

  template <std::integral Number>
  void put(Number number) {
    const fmt::format_int text{number};
    line_.append(text.data(), text.size());
  }
  void put(bool value) { raw(value ? "true" : "false"); }
  void put(std::string_view text) {
    if (is_plain(text)) {
      line_ += '"';
      line_ += text;
      line_ += '"';
    } else {
      line_ += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }
  void put(const std::string& text) { put(std::string_view{text}); }
  void put(Time time) { put(time.time_since_epoch().count()); }
  void put(Duration duration) { put(duration.count()); }
  void put(Work work) {
    fmt::format_to(std::back_inserter(line_), "\"{}\"", work.femto_iterations);
  }
  void put(GpuMask mask) { put(mask.bits); }
  void put(GpuModelSet models) { put(models.bits()); }
  template <class Tag, class Rep>
  void put(Id<Tag, Rep> id) {
    put(id.value);
  }
  template <class Tag, class Rep>
  void put(Quantity<Tag, Rep> quantity) {
    put(quantity.value);
  }
  template <HasNames Enum>
  void put(Enum value) {
    put(name_of(value));
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) {
      put(*value);
    } else {
      raw("null");
    }
  }
  template <class T>
  void put(const std::shared_ptr<const T>& value) {
    put(*value);
  }
  void put(const TimelineStep& step) { row(step.from, step.block.first, step.block.size); }
  void put(const CurvePoint& point) { row(point.gpus, point.rate); }
  void put(const Curve& curve) {
    raw("{\"points\":");
    list(curve.measured());
    raw(",\"origin\":");
    put(curve.origin());
    raw("}");
  }
  void put(const PlacementList& placements) { list(placements.all()); }
  template <class T>
  void put(const std::vector<T>& values) {
    list(std::span{values});
  }
  template <HasFields T>
  void put(const T& value) {
    raw("{");
    bool is_first = true;
    const auto member = [&](const auto& field) {
      raw(is_first ? "\"" : ",\"");
      is_first = false;
      raw(field.name);
      raw("\":");
      put(value.*field.member);
    };
    std::apply([&](const auto&... fields) { (member(fields), ...); }, kFields<T>);
    raw("}");
  }

 private:
  template <class T>
  void list(std::span<const T> values) {
    raw("[");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) raw(",");
      put(values[i]);
    }
    raw("]");
  }
  template <class First, class... Others>
  void row(First first, Others... others) {
    raw("[");
    put(first);
    ((raw(","), put(others)), ...);
    raw("]");
  }

  std::string& line_;
};

// ---- Reading.

std::string shortened(std::string text) {
  constexpr std::size_t kMost = 60;
  if (text.size() <= kMost) return text;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text + "...";
}

std::string text_of(const Json& value) {
  if (value.is_string()) return shortened(value.get<std::string>());
  return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Takes a value out of JSON. The first mistake is kept, with the path to it.
class Reader {
 public:
  const Diagnostic& mistake() const { return mistake_; }

  template <std::integral Number>
  bool take(const Json& json, Number& number) {
    using Limits = std::numeric_limits<Number>;
    if (json.is_number_unsigned() && std::in_range<Number>(json.get<std::uint64_t>())) {
      number = static_cast<Number>(json.get<std::uint64_t>());
      return true;
    }
    if (json.is_number_integer() && !json.is_number_unsigned() &&
        std::in_range<Number>(json.get<std::int64_t>())) {
      number = static_cast<Number>(json.get<std::int64_t>());
      return true;
    }
    return fail(json, fmt::format("an integer from {} to {}", Limits::min(), Limits::max()));
  }
  bool take(const Json& json, bool& value) {
    if (!json.is_boolean()) return fail(json, "true or false");
    value = json.get<bool>();
    return true;
  }
  bool take(const Json& json, std::string& text) {
    if (!json.is_string()) return fail(json, "a string");
    text = json.get<std::string>();
    return true;
  }
  bool take(const Json& json, Time& time) {
    std::int64_t count = 0;
    if (!take(json, count)) return false;
    time = Time{Duration{count}};
    return true;
  }
  bool take(const Json& json, Duration& duration) {
    std::int64_t count = 0;
    if (!take(json, count)) return false;
    duration = Duration{count};
    return true;
  }
  bool take(const Json& json, Work& work) {
    const auto parsed =
        json.is_string() ? wide_integer(json.get_ref<const std::string&>()) : std::nullopt;
    if (!parsed) return fail(json, "an integer of up to 127 bits, in quotes");
    work.femto_iterations = *parsed;
    return true;
  }
  bool take(const Json& json, GpuMask& mask) { return take(json, mask.bits); }
  bool take(const Json& json, GpuModelSet& models) {
    std::uint64_t bits = 0;
    if (!take(json, bits)) return false;
    models = {};
    for (std::uint8_t id = 0; id < kMaxGpuModels; ++id) {
      if (((bits >> id) & 1U) != 0) models.insert(GpuModelId{id});
    }
    return true;
  }
  template <class Tag, class Rep>
  bool take(const Json& json, Id<Tag, Rep>& id) {
    return take(json, id.value);
  }
  template <class Tag, class Rep>
  bool take(const Json& json, Quantity<Tag, Rep>& quantity) {
    return take(json, quantity.value);
  }
  template <HasNames Enum>
  bool take(const Json& json, Enum& value) {
    const auto known =
        json.is_string() ? named<Enum>(json.get_ref<const std::string&>()) : std::nullopt;
    if (!known) return fail(json, "a name that this version of weir knows");
    value = *known;
    return true;
  }
  template <class T>
  bool take(const Json& json, std::optional<T>& value) {
    if (json.is_null()) {
      value.reset();
      return true;
    }
    return take(json, value.emplace());
  }
  template <class T>
  bool take(const Json& json, std::shared_ptr<const T>& value) {
    auto made = std::make_shared<T>();
    if (!take(json, *made)) return false;
    value = std::move(made);
    return true;
  }
  bool take(const Json& json, TimelineStep& step) {
    return row(json, "[from, first GPU, size]", step.from, step.block.first, step.block.size);
  }
  bool take(const Json& json, CurvePoint& point) {
    if (!row(json, "[GPUs, micro-iterations per second]", point.gpus, point.rate)) return false;
    if (point.gpus < 1 || point.rate.value < 1) return fail(json, "two numbers from 1 up");
    return true;
  }
  bool take(const Json& json, Curve& curve) {
    std::vector<CurvePoint> points;
    CurveOrigin origin{};
    if (!is_object(json, 2) || !member(json, "points", points) || !member(json, "origin", origin)) {
      return false;
    }
    curve = Curve{std::move(points), origin};
    return true;
  }
  bool take(const Json& json, PlacementList& placements) {
    std::vector<Placement> all;
    if (!take(json, all)) return false;
    placements = PlacementList{std::move(all)};
    return true;
  }
  template <class T>
  bool take(const Json& json, std::vector<T>& values) {
    if (!json.is_array()) return fail(json, "a list in [ ]");
    values.resize(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (!take(json[i], values[i])) return below(fmt::format("[{}]", i));
    }
    return true;
  }
  template <HasFields T>
  bool take(const Json& json, T& value) {
    constexpr std::size_t kCount = std::tuple_size_v<std::remove_const_t<decltype(kFields<T>)>>;
    const auto take_all = [&](const auto&... fields) {
      return (... && member(json, fields.name, value.*fields.member)) && is_object(json, kCount);
    };
    return is_object(json) && std::apply(take_all, kFields<T>);
  }

  bool is_object(const Json& json) { return json.is_object() || fail(json, "an object in { }"); }
  // With no more members than that.
  bool is_object(const Json& json, std::size_t members) {
    if (!is_object(json)) return false;
    if (json.size() <= members) return true;
    return fail(json,
                fmt::format("no more than {} members in schema {}", members, kRecordLogSchema));
  }
  template <class T>
  bool member(const Json& json, std::string_view name, T& value) {
    const auto at = json.find(name);
    if (at == json.end()) return fail_text("", "a value") || below(name);
    return take(*at, value) || below(name);
  }
  // An object of the header that is described by hand.
  const Json* child(const Json& json, std::string_view name) {
    const auto at = json.find(name);
    if (at == json.end() || !at->is_object()) {
      fail_text(at == json.end() ? "" : text_of(*at), "an object in { }");
      below(name);
      return nullptr;
    }
    return &*at;
  }
  bool fail(const Json& json, std::string expected) {
    return fail_text(text_of(json), std::move(expected));
  }
  bool fail_text(std::string found, std::string expected) {
    mistake_.field.clear();
    mistake_.found = std::move(found);
    mistake_.expected = std::move(expected);
    return false;
  }
  // The mistake was inside of that.
  bool below(std::string_view name) {
    const bool needs_dot = !mistake_.field.empty() && !mistake_.field.starts_with('[');
    mistake_.field = fmt::format("{}{}{}", name, needs_dot ? "." : "", mistake_.field);
    return false;
  }

 private:
  static std::optional<WideInteger> wide_integer(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    if (is_negative) text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    WideInteger value = 0;  // on the side of the sign: the least number has no positive twin
    for (const char c : text) {
      if (c < '0' || c > '9') return std::nullopt;
      const int digit = is_negative ? '0' - c : c - '0';
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, digit, &value)) {
        return std::nullopt;
      }
    }
    return value;
  }

  template <class... Values>
  bool row(const Json& json, std::string_view what, Values&... values) {
    if (!json.is_array() || json.size() != sizeof...(values)) return fail(json, std::string{what});
    std::size_t at = 0;
    const auto cell = [&](auto& value) {
      const std::size_t i = at++;
      return take(json[i], value) || below(fmt::format("[{}]", i));
    };
    return (... && cell(values));
  }

  Diagnostic mistake_;
};

template <class Alternative>
bool take_alternative(Reader& reader, const Json& json, What& what) {
  return reader.take(json, what.emplace<Alternative>());
}

struct RecordType {
  std::string_view name;
  bool (*take)(Reader&, const Json&, What&);
};
template <class... Alternatives>
constexpr auto types_of(std::type_identity<std::variant<Alternatives...>>) {
  return std::array{RecordType{kTypeName<Alternatives>, take_alternative<Alternatives>}...};
}
constexpr auto kTypes = types_of(std::type_identity<What>{});

// ---- The header, which has seconds for people.

void put_seconds(std::string& line, Duration time) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  std::string text = fmt::format("{}.{:09}", whole.count(), (time - whole).count());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  line += text;
}

bool take_seconds(Reader& reader, const Json& json, std::string_view name, Duration& time) {
  constexpr double kMost = 9e9;  // a little less than 64 bits of nanoseconds
  const auto at = json.find(name);
  const bool is_there = at != json.end() && at->is_number();
  const double seconds = is_there ? at->get<double>() : -1;
  if (!(seconds >= 0 && seconds <= kMost)) {
    return reader.fail_text(at == json.end() ? "" : text_of(*at), "seconds from 0 up") ||
           reader.below(name);
  }
  time = Duration{std::llround(seconds * 1e9)};
  return true;
}

void put_pool(Writer& writer, const RecordLogHeader::Pool& pool) {
  writer.raw("{\"name\":");
  writer.put(pool.name);
  writer.raw(",\"nodes\":");
  writer.put(pool.nodes);
  writer.raw(",\"gpus_per_node\":");
  writer.put(pool.gpus_per_node);
  writer.raw(",\"stride\":");
  writer.put(pool.stride);
  if (!pool.node_gpus.empty()) {
    writer.raw(",\"node_gpus\":");
    writer.put(pool.node_gpus);
  }
  writer.raw("}");
}

bool take_pool(Reader& reader, const Json& json, RecordLogHeader::Pool& pool) {
  return reader.is_object(json) && reader.member(json, "name", pool.name) &&
         reader.member(json, "nodes", pool.nodes) &&
         reader.member(json, "gpus_per_node", pool.gpus_per_node) &&
         reader.member(json, "stride", pool.stride) &&
         (!json.contains("node_gpus") || reader.member(json, "node_gpus", pool.node_gpus));
}

bool take_pools(Reader& reader, const Json& json, std::vector<RecordLogHeader::Pool>& pools) {
  const Json* const cluster = reader.child(json, "cluster");
  if (cluster == nullptr) return false;
  const auto list = cluster->find("pools");
  if (list == cluster->end() || !list->is_array()) {
    return reader.fail_text("", "a list in [ ]") || reader.below("cluster.pools");
  }
  pools.resize(list->size());
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (!take_pool(reader, (*list)[i], pools[i])) {
      return reader.below(fmt::format("cluster.pools[{}]", i));
    }
  }
  return true;
}

bool take_speed(Reader& reader, const Json& json, RecordLogHeader::Speed& speed) {
  const Json* const found = reader.child(json, "speed");
  if (found == nullptr) return false;
  if (!reader.member(*found, "permille", speed.permille)) return reader.below("speed");
  if (!found->contains("jobs")) return true;
  const Json* const jobs = reader.child(*found, "jobs");
  if (jobs == nullptr) return reader.below("speed");
  for (const auto& [name, permille] : jobs->items()) {
    if (!reader.take(permille, speed.jobs[name]))
      return reader.below(name) || reader.below("speed.jobs");
  }
  return true;
}

bool take_header(Reader& reader, const Json& json, RecordLogHeader& header) {
  if (!take_pools(reader, json, header.pools)) return false;
  const Json* const rescale = reader.child(json, "rescale");
  if (rescale == nullptr) return false;
  if (!take_seconds(reader, *rescale, "base_s", header.rescale_base) ||
      !take_seconds(reader, *rescale, "per_doubling_s", header.rescale_per_doubling)) {
    return reader.below("rescale");
  }
  return reader.member(json, "policy", header.policy) &&
         take_seconds(reader, json, "slot_s", header.slot) &&
         reader.member(json, "workload", header.workload) &&
         reader.member(json, "curves", header.curves) && take_speed(reader, json, header.speed);
}

}  // namespace

std::string_view reason_name(ReasonCode code) {
  return name_of(code);
}

std::string_view type_name(const Record& record) {
  return kTypes[record.what.index()].name;
}

std::vector<RecordLogHeader::Pool> log_pools(const Cluster& cluster) {
  std::vector<RecordLogHeader::Pool> pools(cluster.pools.size());
  for (std::size_t i = 0; i < pools.size(); ++i) pools[i].name = cluster.pools[i].name;
  for (const Node& node : cluster.nodes) {
    if (node.gpu_count == 0) continue;
    RecordLogHeader::Pool& pool = pools[node.pool.value];
    ++pool.nodes;
    pool.node_gpus.push_back(node.gpu_count);
    pool.gpus_per_node = std::max(pool.gpus_per_node, node.gpu_count);
  }
  for (RecordLogHeader::Pool& pool : pools) {
    const auto most = static_cast<std::uint32_t>(std::max(1, pool.gpus_per_node));
    pool.stride = static_cast<std::int32_t>(std::bit_ceil(most));
    const auto is_full = [&](std::int32_t gpus) { return gpus == pool.gpus_per_node; };
    if (std::all_of(pool.node_gpus.begin(), pool.node_gpus.end(), is_full)) pool.node_gpus.clear();
  }
  return pools;
}

RecordLogWriter::RecordLogWriter(std::ostream& out, std::string_view build, std::uint64_t first_seq)
    : out_{out}, next_seq_{first_seq} {
  Writer writer{tail_};
  writer.raw(",\"build\":");
  writer.put(build);
  writer.raw("}\n");
}

void RecordLogWriter::write(const RecordLogHeader& header) {
  line_.clear();
  Writer writer{line_};
  fmt::format_to(std::back_inserter(line_),
                 "{{\"schema\":{},\"type\":\"{}\",\"payload\":{{\"cluster\":{{\"pools\":[",
                 kRecordLogSchema, kHeaderType);
  for (std::size_t i = 0; i < header.pools.size(); ++i) {
    if (i > 0) writer.raw(",");
    put_pool(writer, header.pools[i]);
  }
  writer.raw("]},\"rescale\":{\"base_s\":");
  put_seconds(line_, header.rescale_base);
  writer.raw(",\"per_doubling_s\":");
  put_seconds(line_, header.rescale_per_doubling);
  writer.raw("},\"policy\":");
  writer.put(header.policy);
  writer.raw(",\"slot_s\":");
  put_seconds(line_, header.slot);
  writer.raw(",\"workload\":");
  writer.put(header.workload);
  writer.raw(",\"curves\":");
  writer.put(header.curves);
  writer.raw(",\"speed\":{\"permille\":");
  writer.put(header.speed.permille);
  if (!header.speed.jobs.empty()) writer.raw(",\"jobs\":");
  char before = '{';
  for (const auto& [name, permille] : header.speed.jobs) {
    line_ += before;
    before = ',';
    writer.put(name);
    writer.raw(":");
    writer.put(permille);
  }
  if (!header.speed.jobs.empty()) writer.raw("}");
  writer.raw("}}");
  line_ += tail_;
  out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
}

void RecordLogWriter::write(const Record& record) {
  line_.clear();
  Writer writer{line_};
  writer.raw("{\"schema\":");
  writer.put(kRecordLogSchema);
  writer.raw(",\"seq\":");
  writer.put(next_seq_++);
  writer.raw(",\"time\":");
  writer.put(record.at);
  writer.raw(",\"type\":\"");
  writer.raw(type_name(record));
  writer.raw("\",\"reason\":");
  writer.put(record.reason);
  writer.raw(",\"payload\":");
  std::visit([&](const auto& what) { writer.put(what); }, record.what);
  line_ += tail_;
  out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
}

Diagnostic RecordLogReader::mistake(std::string field, std::string found,
                                    std::string expected) const {
  return {input_.name(), line_number_, std::move(field), std::move(found), std::move(expected)};
}

Result<RecordLogReader> RecordLogReader::open(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return open(std::move(*input));
}

Result<std::optional<std::string_view>> RecordLogReader::next_line() {
  std::size_t searched = begin_;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::string_view line{buffer_.data() + begin_, end - begin_};
      begin_ = end + 1;
      ++line_number_;
      return line;
    }
    if (at_end_) {
      if (begin_ == buffer_.size()) return std::nullopt;
      const std::string_view line{buffer_.data() + begin_, buffer_.size() - begin_};
      begin_ = buffer_.size();
      ++line_number_;
      is_unfinished_ = true;
      return line;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    if (searched > kMaxLineBytes) {
      ++line_number_;
      return bad_input(mistake("line", "too long", "lines of at most 64 MiB"));
    }
    buffer_.resize(searched + kChunk);
    const auto got = input_.read(std::span{buffer_}.subspan(searched));
    if (!got) return tl::unexpected(got.error());
    buffer_.resize(searched + *got);
    at_end_ = *got < kChunk;
  }
}

// The last line may have been cut by a crash or a full disk: then say how far the log is good.
tl::unexpected<Error> RecordLogReader::broken_line(std::string_view line) const {
  if (is_unfinished_) {
    return bad_input(
        mistake("log",
                last_seq_ ? fmt::format("cut off after seq {}", *last_seq_)
                          : std::string{"cut off before its first record"},
                "a log that ends with a whole line (remove the last one to use what came before)"));
  }
  return bad_input(mistake("line", shortened(std::string{line}), "one JSON object"));
}

Result<RecordLogReader> RecordLogReader::open(InputFile input) {
  RecordLogReader log{std::move(input)};
  const auto line = log.next_line();
  if (!line) return tl::unexpected(line.error());
  if (!*line) return bad_input(log.mistake("file", "empty", "a record log"));
  const Json json = Json::parse(**line, nullptr, false);
  if (!json.is_object()) return log.broken_line(**line);
  const auto type = json.find("type");
  if (type == json.end() || *type != kHeaderType) {
    return bad_input(log.mistake("type", type == json.end() ? "" : text_of(*type),
                                 fmt::format("{} on the first line", kHeaderType)));
  }
  Reader reader;
  int schema = 0;
  bool is_right = reader.member(json, "schema", schema);
  if (is_right && schema != kRecordLogSchema) {
    is_right = reader.fail(schema,
                           fmt::format("{}, which this version of weir reads", kRecordLogSchema)) ||
               reader.below("schema");
  }
  if (is_right) {
    const Json* const payload = reader.child(json, "payload");
    is_right = payload != nullptr &&
               (take_header(reader, *payload, log.header_) || reader.below("payload"));
  }
  if (!is_right) {
    const Diagnostic& why = reader.mistake();
    return bad_input(log.mistake(why.field, why.found, why.expected));
  }
  return log;
}

Result<std::optional<LogEntry>> RecordLogReader::next() {
  if (is_over_) return std::nullopt;
  const auto line = next_line();
  if (!line || !*line) {
    is_over_ = true;
    if (!line) return tl::unexpected(line.error());
    return std::nullopt;
  }
  auto entry = read_entry(**line);
  if (!entry) is_over_ = true;
  return entry;
}

Result<std::optional<LogEntry>> RecordLogReader::read_entry(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return broken_line(line);
  Reader reader;
  LogEntry entry;
  const auto read = [&] {
    int schema = 0;
    if (!reader.member(json, "schema", schema)) return false;
    if (schema != kRecordLogSchema) {
      return reader.fail(schema,
                         fmt::format("{}, which this version of weir reads", kRecordLogSchema)) ||
             reader.below("schema");
    }
    if (!reader.member(json, "seq", entry.seq)) return false;
    if (last_seq_ && entry.seq != *last_seq_ + 1) {
      return reader.fail(entry.seq,
                         fmt::format("{}, as records follow each other", *last_seq_ + 1)) ||
             reader.below("seq");
    }
    std::string type;
    if (!reader.member(json, "time", entry.record.at) || !reader.member(json, "type", type)) {
      return false;
    }
    const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                    [&](const RecordType& each) { return each.name == type; });
    if (known == kTypes.end()) {
      return reader.fail_text(shortened(type),
                              "a type of record that this version of weir knows") ||
             reader.below("type");
    }
    if (!reader.member(json, "reason", entry.record.reason)) return false;
    const Json* const payload = reader.child(json, "payload");
    if (payload == nullptr) return false;
    if (!known->take(reader, *payload, entry.record.what)) return reader.below("payload");
    return reader.member(json, "build", entry.build) && reader.is_object(json, 7);
  };
  if (!read()) {
    const Diagnostic& why = reader.mistake();
    return bad_input(mistake(why.field.empty() ? "record" : why.field, why.found, why.expected));
  }
  last_seq_ = entry.seq;
  return entry;
}

}  // namespace weir::formats
