// SPDX-License-Identifier: Apache-2.0
//
// Reads values of a log, as log_fields.h describes them. Tolerant of nothing: a member that is
// missing, unknown or there twice, a value of another type or out of range is a mistake. The first
// one is kept, with the path to it.
#pragma once

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "domain/diagnostics.h"
#include "formats/json_cursor.h"
#include "formats/json_string.h"
#include "formats/log_fields.h"
#include "formats/log_values.h"

namespace weir::formats::log {

class Reader {
 public:
  // Requires: the text outlives the reader.
  explicit Reader(std::string_view text) : text_{text}, json_{text} {}

  // The whole text is that value.
  template <class T>
  bool take_all(T& value) {
    if (!take(value)) return false;
    return json_.at_end() || not_json();
  }
  const Diagnostic& mistake() const { return mistake_; }
  // The mistake was inside of that.
  bool below(std::string_view name);

  template <std::integral Number>
  bool take(Number& number) {
    using Limits = std::numeric_limits<Number>;
    if (json_.kind() != JsonKind::number) return fail(integer_from(Limits::min(), Limits::max()));
    std::string_view digits;
    if (!json_.take_number(digits)) return not_json();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size()) return true;
    return fail_text(shortened(digits), integer_from(Limits::min(), Limits::max()));
  }
  bool take(bool& value) { return json_.take_bool(value) || fail("true or false"); }
  bool take(std::string& text) { return json_.take_string(text) || fail("a string"); }
  bool take(Time& time) {
    std::int64_t count = 0;
    if (!take(count)) return false;
    time = Time{Duration{count}};
    return true;
  }
  bool take(Duration& duration) {
    std::int64_t count = 0;
    if (!take(count)) return false;
    duration = Duration{count};
    return true;
  }
  bool take(double& number);
  bool take(Seconds& seconds);
  bool take(Work& work);
  bool take(RawJson& value) { return json_.skip_value(value.text) || not_json(); }
  bool take(SchemaNumber&);
  bool take(GpuMask& mask) { return take(mask.bits); }
  bool take(GpuModelId& model) { return take(model.value); }
  bool take(GpuModelSet& models);
  template <class Tag, class Rep>
  bool take(Id<Tag, Rep>& id) {
    return take(id.value);
  }
  template <class Tag, class Rep>
  bool take(Quantity<Tag, Rep>& quantity) {
    return take(quantity.value);
  }
  template <HasNames Enum>
  bool take(Enum& value) {
    std::string_view text;
    if (!json_.take_string_view(text)) return fail("a name that this version of weir knows");
    const auto known = named<Enum>(text);
    if (!known) return fail_text(shortened(text), "a name that this version of weir knows");
    value = *known;
    return true;
  }
  template <class T>
  bool take(std::optional<T>& value) {
    if (json_.kind() == JsonKind::null && json_.take_null()) {
      value.reset();
      return true;
    }
    return take(value.emplace());
  }
  template <class T>
  bool take(std::shared_ptr<const T>& value) {
    auto made = std::make_shared<T>();
    if (!take(*made)) return false;
    value = std::move(made);
    return true;
  }
  bool take(TimelineStep& step) {
    return row("[from, first GPU, size]", step.from, step.block.first, step.block.size);
  }
  bool take(CurvePoint& point);
  bool take(Curve& curve);
  bool take(PowerPoint& point);
  bool take(SupplySeries& series);
  bool take(PlacementList& placements);
  template <class T>
  bool take(std::vector<T>& values) {
    if (!json_.enter_array()) return fail("a list in [ ]");
    values.clear();
    while (json_.next_element()) {
      if (!take(values.emplace_back())) return below(fmt::format("[{}]", values.size() - 1));
    }
    return !json_.is_broken() || not_json();
  }
  template <class T>
  bool take(std::map<std::string, T>& values) {
    if (!json_.enter_object()) return fail("an object in { }");
    values.clear();
    while (json_.next_key()) {
      const auto [at, is_new] = values.try_emplace(std::string{json_.key()});
      if (!is_new) return twice(at->first);
      if (!take(at->second)) return below(at->first);
    }
    return !json_.is_broken() || not_json();
  }
  template <HasFields T>
  bool take(T& value) {
    constexpr auto kCount = std::tuple_size_v<std::remove_const_t<decltype(kFields<T>)>>;
    if (!json_.enter_object()) return fail("an object in { }");
    std::array<bool, kCount> seen{};
    std::size_t expected = 0;  // nearly always they come in order
    while (json_.next_key()) {
      const std::size_t which = index_of<T>(json_.key(), expected);
      if (which == kCount) return unknown();
      if (seen[which]) return twice(std::string{json_.key()});
      seen[which] = true;
      expected = which + 1;
      if (!take_member(value, which)) return false;
    }
    if (json_.is_broken()) return not_json();
    return nothing_is_missing<T>(seen);
  }

 private:
  template <class T>
  static std::size_t index_of(std::string_view key, std::size_t expected) {
    return std::apply(
        [&](const auto&... fields) {
          std::size_t found = sizeof...(fields);
          std::size_t i = 0;
          [[maybe_unused]] const auto look = [&](const auto& field) {
            if (i >= expected && field.name == key) found = i;
            ++i;
            return found < sizeof...(fields);
          };
          static_cast<void>((... || look(fields)));
          if (found < sizeof...(fields) || expected == 0) return found;
          return index_of<T>(key, 0);
        },
        kFields<T>);
  }
  template <HasFields T>
  bool take_member(T& value, std::size_t which) {
    return std::apply(
        [&](const auto&... fields) {
          std::size_t i = 0;
          bool is_right = true;
          [[maybe_unused]] const auto member = [&](const auto& field) {
            if (i++ != which) return false;
            is_right = take(value.*field.member) || below(field.name);
            return true;
          };
          static_cast<void>((... || member(fields)));
          return is_right;
        },
        kFields<T>);
  }
  template <class T, std::size_t Count>
  bool nothing_is_missing(const std::array<bool, Count>& seen) {
    return std::apply(
        [&](const auto&... fields) {
          std::size_t i = 0;
          [[maybe_unused]] const auto is_there = [&](const auto& field) {
            return seen[i++] || field.may_be_absent || missing(field.name);
          };
          return (... && is_there(fields));
        },
        kFields<T>);
  }
  template <class... Values>
  bool row(std::string_view what, Values&... values) {
    const JsonCursor::Mark begin = json_.mark();
    if (!json_.enter_array()) return fail(std::string{what});
    std::size_t at = 0;
    bool is_long_enough = true;
    const auto cell = [&](auto& value) {
      is_long_enough = json_.next_element();
      if (!is_long_enough) return false;
      if (!take(value)) return below(fmt::format("[{}]", at));
      ++at;
      return true;
    };
    const bool has_all = (... && cell(values));
    if (!has_all && is_long_enough) return false;
    if (has_all && !json_.next_element() && !json_.is_broken()) return true;
    json_.rewind(begin);
    return fail(std::string{what});
  }

  template <std::integral Number>
  static std::string integer_from(Number least, Number most) {
    return fmt::format("an integer from {} to {}", least, most);
  }
  // The next value is not what was expected.
  bool fail(std::string expected);
  bool fail_text(std::string found, std::string expected);
  bool not_json();
  bool unknown();
  bool twice(std::string name);
  bool missing(std::string_view name);

  std::string_view text_;
  JsonCursor json_;
  Diagnostic mistake_;
};

}  // namespace weir::formats::log
