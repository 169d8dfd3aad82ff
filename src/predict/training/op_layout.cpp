// SPDX-License-Identifier: Apache-2.0
#include "predict/training/op_layout.h"

#include <array>

namespace weir::predict {

namespace {

struct Layout {
  int copies = 1;
  std::array<int, 3> parts{1, 1, 1};
};

Layout layout_of(Spread spread, OpDegrees degrees) {
  switch (spread) {
    case Spread::copies_in_middle:
      return {degrees.tp, {1, degrees.dp, 1}};
    case Spread::copies_in_front:
      return {degrees.tp, {degrees.dp, 1, 1}};
    case Spread::split_hidden:
      return {1, {1, degrees.dp, degrees.tp}};
    case Spread::split_heads:
      return {1, {degrees.dp, degrees.tp, 1}};
    case Spread::any:
      break;
  }
  return {};
}

}  // namespace

Resharding resharding(Spread from, OpDegrees before, Spread to, OpDegrees after) {
  if (from == Spread::any || to == Spread::any) return {};
  const Layout have = layout_of(from, before);
  const Layout want = layout_of(to, after);
  if (have.copies > want.copies) {  // a copy keeps its part; the gradients are gathered
    return {std::nullopt, Collective::all_gather, have.copies / want.copies};
  }
  for (std::size_t dim = 0; dim < have.parts.size(); ++dim) {
    if (have.parts[dim] <= want.parts[dim]) continue;
    const int gpus = have.parts[dim] / want.parts[dim];
    if (have.copies < want.copies) return {Collective::all_gather, std::nullopt, gpus};
    return {Collective::all_to_all, Collective::all_to_all, gpus};
  }
  return {};
}

}  // namespace weir::predict
