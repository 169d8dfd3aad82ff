// SPDX-License-Identifier: Apache-2.0
#include "plan/training/cell_bound.h"

#include <algorithm>

#include "plan/training/container_index.h"

namespace weir::plan {

CellBound::CellBound(StageOption& option, const std::vector<int>& borders)
    : option_{option}, borders_{borders} {
  const int ops = borders.back();
  const auto cells = static_cast<int>(borders.size());
  for (const bool crosses : {false, true}) {
    for (int cell = 0; cell < cells; ++cell) {
      // A cut in this cell lies before one of these operators.
      const int begin = borders[at(cell)];
      const int end = cell + 1 < cells && cell > 0 ? borders[at(cell + 1)] : begin + 1;
      double receive = kImpossible;
      double send = kImpossible;
      for (int op = begin; op < end; ++op) {
        if (op < ops) receive = std::min(receive, option.receive_us(op, crosses));
        if (op > 0) send = std::min(send, option.send_us(op - 1, crosses));
      }
      receive_[crosses ? 1 : 0].push_back(receive);
      send_[crosses ? 1 : 0].push_back(send);
    }
  }
}

int CellBound::first_op(int cell) const {
  const bool is_exact = cell == 0 || borders_[at(cell)] + 1 == borders_[at(cell + 1)];
  return borders_[at(is_exact ? cell : cell + 1)];
}

double CellBound::work_us(int first, int end) const {
  const int begin = first_op(first);
  return begin < end_op(end) ? option_.work_us(begin, end_op(end)) : 0;
}

StageBase CellBound::base(int first, int end, predict::StagePlace place) const {
  const int begin = first_op(first);
  StageBase base;
  if (begin < end_op(end)) base = option_.base(begin, end_op(end), place);
  base.links = receive_[place.input_crosses ? 1 : 0][at(first)] +
               send_[place.output_crosses ? 1 : 0][at(end)];
  return base;
}

double CellBound::least_recompute_us(int first, int end, int stages_behind) {
  const int begin = first_op(first);
  return begin < end_op(end) ? option_.least_recompute_us(begin, end_op(end), stages_behind) : 0;
}

}  // namespace weir::plan
