// SPDX-License-Identifier: Apache-2.0
//
// Convolutions timed with every algorithm of the library, as tools/collect/algorithms.py writes them:
//
//   split,pass,dtype,layout,B,Cin,Cout,ksize,insize,stride,pad,algorithm,latency_ms,workspace_bytes,heuristic_rank,n_kernels,kernel_ids,launches
#pragma once

#include <string>
#include <vector>

#include "domain/kernel_call.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

struct TimedAlgorithm {
  KernelSample sample{};  // its variant ends with the algorithm: "fwd/nchw/algo_6"
  std::string algorithm{};
  std::int64_t workspace_bytes = 0;
  std::int64_t heuristic_rank = -1;  // 0: the library's own choice; -1: not ranked
};

Result<std::vector<TimedAlgorithm>> read_conv_algorithms(InputFile input,
                                                         const std::vector<std::string>& names);

}  // namespace weir::formats
