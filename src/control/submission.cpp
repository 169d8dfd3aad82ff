// SPDX-License-Identifier: Apache-2.0
#include "control/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "formats/time_text.h"

namespace weir::control {
namespace {

constexpr std::int64_t kIterationsPerSecond = 1000;

Diagnostic mistake(std::string field, std::string found, std::string expected) {
  return {"", 0, std::move(field), std::move(found), std::move(expected)};
}

std::int32_t largest_size(const schedule::TrainingState& state) {
  std::uint32_t largest = 1;
  for (const schedule::PoolState& pool : state.pools)
    largest = std::max(largest, pool.pool->largest_block);
  return static_cast<std::int32_t>(largest);
}

void check_size(const formats::JobDocument& document, const schedule::TrainingState& state,
                Diagnostics& mistakes) {
  const std::int32_t largest = largest_size(state);
  const bool is_fixed = !document.is_training || document.is_rigid;
  const auto gpus = static_cast<std::uint32_t>(document.gpus);
  if (is_fixed && (document.gpus > largest || !std::has_single_bit(gpus))) {
    mistakes.add(mistake(
        "gpus", fmt::format("{}", document.gpus),
        fmt::format("a power of two up to {}, the largest block of this cluster", largest)));
  }
  if (!document.throughput || is_fixed) return;
  const auto fits = [&](const CurvePoint& point) { return point.gpus <= largest; };
  const auto useful = document.throughput->useful();
  if (std::none_of(useful.begin(), useful.end(), fits)) {
    mistakes.add(mistake("throughput", "",
                         fmt::format("a rate for {} GPUs or fewer: this cluster "
                                     "has no larger block",
                                     largest)));
  }
}

}  // namespace

CurveKey any_program() {
  return {"any program", 0};
}

Curve any_program_curve() {
  std::vector<CurvePoint> points;
  for (std::int32_t gpus = 1; gpus <= 1 << 16; gpus *= 2)
    points.push_back({gpus, IterationRate{kIterationsPerSecond * 1'000'000}});
  return Curve{std::move(points), CurveOrigin::assumed};
}

Result<TrainingSpec> training_spec(const formats::JobDocument& document,
                                   const schedule::TrainingState& state, Time now,
                                   const LiveClock& clock, std::int32_t margin_permille) {
  Diagnostics mistakes;
  TrainingSpec spec;
  spec.name = document.name;
  spec.tenant = document.tenant;
  spec.priority = document.priority;
  spec.asked_gpus = document.gpus;
  spec.is_rigid = document.is_rigid || !document.is_training;
  // A training job goes on from its checkpoint; of another program nobody knows that it can.
  spec.in_one_piece = !document.is_training;
  if (document.is_training) {
    spec.curve = document.curve;
    spec.iterations = document.iterations;
  } else {
    const Duration duration = document.duration.value_or(kAssumedDuration);
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(duration);
    spec.curve = any_program();
    spec.iterations = std::max<std::int64_t>(1, milliseconds.count());
  }
  check_size(document, state, mistakes);
  if (const auto* in = std::get_if<Duration>(&document.deadline)) {
    spec.deadline_kind = document.kind;
    spec.deadline = now + *in;
  } else if (const auto* at = std::get_if<Time>(&document.deadline)) {
    spec.deadline_kind = document.kind;
    spec.deadline = clock.from_wall(*at);
    if (spec.deadline <= now) {
      mistakes.add(
          mistake("deadline", formats::format_time(*at),
                  fmt::format("a time after now, {}", formats::format_time(clock.to_wall(now)))));
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (document.is_training && spec.deadline_kind != DeadlineKind::none)
    spec.margin = (spec.deadline - now) / 1000 * margin_permille;
  return spec;
}

}  // namespace weir::control
