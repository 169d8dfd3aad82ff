// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/known_networks.h"

#include <functional>
#include <utility>

namespace weir::predict {
namespace {

constexpr std::int64_t kLlamaWords = 32000;

struct NamedNetwork {
  std::string_view name;
  std::function<TrainingOps(std::int64_t)> ops;
};

// Norm before each half, learned positions, words and embeddings share a matrix.
TrainingOps gpt_ops(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                    std::int64_t vocabulary, std::int64_t length, std::int64_t batch) {
  return transformer_ops({.name = "gpt2",
                          .layers = layers,
                          .hidden = hidden,
                          .heads = heads,
                          .kv_heads = heads,
                          .head_dim = hidden / heads,
                          .ffn = 4 * hidden,
                          .is_gated = false,
                          .vocab = vocabulary,
                          .has_tied_embeddings = true},
                         batch, length);
}

// RMS norm, rotary positions, grouped heads, gated inner layer.
TrainingOps llama_ops(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                      std::int64_t kv_heads, std::int64_t inner, std::int64_t length,
                      std::int64_t batch) {
  return transformer_ops({.name = "llama",
                          .layers = layers,
                          .hidden = hidden,
                          .heads = heads,
                          .kv_heads = kv_heads,
                          .head_dim = hidden / heads,
                          .ffn = inner,
                          .is_gated = true,
                          .vocab = kLlamaWords},
                         batch, length);
}

const std::vector<NamedNetwork>& named_networks() {
  static const std::vector<NamedNetwork> kNetworks = {
      {"resnet50",
       [](std::int64_t n) {
         return resnet_ops({{3, 4, 6, 3}, true}, n);
       }},
      {"vgg16",
       [](std::int64_t n) {
         return vgg_ops(
             {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0}, n);
       }},
      {"bert-base",
       [](std::int64_t n) {
         return bert_ops({12, 768, 12, 30522, 512}, n);
       }},
      {"gpt2-medium", [](std::int64_t n) { return gpt_ops(24, 1024, 16, 50257, 1024, n); }},
      {"llama-1b", [](std::int64_t n) { return llama_ops(16, 2048, 32, 8, 8192, 512, n); }},
      {"resnet18",
       [](std::int64_t n) {
         return resnet_ops({{2, 2, 2, 2}, false}, n);
       }},
      {"vgg11",
       [](std::int64_t n) {
         return vgg_ops({64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0}, n);
       }},
      {"bert-mini",
       [](std::int64_t n) {
         return bert_ops({5, 512, 8, 30522, 256}, n);
       }},
      {"gpt-mini", [](std::int64_t n) { return gpt_ops(6, 640, 10, 32000, 512, n); }},
      {"llama-mini", [](std::int64_t n) { return llama_ops(5, 1024, 16, 4, 2816, 256, n); }},
      {"resnet34",
       [](std::int64_t n) {
         return resnet_ops({{3, 4, 6, 3}, false}, n);
       }},
      {"resnet101",
       [](std::int64_t n) {
         return resnet_ops({{3, 4, 23, 3}, true}, n);
       }},
      {"vgg19",
       [](std::int64_t n) {
         return vgg_ops({64,  64,  0,   128, 128, 0,   256, 256, 256, 256, 0,
                         512, 512, 512, 512, 0,   512, 512, 512, 512, 0},
                        n);
       }},
      {"bert-deep",
       [](std::int64_t n) {
         return bert_ops({24, 256, 4, 30522, 128}, n);
       }},
      {"gpt-small", [](std::int64_t n) { return gpt_ops(12, 768, 12, 50257, 256, n); }},
      {"gpt-deep", [](std::int64_t n) { return gpt_ops(36, 512, 8, 32000, 128, n); }},
      {"llama-small", [](std::int64_t n) { return llama_ops(12, 768, 12, 12, 2048, 256, n); }},
      {"llama-deep", [](std::int64_t n) { return llama_ops(28, 512, 8, 2, 1536, 128, n); }}};
  return kNetworks;
}

}  // namespace

std::vector<std::string_view> known_networks() {
  std::vector<std::string_view> names;
  for (const NamedNetwork& network : named_networks()) names.push_back(network.name);
  return names;
}

std::optional<TrainingOps> known_network(std::string_view name, std::int64_t batch) {
  for (const NamedNetwork& network : named_networks())
    if (network.name == name) return network.ops(batch);
  return std::nullopt;
}

}  // namespace weir::predict
