// SPDX-License-Identifier: Apache-2.0
//
// Public results that the analytic model is held against, with the set-ups they were measured with.
#pragma once

#include <string>
#include <vector>

#include "predict/transformer/transformer_time.h"

namespace weir::predict {

inline TransformerModel gpt_like(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                                 std::int64_t vocab = 51'200) {
  return {"gpt", layers, hidden, heads, heads, hidden / heads, 4 * hidden, false, vocab, true};
}

inline TransformerModel llama_like(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                                   std::int64_t kv_heads, std::int64_t ffn, std::int64_t vocab) {
  return {"llama", layers, hidden, heads, kv_heads, hidden / heads, ffn, true, vocab, false};
}

inline TransformerModel llama2_7b(std::int64_t kv_heads = 32) {
  return llama_like(32, 4096, 32, kv_heads, 11'008, 32'000);
}

// InternLM's 7B and 20B: MLP 8/3 of the width, rounded up to 256.
inline TransformerModel internlm_7b() {
  return llama_like(32, 4096, 32, 32, 11'008, 103'168);
}
inline TransformerModel internlm_20b() {
  return llama_like(60, 5120, 40, 40, 13'824, 103'168);
}

inline TransformerTask task_on(const char* gpu, TransformerModel model, std::int64_t sequence,
                               std::int64_t batch, RuntimeTraits runtime = modern_runtime()) {
  const GpuType& type = *find_gpu_type(gpu);
  return {std::move(model), sequence, batch, type, usual_fabric(type, 8), runtime};
}

// InternEvo's cluster: four cards of 100 Gb/s in a node.
inline TransformerTask internevo_task(TransformerModel model, std::int64_t batch) {
  TransformerTask task = task_on("A100-80G", std::move(model), 2048, batch, internevo_2023());
  task.fabric.nic_bytes_s /= 2;
  task.fabric.nics = 4;
  return task;
}

}  // namespace weir::predict
