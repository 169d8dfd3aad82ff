// SPDX-License-Identifier: Apache-2.0
//
// For lower bounds on long lists of operators: cuts are known only up to the cell they fall in. A stage then holds at
// least the operators between the cells of its two cuts, and uses at least the cheapest links of those cells, so what it costs here is never
// more than what it costs. With one operator per cell nothing is lost.
#pragma once

#include <vector>

#include "plan/training/stage_option.h"

namespace weir::plan {

class CellBound final : public StageOption {
 public:
  // `borders`: first operators of the cells, ascending from 0, and the end of the model. Stages of this option are
  // given in cells: from cell `first` to cell `end`, cell 0 and the last one standing for the model's two ends.
  CellBound(StageOption& option, const std::vector<int>& borders);

  int gpus() const override { return option_.gpus(); }
  double work_us(int first, int end) const override;
  StageBase base(int first, int end, predict::StagePlace place) const override;
  double receive_us(int cell, bool crosses) const override {
    return receive_[crosses ? 1 : 0][static_cast<std::size_t>(cell)];
  }
  double send_us(int cell, bool crosses) const override {
    return send_[crosses ? 1 : 0][static_cast<std::size_t>(cell)];
  }
  double recompute_us(int first, int end, int stages_behind) override {
    return least_recompute_us(first, end, stages_behind);
  }
  double least_recompute_us(int first, int end, int stages_behind) override;
  PlanStage stage(int, int, int) override { return {}; }

 private:
  // The operators the stage holds for certain; may be none.
  int first_op(int cell) const;
  int end_op(int cell) const { return borders_[static_cast<std::size_t>(cell)]; }

  StageOption& option_;
  const std::vector<int>& borders_;
  std::vector<double> receive_[2];  // by cell
  std::vector<double> send_[2];
};

}  // namespace weir::plan
