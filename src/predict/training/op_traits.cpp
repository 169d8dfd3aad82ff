// SPDX-License-Identifier: Apache-2.0
#include "predict/training/op_traits.h"

#include <array>

namespace weir::predict {

namespace {

struct NamedTraits {
  std::string_view op;
  OpTraits traits;
};

constexpr OpTraits same(Spread spread) {
  return {.input = {spread, spread}, .output = {spread, spread}};
}
constexpr OpTraits moves(Spread input, Spread output) {
  return {.input = {input, input}, .output = {output, output}};
}
// A matrix product whose two splits are each other's opposite.
constexpr OpTraits product(Spread input, Spread output) {
  return {.input = {input, output}, .output = {output, input}};
}
constexpr OpTraits block_start(OpTraits traits) {
  traits.starts_block = true;
  traits.leads_no_group = true;
  return traits;
}
constexpr OpTraits kept(OpTraits traits) {
  traits.never_recomputed = true;
  traits.leads_no_group = true;
  return traits;
}
constexpr OpTraits embedding(OpTraits traits) {
  traits.holds_embedding = true;
  return kept(traits);
}
constexpr OpTraits counts(double factor, OpTraits traits) {
  traits.activation_factor = factor;
  return traits;
}

using enum Spread;

constexpr std::array kGptOps{
    NamedTraits{"encoder-embedding", embedding(moves(any, copies_in_middle))},
    NamedTraits{"enc-1st-layernorm", block_start(same(copies_in_middle))},
    NamedTraits{"enc-attention-qkv", product(copies_in_middle, split_hidden)},
    NamedTraits{"enc-attention-score", moves(split_hidden, split_heads)},
    NamedTraits{"enc-attention-softmax", counts(0, same(split_heads))},
    NamedTraits{"enc-attention-dropout", counts(1.5, same(split_heads))},
    NamedTraits{"enc-attention-context", moves(split_heads, split_hidden)},
    NamedTraits{"enc-attention-dense", product(split_hidden, copies_in_middle)},
    NamedTraits{"enc-post-attention-dropout", same(copies_in_middle)},
    NamedTraits{"enc-2nd-layernorm", same(copies_in_middle)},
    NamedTraits{"enc-MLP-GEMM-1", product(copies_in_middle, split_hidden)},
    NamedTraits{"enc-MLP-gelu", same(split_hidden)},
    NamedTraits{"enc-MLP-GEMM-2", product(split_hidden, copies_in_middle)},
    NamedTraits{"enc-post-MLP-dropout", same(copies_in_middle)},
    NamedTraits{"final-layernorm", moves(copies_in_middle, copies_in_front)},
    NamedTraits{"gpt-post-process", embedding(moves(copies_in_front, any))},
};

// T5's stages have one layout each, so nothing has to be laid out anew inside a stage.
constexpr std::array kT5Ops{
    NamedTraits{"encoder-embedding", embedding(same(any))},
    NamedTraits{"enc-1st-layernorm", block_start(same(any))},
    NamedTraits{"enc-attention-qkv", same(any)},
    NamedTraits{"enc-attention-score", same(any)},
    NamedTraits{"enc-attention-softmax", counts(0, same(any))},
    NamedTraits{"enc-attention-dropout", counts(1.5, same(any))},
    NamedTraits{"enc-attention-context", same(any)},
    NamedTraits{"enc-attention-dense", same(any)},
    NamedTraits{"enc-post-attention-dropout", same(any)},
    NamedTraits{"enc-2nd-layernorm", same(any)},
    NamedTraits{"enc-MLP-GEMM-1", same(any)},
    NamedTraits{"enc-MLP-gelu", same(any)},
    NamedTraits{"enc-MLP-GEMM-2", same(any)},
    NamedTraits{"enc-post-MLP-dropout", same(any)},
    NamedTraits{"enc-final-layernorm", same(any)},
    NamedTraits{"decoder-embedding", embedding(same(any))},
    NamedTraits{"dec-1st-layernorm", same(any)},
    NamedTraits{"dec-attention-qkv-1", same(any)},
    NamedTraits{"dec-attention-score-1", same(any)},
    NamedTraits{"dec-attention-softmax-1", same(any)},
    NamedTraits{"dec-attention-dropout-1", same(any)},
    NamedTraits{"dec-attention-context-1", same(any)},
    NamedTraits{"dec-attention-dense-1", same(any)},
    NamedTraits{"dec-post-attention-dropout-1", same(any)},
    NamedTraits{"dec-2nd-layernorm", same(any)},
    NamedTraits{"dec-attention-qkv-2", same(any)},
    NamedTraits{"dec-attention-score-2", same(any)},
    NamedTraits{"dec-attention-softmax-2", same(any)},
    NamedTraits{"dec-attention-dropout-2", same(any)},
    NamedTraits{"dec-attention-context-2", same(any)},
    NamedTraits{"dec-attention-dense-2", same(any)},
    NamedTraits{"dec-post-attention-dropout-2", same(any)},
    NamedTraits{"dec-3rd-layernorm", same(any)},
    NamedTraits{"dec-MLP-GEMM-1", same(any)},
    NamedTraits{"dec-MLP-gelu", same(any)},
    NamedTraits{"dec-MLP-GEMM-2", same(any)},
    NamedTraits{"dec-post-MLP-dropout", same(any)},
    NamedTraits{"dec-final-layernorm", same(any)},
    NamedTraits{"t5-post-process", embedding(same(any))},
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "conv1", "block-1-0-bn2": the names carry the place.
std::optional<OpTraits> resnet_op(std::string_view op) {
  bool is_known = false;
  for (const std::string_view part : {"conv", "downsample", "bn", "relu", "pool", "fc"}) {
    is_known = is_known || has(op, part);
  }
  if (!is_known) return std::nullopt;
  OpTraits traits = same(copies_in_front);
  if (op == "conv1") return kept(traits);
  traits.starts_block = has(op, "-conv1");
  traits.leads_no_group = traits.starts_block || has(op, "-relu");
  const bool is_identity = has(op, "-downsample") && !has(op, "0-0");
  if (op == "bn1" || has(op, "-bn3") || is_identity) traits.activation_factor = 0;
  return traits;
}

template <std::size_t N>
std::optional<OpTraits> find(const std::array<NamedTraits, N>& ops, std::string_view op) {
  for (const NamedTraits& entry : ops) {
    if (entry.op == op) return entry.traits;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ModelFamily> model_family(std::string_view model) {
  if (model == "gpt") return ModelFamily::gpt;
  if (model == "t5") return ModelFamily::t5;
  if (model == "resnet") return ModelFamily::resnet;
  return std::nullopt;
}

std::optional<OpTraits> op_traits(ModelFamily family, std::string_view op) {
  switch (family) {
    case ModelFamily::gpt:
      return find(kGptOps, op);
    case ModelFamily::t5:
      return find(kT5Ops, op);
    case ModelFamily::resnet:
      return resnet_op(op);
  }
  return std::nullopt;
}

}  // namespace weir::predict
