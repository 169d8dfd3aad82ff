// SPDX-License-Identifier: Apache-2.0
//
// What was measured of one model on one kind of machine: each operator of the model alone, at several
// microbatch sizes and tensor-parallel degrees, and the links between the GPUs. The tables of the
// Aceso artifact have this form; their MB are MiB.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// One operator at one microbatch size, tensor-parallel degree and split. With a degree above 1 the
// operator's own collectives are inside the times.
struct OpMeasure {
  double forward_us = 0;
  double backward_us = 0;
  double input_mib = 0;  // what crosses the cut before the operator, skip connections included
  double output_mib = 0;
  double weight_mib = 0;      // on one GPU
  double activation_mib = 0;  // kept for the backward pass
  double reserved_forward_mib = 0;
  double reserved_backward_mib = 0;
  friend bool operator==(const OpMeasure&, const OpMeasure&) = default;
};

// Which measurement: samples per replica, tensor-parallel degree, and which dimension is split.
struct OpVariant {
  int microbatch = 1;
  int tp = 1;
  int dim = 0;  // 0: the default split; 1: the other one
  friend auto operator<=>(const OpVariant&, const OpVariant&) = default;
};

enum class Collective : std::uint8_t { all_gather, all_reduce, reduce_scatter, all_to_all };
inline constexpr std::array<std::string_view, 4> kCollectiveNames{"all_gather", "all_reduce",
                                                                  "reduce_scatter", "all_to_all"};

// Times of one collective among `gpus` GPUs by the MiB one rank holds before the call.
using CollectiveTimes = std::map<std::int64_t, double>;  // MiB -> ms

struct LinkSpeed {
  double data_mib = 0;
  double gb_per_s = 0;
  friend bool operator==(const LinkSpeed&, const LinkSpeed&) = default;
};

struct OpProfile {
  std::string database;
  std::string model;
  std::string size;
  std::vector<std::string> ops;                        // names, in the order of the table
  std::map<OpVariant, std::vector<OpMeasure>> tables;  // each as long as `ops`
  std::map<std::pair<Collective, int>, CollectiveTimes> collectives;  // by kind and GPUs
  std::vector<LinkSpeed> inside_node;                                 // by size, ascending
  std::vector<LinkSpeed> between_nodes;  // empty where only one node was measured
};

}  // namespace weir
