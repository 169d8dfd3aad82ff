// SPDX-License-Identifier: Apache-2.0
//
// Types of GPU that weir does not know, described by whoever has them (`gpus.yaml`):
//
//   gpus:
//     - {name: X1, tflops: 400, memory: 64GiB, memory_rate: 3000, link_rate: 200}
//
//   name                as the cluster calls it
//   tflops              dense, of the arithmetic that models are trained with
//   memory              of one GPU
//   memory_rate         GB/s
//   link_rate           GB/s to the other GPUs of a node, in one direction
//   link_efficiency     what collectives get of it, default 0.78
//   latency             microseconds until a collective moves bytes; default: NCCL's, 14
//   nics                network cards of a node of eight, default 1
//   nic_rate            Gbit/s of each, default 100
//   gemm_efficiency     share of tflops that large matrices reach, default 0.75
//   short_side          of a matrix, at which half of that is lost, default 64
//   call                microseconds of the CPU to call one operator in eager mode, default 22; 0 for CPUs that compute
//   attention_forward   share of tflops in attention over long sequences, default 0.45
//   attention_backward  default 0.4
//   element_bytes       of weights and gradients: 2, or 4 for a GPU or CPU that trains in single precision; default 2
//   price               of an hour, default 0
//
// What is measured is better than what a data sheet says: tools/measure_cpu_curve.py does it for CPU slots.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

struct DescribedGpu {
  std::string name;
  double tflops = 0;
  double memory_gib = 0;
  double memory_gb_s = 0;
  double link_gb_s = 0;
  double link_efficiency = 0.78;
  double latency_us = 14;
  int nics = 1;
  double nic_gbit_s = 100;
  double gemm_efficiency = 0.75;
  double short_side = 64;
  double call_us = 22;
  double attention_forward = 0.45;
  double attention_backward = 0.4;
  int element_bytes = 2;
  double price_per_hour = 0;

  friend bool operator==(const DescribedGpu&, const DescribedGpu&) = default;
};

// In the file's order, one at least, each name once.
Result<std::vector<DescribedGpu>> read_gpu_types_yaml(InputFile input);
Result<std::vector<DescribedGpu>> read_gpu_types_yaml(const std::filesystem::path& path);

}  // namespace weir::formats
