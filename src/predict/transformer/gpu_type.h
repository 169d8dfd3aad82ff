// SPDX-License-Identifier: Apache-2.0
//
// The GPUs that weir knows without a profile: what the data sheet says, and how much of it programs get.
//
// From the sheet: dense 16-bit rate, memory, memory bandwidth, NVLink (or PCIe) in one direction, and the
// network of the usual node. How much of it is reached is a few constants of a generation, none fitted on the
// results in docs/models/transformer.md, which has the sources:
//   GEMM       time = max(flops / (rate e), bytes / memory bandwidth) + 5 us,
//              e = gemm_efficiency x product over the three sides d of d / (d + short_side)
//   attention  flash: rate x efficiency x s / (s + 512), forward and backward each their own
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir::predict {

struct GpuType {
  std::string_view name;
  double tflops = 0;             // dense bf16 (V100: fp16)
  double memory_gib = 0;         // usable by one process
  double memory_gb_s = 0;        // HBM or GDDR
  double link_gb_s = 0;          // to the other GPUs of the node, one direction, per GPU
  double link_efficiency = 0;    // what collectives get of it
  int nics = 0;                  // of a node of eight
  double nic_gbit_s = 0;         // of each
  double gemm_efficiency = 0;    // best case
  double attention_forward = 0;  // fraction of the rate, long sequences
  double attention_backward = 0;
  double price_per_hour = 0;  // of one GPU, on demand, US dollars; replace it by your own
  double latency_us = 14;     // until a collective moves bytes: NCCL's
  double short_side = 64;     // of a matrix, at which half of the GEMM rate is lost
  // Of the CPU, to call one operator in eager mode: what was measured beside an H200 (docs/models/kernels.md), since
  // the CPU is not part of a GPU's sheet. 0: whatever is called takes the GPU longer.
  double call_us = 22;
  // By its user, not in the table: whatever its name, nobody has compared or measured it.
  bool is_described = false;
};

std::span<const GpuType> gpu_types();
// "h200" is H200-141G, since there is no other. Nothing is found for another name, or for one that two types have
// ("a100"); upper or lower case is the same.
const GpuType* find_gpu_type(std::string_view name);
// Whether "a100" may mean that type: its name up to the memory.
bool is_chip_of(std::string_view name, const GpuType& type);
// "A100-40G, A100-80G, ..."
std::string gpu_type_names();

// Seconds of C[m,n] += A[m,k] B[k,n] with 2-byte elements.
double gemm_seconds(const GpuType& gpu, double m, double n, double k);
// Seconds of `flops` of flash attention over sequences of `tokens` queries.
double attention_forward_seconds(const GpuType& gpu, double flops, double tokens);
double attention_backward_seconds(const GpuType& gpu, double flops, double tokens);
// Seconds to read and write so many bytes of the GPU's memory.
double memory_seconds(const GpuType& gpu, double bytes);

}  // namespace weir::predict
