// SPDX-License-Identifier: Apache-2.0
//
// What is known of an operator by its name: where a block of the model begins, what is never computed
// again, how much of its measured activation really stays, and how its input and output lie on the
// GPUs of a stage. One table per model family.
#pragma once

#include <optional>
#include <string_view>

namespace weir::predict {

enum class ModelFamily { gpt, t5, resnet };

// How a tensor lies on the tp x dp GPUs of a stage.
enum class Spread : unsigned char {
  any,               // nothing is asked
  copies_in_middle,  // tp copies, batch split along the middle dimension
  copies_in_front,   // tp copies, batch split along the first dimension
  split_hidden,      // batch in the middle, tp along the last dimension
  split_heads,       // batch in front, tp along the middle one
};

struct OpTraits {
  bool starts_block = false;  // its input is always kept
  bool never_recomputed = false;
  bool leads_no_group = false;   // the derived rule does not begin with it
  double activation_factor = 1;  // of the measured activation: shared and in-place memory
  Spread input[2]{};             // by dim
  Spread output[2]{};
  bool holds_embedding = false;  // the table of words, shared by the first and the last operator
};

std::optional<ModelFamily> model_family(std::string_view model);

// Nothing for an operator the family does not have.
std::optional<OpTraits> op_traits(ModelFamily family, std::string_view op);

}  // namespace weir::predict
