// SPDX-License-Identifier: Apache-2.0
//
// A backward pass that sends its gradients while it goes on, as `weir plan --overlap` reads it (docs/tasks/overlap-communication.md):
//
//   name: VGG-16, batch 64
//   kernels: vgg16_kernels.csv       # us, sends; optional: curve, blocks, blocks_per_sm, cluster, memory_gbps, kernel
//   curves: h200_curves.csv.gz       # kernel, ctas, target_gbps, gbps, rate, first; optional
//   gpu: {sms: 132, memory: 4800GB/s}
//   network: {ranks: 8, nodes: 8, rate: 50GB/s, channel: 25.3GB/s, channel_beside: 19.6GB/s, latency_us: 5}
//   ctas: {choices: [1, 2, 4, 8, 16, 32], default: 32}
//
// Kernels stand in the order in which they run. `sends` holds bytes on the row of the kernel after which a group of
// gradients is complete. `first` is "collective", or "kernel" where the collective came while the kernel ran. Files are looked for beside the document. Rates are GB/s.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/result.h"

namespace weir::formats {

struct OverlapKernelRow {
  double us = 0;
  std::string curve;
  std::int64_t blocks = 0;
  std::int64_t blocks_per_sm = 1;
  std::int64_t cluster = 1;
  double memory_gbps = 0;
  std::optional<std::int64_t> sends;
};

// One measurement of a kernel beside a collective, as tools/collect writes it.
struct ContentionRow {
  std::string kernel;
  std::int64_t ctas = 0;
  double target_gbps = 0;
  double gbps = 0;
  double rate = 0;
  bool is_kernel_first = false;
};

struct OverlapDocument {
  std::string name;
  std::filesystem::path kernels_file;
  std::filesystem::path curves_file;  // empty: none
  std::vector<OverlapKernelRow> kernels;
  std::vector<ContentionRow> curves;
  std::int64_t sms = 0;
  double memory_gbps = 0;
  std::int64_t ranks = 0;
  std::optional<std::int64_t> nodes;  // none: one, or not said
  double network_gbps = 0;
  double channel_gbps = 36;
  double channel_beside_gbps = 0;  // 0: as alone
  std::optional<double> latency_us;
  std::vector<std::int64_t> ctas;
  std::int64_t default_ctas = 0;
};

Result<OverlapDocument> read_overlap_document(const std::filesystem::path& file);

}  // namespace weir::formats
