// SPDX-License-Identifier: Apache-2.0
//
// How fast a training job runs on 1, 2, 4, ... GPUs of one kind: the whole job's iterations per
// second at a fixed global batch. Measured curves are neither concave nor monotone, so a scheduler
// uses only the sizes at which more GPUs really are faster.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "domain/work.h"

namespace weir {

struct CurvePoint {
  std::int32_t gpus = 0;
  IterationRate rate;
  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

// Where a curve comes from, the most trustworthy first.
enum class CurveOrigin : std::uint8_t { measured, profiled, planned, assumed };

class Curve {
 public:
  Curve() = default;
  // Points in any order; those without a positive rate or size are left out (not measured, or not
  // possible), and of two for the same size the faster counts.
  explicit Curve(std::vector<CurvePoint> measured, CurveOrigin origin = CurveOrigin::profiled);

  // Every measured size, ascending; also those past the knee.
  std::span<const CurvePoint> measured() const { return measured_; }
  // The measured powers of two at which the job is faster than at every smaller one: what a
  // scheduler gives. The first is the least size the job fits on, the last is the knee.
  std::span<const CurvePoint> useful() const { return useful_; }
  CurveOrigin origin() const { return origin_; }

  // Zero for a size that was not measured.
  IterationRate rate_at(std::int32_t gpus) const;
  bool empty() const { return useful_.empty(); }

  friend bool operator==(const Curve&, const Curve&) = default;

 private:
  std::vector<CurvePoint> measured_;
  std::vector<CurvePoint> useful_;
  CurveOrigin origin_ = CurveOrigin::profiled;
};

// What a curve belongs to, beside the kind of GPU.
struct CurveKey {
  std::string model;
  std::int64_t global_batch = 0;
  friend auto operator<=>(const CurveKey&, const CurveKey&) = default;
};

// The curves on one kind of GPU.
struct CurveBook {
  std::string gpu;  // "T4"; empty when not known
  std::map<CurveKey, Curve> curves;

  const Curve* find(const CurveKey& key) const;
  friend bool operator==(const CurveBook&, const CurveBook&) = default;
};

}  // namespace weir
