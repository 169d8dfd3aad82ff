// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/gpu_type.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "domain/source_folder_testing.h"

namespace weir::predict {
namespace {

// A row of the page, up to its source.
std::string row_of(const GpuType& gpu) {
  return fmt::format("| {} | {} | {} | {} | {} | {} x {} | {:.2f} | {:.2f} / {:.2f} | {:.2f} | ",
                     gpu.name, gpu.tflops, gpu.memory_gib, gpu.memory_gb_s, gpu.link_gb_s, gpu.nics,
                     gpu.nic_gbit_s, gpu.gemm_efficiency, gpu.attention_forward,
                     gpu.attention_backward, gpu.price_per_hour);
}

// docs/reference/gpus.md has every type with its figures, and a source for each.
TEST(GpuType, IsDescribedInTheDocs) {
  std::ifstream page{source_folder() / "docs/reference/gpus.md"};
  std::vector<std::string> rows;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| ") && !line.starts_with("| GPU ")) rows.push_back(line);
  }
  ASSERT_EQ(rows.size(), gpu_types().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string row = row_of(gpu_types()[i]);
    EXPECT_EQ(rows[i].substr(0, row.size()), row);
    EXPECT_GT(rows[i].size(), row.size() + 10) << "no source";
  }
}

}  // namespace
}  // namespace weir::predict
