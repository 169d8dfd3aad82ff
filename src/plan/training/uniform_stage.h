// SPDX-License-Identifier: Apache-2.0
//
// A stage whose operators are all spread alike: one tensor and data degree, one dimension. Sums over operators are
// kept for every prefix, so a stage costs the same to look at whatever its length.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "plan/training/own_recompute.h"
#include "plan/training/range_maximum.h"
#include "plan/training/stage_option.h"
#include "plan/training/unit_masks.h"

namespace weir::plan {

struct StageLayout {
  int tp = 1;
  int dp = 1;
  int dim = 0;
  friend auto operator<=>(const StageLayout&, const StageLayout&) = default;
};

class UniformStage final : public StageOption {
 public:
  // Requires: the layout was measured at this microbatch.
  UniformStage(const predict::IterationCosts& costs, StageLayout layout, int microbatch,
               double limit_mib, RecomputeRule rule);

  int gpus() const override { return layout_.tp * layout_.dp; }
  const StageLayout& layout() const { return layout_; }
  double work_us(int first, int end) const override;
  StageBase base(int first, int end, predict::StagePlace place) const override;
  double receive_us(int op, bool crosses) const override {
    return receive_[crosses ? 1 : 0][static_cast<std::size_t>(op)];
  }
  double send_us(int op, bool crosses) const override {
    return send_[crosses ? 1 : 0][static_cast<std::size_t>(op)];
  }
  double recompute_us(int first, int end, int stages_behind) override;
  double least_recompute_us(int first, int end, int stages_behind) override;
  PlanStage stage(int first, int end, int stages_behind) override;

  // By how much the stage is over the limit when nothing is computed again.
  double missing_mib(int first, int end, int stages_behind) const;

 private:
  using Memo = boost::unordered_flat_map<std::uint64_t, double>;
  std::uint64_t key(int first, int end, int stages_behind) const;
  double choose_us(int first, int end, int stages_behind, double missing);

  const predict::IterationCosts& costs_;
  StageLayout layout_;
  double limit_mib_;
  RecomputeRule rule_;
  const OpMeasure* rows_;
  std::vector<double> busy_;  // sums over the operators before
  std::vector<double> reshard_;
  std::vector<double> weights_;
  std::vector<double> kept_;
  std::vector<double> embedding_;
  RangeMaximum reserved_forward_;
  RangeMaximum reserved_backward_;
  std::vector<double> receive_[2];  // by operator: crossing nodes or not
  std::vector<double> send_[2];
  std::vector<int> canonical_;   // by operator: its twin in the first unit that repeats
  std::vector<int> repeat_end_;  // by operator: where its run of equal units ends
  OwnRecompute own_;
  Memo chosen_;
  Memo least_;
};

}  // namespace weir::plan
