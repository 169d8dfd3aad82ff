// SPDX-License-Identifier: Apache-2.0
//
// So many GPUs, in words: "1 GPU", "8 GPUs".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace weir::report {

inline std::string gpus_text(std::int64_t gpus) {
  return fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
}

}  // namespace weir::report
