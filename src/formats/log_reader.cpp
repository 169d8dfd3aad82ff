// SPDX-License-Identifier: Apache-2.0
#include "formats/log_reader.h"

#include "formats/record_log.h"

namespace weir::formats::log {

bool Reader::take(double& number) {
  constexpr std::string_view kExpected = "a number";
  std::string_view digits;
  if (!json_.take_number(digits)) return fail(std::string{kExpected});
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc{} && end == digits.data() + digits.size()) return true;
  return fail_text(shortened(digits), std::string{kExpected});
}

bool Reader::take(Seconds& seconds) {
  constexpr std::string_view kExpected = "seconds from 0 up";
  std::string_view number;
  if (!json_.take_number(number)) return fail(std::string{kExpected});
  const auto read = seconds_of(number);
  if (!read) return fail_text(shortened(number), std::string{kExpected});
  seconds = *read;
  return true;
}

bool Reader::take(Work& work) {
  constexpr std::string_view kExpected = "an integer of up to 127 bits, in quotes";
  std::string_view text;
  if (!json_.take_string_view(text)) return fail(std::string{kExpected});
  const auto read = wide_integer_of(text);
  if (!read) return fail_text(shortened(text), std::string{kExpected});
  work.femto_iterations = *read;
  return true;
}

bool Reader::take(SchemaNumber&) {
  int number = 0;
  if (!take(number)) return false;
  if (number == kRecordLogSchema) return true;
  return fail_text(fmt::to_string(number),
                   fmt::format("{}, which this version of weir reads", kRecordLogSchema));
}

bool Reader::take(GpuModelSet& models) {
  std::uint64_t bits = 0;
  if (!take(bits)) return false;
  models = {};
  for (std::uint8_t id = 0; id < kMaxGpuModels; ++id) {
    if (((bits >> id) & 1U) != 0) models.insert(GpuModelId{id});
  }
  return true;
}

bool Reader::take(CurvePoint& point) {
  const JsonCursor::Mark begin = json_.mark();
  if (!row("[GPUs, micro-iterations per second]", point.gpus, point.rate)) return false;
  if (point.gpus >= 1 && point.rate.value >= 1) return true;
  json_.rewind(begin);
  return fail("two numbers from 1 up");
}

bool Reader::take(Curve& curve) {
  CurveParts parts;
  if (!take(parts)) return false;
  curve = Curve{std::move(parts.points), parts.origin};
  return true;
}

bool Reader::take(PowerPoint& point) {
  const JsonCursor::Mark begin = json_.mark();
  if (!row("[GPUs, permille of the clock, micro-iterations per second, milliwatts]", point.gpus,
           point.clock_permille, point.rate, point.milliwatts))
    return false;
  if (point.gpus >= 1 && point.clock_permille >= 1 && point.rate.value >= 1 &&
      point.milliwatts >= 0)
    return true;
  json_.rewind(begin);
  return fail("three numbers from 1 up, and milliwatts");
}

bool Reader::take(SupplySeries& series) {
  const JsonCursor::Mark begin = json_.mark();
  SupplyParts parts;
  if (!take(parts)) return false;
  const bool is_sound =
      is_sound_series(parts.begin, parts.step, std::span<const double>{parts.values});
  if (is_sound) {
    series = SupplySeries{parts.begin, parts.step, std::move(parts.values)};
    return true;
  }
  json_.rewind(begin);
  return fail("values that are not negative, in steps of more than no time");
}

bool Reader::take(PlacementList& placements) {
  std::vector<Placement> all;
  if (!take(all)) return false;
  placements = PlacementList{std::move(all)};
  return true;
}

bool Reader::below(std::string_view name) {
  if (json_.is_broken()) return false;
  const bool needs_dot = !mistake_.field.empty() && !mistake_.field.starts_with('[');
  mistake_.field = fmt::format("{}{}{}", name, needs_dot ? "." : "", mistake_.field);
  return false;
}

bool Reader::fail(std::string expected) {
  const bool is_string = json_.kind() == JsonKind::string;
  std::string_view found;
  const bool is_json = is_string ? json_.take_string_view(found) : json_.skip_value(found);
  if (!is_json) return not_json();
  return fail_text(shortened(found), std::move(expected));
}

bool Reader::fail_text(std::string found, std::string expected) {
  mistake_.field.clear();
  mistake_.found = std::move(found);
  mistake_.expected = std::move(expected);
  return false;
}

bool Reader::not_json() {
  mistake_.field = "line";
  mistake_.found = shortened(text_);
  mistake_.expected = "one JSON object";
  // What is no object at all has no byte to mend.
  if (json_.is_broken() && text_.starts_with('{')) {
    mistake_.expected += fmt::format(" (byte {} should be {})", json_.offset() + 1, json_.why());
  }
  return false;
}

bool Reader::unknown() {
  const std::string name{json_.key()};
  return fail(fmt::format("nothing: schema {} has no such member", kRecordLogSchema)) ||
         below(shortened(name));
}

bool Reader::twice(std::string name) {
  return fail("it once") || below(shortened(name));
}

bool Reader::missing(std::string_view name) {
  return fail_text("", "a value") || below(name);
}

}  // namespace weir::formats::log
