// SPDX-License-Identifier: Apache-2.0
#include "formats/known_curves.h"

#include <fmt/format.h>

#include <algorithm>

#include "domain/nearest_name.h"

namespace weir::formats {

KnownCurves::KnownCurves(const CurveBook& book) : book_{book} {
  for (const auto& [key, curve] : book.curves) {
    if (models_.empty() || models_.back() != key.model) models_.push_back(key.model);
  }
}

bool KnownCurves::has_model(const std::string& model) const {
  return std::binary_search(models_.begin(), models_.end(), model);
}

std::string KnownCurves::instead_of_model(std::string_view wrong) const {
  if (models_.empty()) return "a model with measured throughput, and there is none";
  return fmt::format("a model with measured throughput: {}{}", fmt::join(models_, ", "),
                     did_you_mean(wrong, models_));
}

std::string KnownCurves::instead_of_batch(const std::string& model) const {
  std::vector<std::int64_t> batches;
  for (auto at = book_.curves.lower_bound(CurveKey{model, 0});
       at != book_.curves.end() && at->first.model == model; ++at) {
    batches.push_back(at->first.global_batch);
  }
  return fmt::format("a batch at which {} was measured: {}", model, fmt::join(batches, ", "));
}

}  // namespace weir::formats
