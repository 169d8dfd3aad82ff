// SPDX-License-Identifier: Apache-2.0
//
// A model that nobody measured, as a job has it in the place of a curve's name (domain/planned_model.h):
//
//   model: {config: gpt.json, batch: 256}
//
//   config     the config.json of the model, as Hugging Face writes it; a relative path counts from the job's file
//   batch      the global batch, 1 or more
//   sequence   tokens of a sample; default: the longest the config knows, at most 4096
//   gpu        the type of GPU to plan for, such as H200-141G; default: that of each pool
//   name       under which it is measured when it runs; default: file, parameters and sequence, gpt-124M-s1024. Where
//              no file has a name of its own, a checksum of the model and `gpu` follows: transformer-124M-s1024-09af71c3
// or, in the place of `config`, the dimensions themselves:
//   layers, hidden, heads, vocab, and where it is no plain GPT: kv_heads, head_dim, ffn, gated, tied, experts,
//   experts_per_token
//
// A server must not open files that a user names. So `config` is for commands: they read it and send dimensions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "domain/curve.h"
#include "domain/diagnostics.h"
#include "domain/planned_model.h"
#include "formats/job_tree.h"

namespace weir::formats {

struct ModelOfAJob {
  CurveKey key;
  PlannedModel planned;
};

// `folder` is where relative paths begin; none: there are no files here. Nothing when there is a mistake, which is
// noted under "model.". Requires: `map` is a map of the tree.
std::optional<ModelOfAJob> read_planned_model(const JobTree& tree, const JobTree::Node& map,
                                              const std::optional<std::filesystem::path>& folder,
                                              Diagnostics& mistakes);

// As JSON, dimensions by name; reading gives the same.
std::string write_planned_model(const PlannedModel& planned, std::int64_t batch);

}  // namespace weir::formats
