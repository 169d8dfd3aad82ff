// SPDX-License-Identifier: Apache-2.0
#include "engine/local/run_user.h"

#include <algorithm>
#include <array>

namespace weir::engine {
namespace {

constexpr std::array<std::string_view, 5> kNames{"PATH", "LANG", "LANGUAGE", "TZ",
                                                 "LD_LIBRARY_PATH"};
constexpr std::array<std::string_view, 6> kPrefixes{"LC_",   "CUDA_", "NVIDIA_",
                                                    "NCCL_", "OMP_",  "TORCH_"};

bool is_harmless(std::string_view name) {
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kPrefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::vector<const char*> harmless_variables(const char* const* inherited) {
  std::vector<const char*> kept;
  for (; *inherited != nullptr; ++inherited) {
    const std::string_view entry = *inherited;
    if (is_harmless(entry.substr(0, entry.find('=')))) kept.push_back(*inherited);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace weir::engine
