// SPDX-License-Identifier: Apache-2.0
//
// Checks that a job's model and batch have a curve, and says what to write instead when not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "domain/curve.h"

namespace weir::formats {

class KnownCurves {
 public:
  // Requires: `book` outlives it.
  explicit KnownCurves(const CurveBook& book);

  bool has_model(const std::string& model) const;
  const Curve* find(const CurveKey& key) const { return book_.find(key); }

  // For a Diagnostic's `expected`.
  std::string instead_of_model(std::string_view wrong) const;
  std::string instead_of_batch(const std::string& model) const;

 private:
  const CurveBook& book_;
  std::vector<std::string> models_;  // sorted, each once
};

}  // namespace weir::formats
