// SPDX-License-Identifier: Apache-2.0
//
// Which fused kernels of attention PyTorch takes on a Hopper GPU: the first that computes heads of that size.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "domain/kernel_call.h"

namespace weir::predict {

struct AttentionBackend {
  std::string_view name;
  std::int64_t most_head = 0;  // 0: any
};
inline constexpr std::array<AttentionBackend, 3> kAttentionBackends{
    {{"cudnn", 128}, {"flash", 256}, {"efficient", 0}}};

// `pass` is "fwd" or "bwd".
inline KernelCall usual_attention(std::string_view pass, KernelSizes sizes) {
  const std::int64_t head = sizes[attention_size::d];
  std::size_t at = 0;
  while (kAttentionBackends[at].most_head != 0 && head > kAttentionBackends[at].most_head) ++at;
  // It takes no grouped heads: they are copied.
  if (kAttentionBackends[at].name == "efficient")
    sizes[attention_size::kv_heads] = sizes[attention_size::heads];
  return {KernelFamily::attention, "sdpa", "bf16",
          std::string{pass} + '/' + std::string{kAttentionBackends[at].name}, sizes};
}

}  // namespace weir::predict
