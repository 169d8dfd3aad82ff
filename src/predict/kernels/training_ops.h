// SPDX-License-Identifier: Apache-2.0
//
// One training iteration as the calls that it makes: forward, backward and the optimizer's step, as PyTorch runs them
// eagerly under bf16 autocast with float32 weights. Layers are added one by one; each adds what its gradient will take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/kernel_call.h"
#include "domain/training_phase.h"

namespace weir::predict {

using weir::TrainingPhase;

struct TrainingOp {
  KernelCall call{};
  TrainingPhase phase = TrainingPhase::forward;
  std::int64_t count = 1;
  // What no times are known for, and this call stands in for: "aten::roll". Empty: it is what it says.
  std::string stands_for{};

  friend bool operator==(const TrainingOp&, const TrainingOp&) = default;
};

struct TrainingOps {
  std::vector<TrainingOp> ops{};  // equal calls of a phase are one entry
  std::int64_t parameters = 0;
  std::int64_t tensors = 0;  // of parameters

  friend bool operator==(const TrainingOps&, const TrainingOps&) = default;
};

// Builds the list. `times` repeats what one layer adds.
class TrainingOpsBuilder {
 public:
  void call(TrainingPhase phase, const KernelCall& call, std::int64_t times = 1,
            std::string stands_for = {});
  // All that is in `ops`, as often as `times` says.
  void append(const TrainingOps& ops, std::int64_t times = 1);
  // Operators on `rows` rows of `columns` numbers.
  void forward_rows(const char* op, const char* dtype, std::int64_t rows, std::int64_t columns,
                    std::int64_t times = 1);
  void backward_rows(const char* op, const char* dtype, std::int64_t rows, std::int64_t columns,
                     std::int64_t times = 1);

  struct Linear {
    std::int64_t rows = 0;  // tokens
    std::int64_t in = 0;
    std::int64_t out = 0;
    bool bias = true;
    bool casts_input = true;  // it comes as float32
    bool has_input_gradient = true;
    bool owns_weight = true;  // false: another layer's, counted there
  };
  void linear(const Linear& layer, std::int64_t times = 1);

  // With dropout, gradient, clearing and the loss over `classes`.
  void cross_entropy(std::int64_t rows, std::int64_t classes);
  void parameters(std::int64_t numbers, std::int64_t tensors, std::int64_t times = 1);

  // The fused step over so many numbers.
  void optimizer_step(std::int64_t numbers, std::int64_t times = 1);

  // Adds the optimizer's step over all parameters.
  TrainingOps finish();
  TrainingOps without_step();

 private:
  TrainingOps ops_;
};

}  // namespace weir::predict
