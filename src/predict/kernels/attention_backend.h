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
  std::int64_t most_head = 0;   // 0: any
  std::int64_t whole_head = 1;  // what heads have to be a multiple of; PyTorch pads the others
};
inline constexpr std::array<AttentionBackend, 3> kAttentionBackends{
    {{"cudnn", 128, 8}, {"flash", 256}, {"efficient", 0}}};

constexpr bool computes_head(const AttentionBackend& backend, std::int64_t head) {
  return head % backend.whole_head == 0 && (backend.most_head == 0 || head <= backend.most_head);
}

// `pass` is "fwd" or "bwd".
inline KernelCall usual_attention(std::string_view pass, KernelSizes sizes) {
  const std::int64_t head = sizes[attention_size::d];
  std::size_t at = 0;
  while (!computes_head(kAttentionBackends[at], head)) ++at;  // the last one computes any
  // It takes no grouped heads: they are copied.
  if (kAttentionBackends[at].name == "efficient")
    sizes[attention_size::kv_heads] = sizes[attention_size::heads];
  return {KernelFamily::attention, "sdpa", "bf16",
          std::string{pass} + '/' + std::string{kAttentionBackends[at].name}, sizes};
}

}  // namespace weir::predict
