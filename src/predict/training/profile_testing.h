// SPDX-License-Identifier: Apache-2.0
//
// For tests: profiles of operators that nobody measured, random but plausible, the same for a seed on every machine.
// A GPT and a T5 with the real operators (layers are for IterationCosts::make), and a small residual network.
//
//   const auto costs = test_costs(random_gpt_profile(7), 2, {1, 4, 900}, CostModel::published);
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/op_profile.h"
#include "domain/seeded_rng.h"
#include "predict/training/iteration_costs.h"

namespace weir::predict {

inline std::vector<std::string> gpt_op_names() {
  return {"encoder-embedding",     "enc-1st-layernorm",     "enc-attention-qkv",
          "enc-attention-score",   "enc-attention-softmax", "enc-attention-dropout",
          "enc-attention-context", "enc-attention-dense",   "enc-post-attention-dropout",
          "enc-2nd-layernorm",     "enc-MLP-GEMM-1",        "enc-MLP-gelu",
          "enc-MLP-GEMM-2",        "enc-post-MLP-dropout",  "final-layernorm",
          "gpt-post-process"};
}

inline std::vector<std::string> t5_op_names() {
  std::vector<std::string> names = gpt_op_names();
  names.resize(14);
  names.insert(names.end(), {"enc-final-layernorm", "decoder-embedding", "dec-1st-layernorm"});
  for (const char which : {'1', '2'}) {
    if (which == '2') names.emplace_back("dec-2nd-layernorm");
    for (const char* part : {"qkv", "score", "softmax", "dropout", "context", "dense"}) {
      names.push_back(fmt::format("dec-attention-{}-{}", part, which));
    }
    names.push_back(fmt::format("dec-post-attention-dropout-{}", which));
  }
  names.insert(names.end(),
               {"dec-3rd-layernorm", "dec-MLP-GEMM-1", "dec-MLP-gelu", "dec-MLP-GEMM-2",
                "dec-post-MLP-dropout", "dec-final-layernorm", "t5-post-process"});
  return names;
}

// 6 + 8 x `blocks` operators; the first block changes the size of its input.
inline std::vector<std::string> resnet_op_names(int blocks) {
  std::vector<std::string> names{"conv1", "bn1", "relu1", "maxpool"};
  for (int block = 0; block < blocks; ++block) {
    for (const char* part :
         {"conv1", "bn1", "conv2", "bn2", "conv3", "bn3", "downsample", "relu"}) {
      names.push_back(fmt::format("block-0-{}-{}", block, part));
    }
  }
  names.insert(names.end(), {"avgpool", "fc"});
  return names;
}

struct RandomProfileOptions {
  std::vector<int> microbatches{1, 2, 4};  // per replica
  int most_tp = 4;
};

namespace random_profile {

// Some whole and half MiB among the sizes: real activations tie often.
inline double some_mib(SeededRng& rng, double most) {
  const double size = rng.uniform() * most;
  return rng.below(2) == 0 ? std::round(size * 2) / 2 : size;
}

// Of one sample at one GPU.
inline OpMeasure one_sample(SeededRng& rng, std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  const bool has_weights = has("embedding") || has("qkv") || has("dense") || has("GEMM") ||
                           has("conv") || has("downsample") || has("post-process") || has("fc");
  OpMeasure op;
  op.forward_us = 20 + 400 * rng.uniform() * rng.uniform() + (has_weights ? 300 : 0);
  op.backward_us = op.forward_us * (1 + 1.5 * rng.uniform());
  op.activation_mib = some_mib(rng, has("score") || has("softmax") || has("conv") ? 60 : 20);
  op.weight_mib = has_weights ? some_mib(rng, 16) : 0;
  op.input_mib = some_mib(rng, 12);
  op.reserved_forward_mib = some_mib(rng, 20);
  op.reserved_backward_mib = some_mib(rng, 40);
  return op;
}

// The same operator at a variant: more samples take almost as much more time, a split is not free.
inline OpMeasure at_variant(SeededRng& rng, const OpMeasure& one, OpVariant variant) {
  const double samples = variant.microbatch;
  const double ways = variant.tp;
  const double time = (0.3 + 0.7 * samples) * (0.25 + 0.75 / ways) * (0.9 + 0.2 * rng.uniform());
  const double size = samples / ways;
  OpMeasure op = one;
  op.forward_us *= time;
  op.backward_us *= time;
  op.activation_mib *= size;
  op.weight_mib /= ways;
  op.input_mib *= samples;
  op.reserved_forward_mib *= size;
  op.reserved_backward_mib *= size;
  return op;
}

// Every whole MiB up to 96; now and then one that was skipped.
inline CollectiveTimes times(SeededRng& rng, int gpus) {
  CollectiveTimes times;
  const double ms_per_mib = (0.02 + 0.05 * rng.uniform()) * gpus;
  for (int mib = 0; mib <= 96; ++mib) {
    times[mib] = rng.below(40) == 0 ? 1e6 : 0.02 + ms_per_mib * mib;
  }
  return times;
}

inline std::vector<LinkSpeed> link(double most_gb_per_s) {
  std::vector<LinkSpeed> speeds;
  for (int i = 0; i <= 10; ++i) {
    const double mib = 1 << i;
    speeds.push_back({mib, most_gb_per_s * mib / (mib + 4)});
  }
  return speeds;
}

}  // namespace random_profile

inline OpProfile random_profile_of(std::string model, std::vector<std::string> ops,
                                   std::uint64_t seed, const RandomProfileOptions& options = {}) {
  const SeededRng rng{seed};
  OpProfile profile;
  profile.database = "random";
  profile.model = std::move(model);
  profile.size = "small";
  profile.ops = std::move(ops);
  std::vector<OpMeasure> base;
  SeededRng draw = rng.fork("operators");
  for (const std::string& name : profile.ops) {
    base.push_back(random_profile::one_sample(draw, name));
  }
  for (const int microbatch : options.microbatches) {
    for (int tp = 1; tp <= options.most_tp; tp *= 2) {
      for (int dim = 0; dim < (profile.model == "t5" ? 1 : 2); ++dim) {
        auto& rows = profile.tables[{microbatch, tp, dim}];
        for (const OpMeasure& op : base) {
          rows.push_back(random_profile::at_variant(draw, op, {microbatch, tp, dim}));
        }
        for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
          rows[i].output_mib = rows[i + 1].input_mib;
        }
      }
    }
  }
  SeededRng links = rng.fork("links");
  for (const Collective kind : {Collective::all_gather, Collective::all_reduce,
                                Collective::reduce_scatter, Collective::all_to_all}) {
    for (int gpus = 2; gpus <= options.most_tp; gpus *= 2) {
      profile.collectives[{kind, gpus}] = random_profile::times(links, gpus);
    }
  }
  profile.inside_node = random_profile::link(40);
  profile.between_nodes = random_profile::link(5);
  return profile;
}

inline OpProfile random_gpt_profile(std::uint64_t seed, const RandomProfileOptions& options = {}) {
  return random_profile_of("gpt", gpt_op_names(), seed, options);
}
inline OpProfile random_t5_profile(std::uint64_t seed, const RandomProfileOptions& options = {}) {
  return random_profile_of("t5", t5_op_names(), seed, options);
}
inline OpProfile random_resnet_profile(std::uint64_t seed, int blocks = 2,
                                       const RandomProfileOptions& options = {}) {
  return random_profile_of("resnet", resnet_op_names(blocks), seed, options);
}

// Every operator alike: times and sizes that a test can add up by hand.
inline OpProfile plain_profile(std::string model, std::vector<std::string> ops,
                               const OpMeasure& every, std::vector<int> microbatches = {1, 2, 4},
                               int most_tp = 4) {
  OpProfile profile;
  profile.database = "plain";
  profile.model = std::move(model);
  profile.size = "small";
  profile.ops = std::move(ops);
  for (const int microbatch : microbatches) {
    for (int tp = 1; tp <= most_tp; tp *= 2) {
      for (const int dim : {0, 1}) {
        profile.tables[{microbatch, tp, dim}].assign(profile.ops.size(), every);
      }
    }
  }
  profile.inside_node = {{1, 10}, {2, 20}, {4, 40}};
  profile.between_nodes = {{1, 1}, {2, 2}, {4, 4}};
  return profile;
}

// Requires: the profile is right. One measurement at tp 1 as the model's users do.
inline IterationCosts test_costs(OpProfile profile, int layers, PlanCluster cluster,
                                 CostModel model) {
  // Hidden transfers are the harder case for bounds.
  const CostOptions options{.model = model,
                            .one_measurement_at_tp1 = model == CostModel::full,
                            .hides_transfers = model == CostModel::full};
  auto costs = IterationCosts::make(std::move(profile), layers, cluster, options);
  if (!costs) ADD_FAILURE() << to_string(costs.error().details);
  return std::move(costs.value());
}

}  // namespace weir::predict
