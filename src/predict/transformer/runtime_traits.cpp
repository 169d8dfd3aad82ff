// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/runtime_traits.h"

namespace weir::predict {
namespace {

// FlashAttention-2 says of itself that it is about twice as fast as the first one, which InternEvo had in 2023.
constexpr double kFirstFlash = 0.5;
// InternEvo in 2023 kept the residual in fp32 (a norm moves 6 instead of 4 bytes, an addition 10 instead of 6) and
// multiplied the gate separately (10 instead of 6): 32 for 20.
constexpr double kUnfused = 1.6;
// Autocast keeps the residual and the norms in fp32, casts what goes into a product and drops out: two norms 16, their
// casts 12, two additions 20, two dropouts 10 for the 20 of fused operators; GeLU 16 for 16: 74 for 36.
constexpr double kAutocast = 74.0 / 36;
// AdamW on fp32 weights and gradients: weight and two moments both ways, the gradient.
constexpr double kPlainAdamBytes = 28;

}  // namespace

RuntimeTraits modern_runtime() {
  return {};
}

RuntimeTraits internevo_2023() {
  return {.has_flash = true,
          .has_broadcast_update = true,
          .reduces_whole = true,
          .attention_rate = kFirstFlash,
          .streaming = kUnfused,
          .logit_bytes = 2,
          .splits_vocabulary = true};
}

RuntimeTraits megatron_2021() {
  return {.has_flash = false, .reduces_whole = true, .hides_gradients = false};
}

RuntimeTraits autocast_runtime() {
  return {.gradient_bytes = 4,
          .streaming = kAutocast,
          .autocasts = true,
          .optimizer_bytes = kPlainAdamBytes};
}

}  // namespace weir::predict
