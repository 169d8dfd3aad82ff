// SPDX-License-Identifier: Apache-2.0
//
// The curves that the training fuzz targets read jobs for.
#pragma once

#include "domain/curve.h"

namespace weir::fuzz {

inline const CurveBook& training_curves() {
  static const CurveBook book = [] {
    const Curve curve{{{1, IterationRate{1'000'000}}, {8, IterationRate{1'500'000}}}};
    CurveBook made{"T4", {}};
    made.curves[{"bert", 64}] = curve;
    made.curves[{"bert", 128}] = curve;
    made.curves[{"A3C", 0}] = curve;
    return made;
  }();
  return book;
}

}  // namespace weir::fuzz
