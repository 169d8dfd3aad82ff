// SPDX-License-Identifier: Apache-2.0
//
// What to compare, as people write it (`weir simulate --compare FILE`):
//
//   traces:
//     - jobs: ${WEIR_DATA}/elasticflow/traces/cluster10.csv.gz
//       cluster: 32x8xA100
//       curves: ${WEIR_DATA}/elasticflow/throughput_a100
//       slot: 60s                        # optional; default 0s
//     - {jobs: ../night.yaml, cluster: lab.yaml, curves: ../curves}
//   policies: [weir, elasticflow, edf]   # optional; default: all there are
//   seeds: [42, 43]                      # optional; default: one run
//   gpu_file: gpus.yaml                  # optional; types of GPU that weir does not know (gpu_types_yaml.h)
//
//   jobs, curves, gpu_file  a path, relative to the file's own folder. A trace whose jobs are YAML needs no curves
//                 where all their models are planned (planned_model_fields.h)
//   cluster       a cluster in a word (cluster_shorthand.h), or the path of a cluster file
//   ${WEIR_DATA}  at the beginning of a path: the folder of the public data (data_dir.h)
//
// At most a thousand traces and a thousand seeds. Whether the files exist is for their readers to
// say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/result.h"
#include "domain/time.h"
#include "formats/input_file.h"

namespace weir::formats {

struct ComparedTrace {
  std::filesystem::path jobs;
  std::string cluster;           // a word or a path
  std::filesystem::path curves;  // empty: all models are planned
  std::optional<Duration> slot;
  std::uint64_t line = 0;  // where the file names it
  friend bool operator==(const ComparedTrace&, const ComparedTrace&) = default;
};

struct Comparison {
  std::vector<ComparedTrace> traces;
  std::vector<std::string> policies;  // empty: all
  std::vector<std::uint64_t> seeds;   // empty: one run
  std::filesystem::path gpu_file;     // empty: none
};

// What a comparison file may rely on.
struct ComparisonSurroundings {
  std::filesystem::path folder;               // paths are relative to it
  std::optional<std::filesystem::path> data;  // what ${WEIR_DATA} stands for
  std::vector<std::string> policies;          // the names there are
};

Result<Comparison> read_comparison(InputFile input, const ComparisonSurroundings& surroundings);
// From its own folder, with the public data where it usually is.
Result<Comparison> read_comparison(const std::filesystem::path& path,
                                   std::vector<std::string> policies);

}  // namespace weir::formats
