// SPDX-License-Identifier: Apache-2.0
//
// For tests: a small folder of made-up timings of a GPU, as tools/collect writes them. Times follow a plain rule, so fits
// are good and fast.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace weir::cli {

inline constexpr double kMadeUpFlops = 4e14;
inline constexpr double kMadeUpBytes = 3e12;

// Products of a grid of sizes, and copies; two shapes of ten are held out.
inline void write_kernel_tables(const std::filesystem::path& folder, const std::string& device) {
  std::filesystem::create_directories(folder);
  std::ofstream{folder / "kernel_names.csv"}
      << "kernel_id,name\n0,nvjet_128x128_64x4\n1,vectorized_elementwise_kernel\n";
  std::ofstream gemm{folder / "gemm.csv"};
  gemm << "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,B,M,N,K,layout,dtype\n";
  int row = 0;
  for (const int m : {128, 512, 2048, 4096})
    for (const int n : {256, 1024, 4096})
      for (const int k : {256, 1024, 4096}) {
        const double flops = 2.0 * m * n * k;
        const double bytes = 2.0 * (1.0 * m * n + 1.0 * n * k + 1.0 * m * k);
        const double ms = 1e3 * (3e-6 + std::max(flops / kMadeUpFlops, bytes / kMadeUpBytes));
        gemm << fmt::format("{},mm,{},{},0,{},{},1,256,1,1,1,{},{},{},nt,bf16\n",
                            row++ % 5 == 4 ? "test" : "train", device, ms, (m + 127) / 128,
                            (k + 127) / 128, m, n, k);
      }
  std::ofstream vec{folder / "vec.csv"};
  vec << "split,op,device,latency_ms,kernel_id,gx,gy,gz,bx,by,bz,B,H,dtype\n";
  for (const int b : {64, 256, 1024, 4096, 16384})
    for (const int h : {64, 512, 1024, 4096})
      vec << fmt::format("{},copy,{},{},1,{},1,1,128,1,1,{},{},bf16\n",
                         row++ % 5 == 4 ? "test" : "train", device,
                         1e3 * (2e-6 + 4.0 * b * h / kMadeUpBytes), b * h / 1024 + 1, b, h);
}

}  // namespace weir::cli
