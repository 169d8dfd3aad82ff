// SPDX-License-Identifier: Apache-2.0
#include "worker/batch_plan.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "domain/whole_numbers.h"

namespace weir::worker {
namespace {

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// What is wrong is noted; the caller then does not use the number.
std::int64_t variable(const char* name, std::int64_t alone, Diagnostics& wrong) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return alone;
  const auto number = number_in(text);
  if (!number) wrong.add({.field = name, .found = text, .expected = "a number"});
  return number.value_or(alone);
}

void check_at_least(std::int64_t least, const char* field, std::int64_t found, Diagnostics& wrong) {
  if (found >= least) return;
  wrong.add({.field = field,
             .found = std::to_string(found),
             .expected = std::to_string(least) + " or more"});
}

void check_place(Place place, Diagnostics& wrong) {
  check_at_least(1, "world_size", place.world_size, wrong);
  check_at_least(0, "rank", place.rank, wrong);
  if (place.world_size >= 1 && place.rank >= place.world_size)
    wrong.add({.field = "rank",
               .found = std::to_string(place.rank),
               .expected = "less than the world size, " + std::to_string(place.world_size)});
}

}  // namespace

Result<Place> place_from_environment() {
  Diagnostics wrong;
  const Place place{variable("WORLD_SIZE", 1, wrong), variable("RANK", 0, wrong)};
  if (wrong.empty()) check_place(place, wrong);
  if (!wrong.empty()) return bad_input(wrong);
  return place;
}

Result<BatchPlan> BatchPlan::make(std::int64_t global_batch, Place place, std::int64_t most_local) {
  Diagnostics wrong;
  check_at_least(1, "global_batch", global_batch, wrong);
  check_at_least(0, "most_local", most_local, wrong);
  check_place(place, wrong);
  if (!wrong.empty()) return bad_input(wrong);
  return BatchPlan{global_batch, place, most_local};
}

std::int64_t BatchPlan::first() const {
  const std::int64_t each = global_batch_ / place_.world_size;
  return place_.rank * each + std::min(place_.rank, global_batch_ % place_.world_size);
}

std::int64_t BatchPlan::samples() const {
  const bool has_one_more = place_.rank < global_batch_ % place_.world_size;
  return global_batch_ / place_.world_size + (has_one_more ? 1 : 0);
}

std::int64_t BatchPlan::most_samples() const {
  return divide_up(global_batch_, place_.world_size);
}

std::int64_t BatchPlan::passes() const {
  return most_local_ == kAllFit ? 1 : divide_up(most_samples(), most_local_);
}

std::vector<std::int64_t> BatchPlan::micro_batches() const {
  const std::int64_t count = std::min(passes(), samples());
  if (count == 0) return {};
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(count), samples() / count);
  std::for_each_n(sizes.begin(), samples() % count, [](std::int64_t& size) { ++size; });
  return sizes;
}

double BatchPlan::weight_of(std::int64_t micro_batch) const {
  return static_cast<double>(micro_batch) / static_cast<double>(global_batch_);
}

double BatchPlan::imbalance() const {
  const auto whole = static_cast<double>(global_batch_);
  return static_cast<double>(most_samples() * place_.world_size) / whole - 1.0;
}

BatchPlan BatchPlan::of(std::int64_t global_batch) const {
  assert(global_batch >= 1 && "a batch has a sample");
  return BatchPlan{global_batch, place_, most_local_};
}

}  // namespace weir::worker
