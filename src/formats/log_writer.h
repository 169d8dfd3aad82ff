// SPDX-License-Identifier: Apache-2.0
//
// Writes values of a log, as log_fields.h describes them, to the end of a string.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "formats/json_string.h"
#include "formats/log_fields.h"
#include "formats/log_values.h"

namespace weir::formats::log {

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
  // The shortest text that reads back equal.
  void put(double number) { fmt::format_to(std::back_inserter(line_), "{}", number); }
  void put(std::string_view text) { append_json_string(line_, text); }
  void put(const std::string& text) { put(std::string_view{text}); }
  void put(Time time) { put(time.time_since_epoch().count()); }
  void put(Duration duration) { put(duration.count()); }
  void put(Seconds seconds) { raw(to_text(seconds)); }
  void put(Work work) {
    fmt::format_to(std::back_inserter(line_), "\"{}\"", work.femto_iterations);
  }
  void put(GpuMask mask) { put(mask.bits); }
  void put(GpuModelId model) { put(model.value); }
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
  void put(const PowerPoint& point) {
    row(point.gpus, point.clock_permille, point.rate, point.milliwatts);
  }
  void put(const SupplySeries& series) {
    put(SupplyParts{series.begin(), series.step(), series.values()});
  }
  void put(const PlacementList& placements) { list(placements.all()); }
  template <class T>
  void put(const std::vector<T>& values) {
    list(std::span{values});
  }
  template <class T>
  void put(const std::map<std::string, T>& values) {
    raw("{");
    bool is_first = true;
    for (const auto& [name, value] : values) {
      if (!is_first) raw(",");
      is_first = false;
      put(name);
      raw(":");
      put(value);
    }
    raw("}");
  }
  template <HasFields T>
  void put(const T& value) {
    raw("{");
    bool is_first = true;
    const auto member = [&](const auto& field) {
      if (field.may_be_absent && is_empty(value.*field.member)) return;
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
  static bool is_empty(const T& value) {
    if constexpr (requires { value.empty(); }) return value.empty();
    if constexpr (std::is_integral_v<T>) return value == T{};
    if constexpr (std::is_same_v<T, Duration>) return value == Duration{0};
    return false;
  }
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

}  // namespace weir::formats::log
