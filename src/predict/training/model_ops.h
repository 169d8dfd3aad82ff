// SPDX-License-Identifier: Apache-2.0
//
// A model as a list of operators. A profile has one row for each kind of operator; the model repeats
// the rows of a layer. Units are the pieces that repeat: a layer, a block, what comes before and after.
#pragma once

#include <string>
#include <vector>

#include "domain/op_profile.h"
#include "domain/result.h"
#include "predict/training/op_traits.h"

namespace weir::predict {

// No unit is longer: a search keeps what it decides about the operators of a unit in a few words. T5's decoder layer has as many.
inline constexpr int kMostUnitOps = 21;

struct ModelUnit {
  int first = 0;  // its first operator
  int size = 0;
  int kind = 0;  // units of one kind consist of the same rows
};

struct ModelOps {
  ModelFamily family = ModelFamily::gpt;
  int layers = 0;                // 0 where the profile lists every operator itself
  std::vector<int> rows;         // by operator: its row in the profile
  std::vector<OpTraits> traits;  // by row
  std::vector<ModelUnit> units;
  std::vector<int> unit_of;  // by operator
  int size() const { return static_cast<int>(rows.size()); }
  const OpTraits& traits_of(int op) const {
    return traits[static_cast<std::size_t>(rows[static_cast<std::size_t>(op)])];
  }
};

// Which profile holds the rows of a model's size, and how many layers the size has: t5 22B is the 11B's
// rows with twice the layers. 0 layers: unknown, or every operator is listed.
struct KnownSize {
  std::string profile;
  int layers = 0;
};
KnownSize known_size(const std::string& model, const std::string& size);

// `layers` 0 means as many as the size has. Bad input for an unknown model or operator, and when the
// number of layers is not known.
Result<ModelOps> model_ops(const OpProfile& profile, int layers);

// The microbatch sizes the Aceso artifact tried for the family.
std::vector<int> published_microbatches(ModelFamily family);

}  // namespace weir::predict
