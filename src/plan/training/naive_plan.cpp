// SPDX-License-Identifier: Apache-2.0
#include "plan/training/naive_plan.h"

#include <numeric>

namespace weir::plan {

std::optional<std::vector<int>> doubled_gpus(const DraftBook& book, int stages) {
  const int all = book.costs().cluster().gpus();
  if (stages < 1 || stages > all) return std::nullopt;
  std::vector<int> gpus(static_cast<std::size_t>(stages), 1);
  int used = stages;
  for (std::size_t next = 0; used < all; next = (next + 1) % gpus.size()) {
    used += gpus[next];
    gpus[next] *= 2;
  }
  if (used != all || !book.is_legal(gpus)) return std::nullopt;
  return gpus;
}

std::optional<Draft> naive_draft(const DraftBook& book, const std::vector<int>& gpus) {
  const auto stages = static_cast<int>(gpus.size());
  const int each = book.ops() / stages;
  if (each == 0) return std::nullopt;
  for (int size = 0; size < book.sizes(); ++size) {
    Draft draft{size, {}};
    for (int i = 0; i < stages; ++i) {
      const auto& options = book.options_on(size, gpus[static_cast<std::size_t>(i)]);
      int most_tp = -1;
      for (const int option : options) {
        if (most_tp < 0 || book.layout(size, option).tp > book.layout(size, most_tp).tp) {
          most_tp = option;
        }
      }
      if (most_tp < 0) break;
      draft.stages.push_back({i * each, i + 1 == stages ? book.ops() : (i + 1) * each, most_tp});
    }
    if (draft.count() == stages) return draft;
  }
  return std::nullopt;
}

}  // namespace weir::plan
