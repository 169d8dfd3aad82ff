// SPDX-License-Identifier: Apache-2.0
//
// The numbers that Python gives too: python/tests/test_vectors.py reads the same files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "domain/source_folder_testing.h"
#include "worker/batch_plan.h"
#include "worker/checkpoints.h"
#include "worker/epoch_permutation.h"

namespace weir::worker {
namespace {

const std::filesystem::path kFixtures = source_folder() / "tests/fixtures/worker";

// The lines after the heading, cut at the commas.
std::vector<std::vector<std::string>> rows_of(const std::string& name) {
  std::ifstream file{kFixtures / name};
  std::vector<std::vector<std::string>> rows;
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {
    std::istringstream cells{line + ","};
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

TEST(Vectors, ThePermutationIsThatOfPython) {
  const auto rows = rows_of("permutation.csv");
  EXPECT_GT(rows.size(), 200u);
  for (const auto& row : rows) {
    const EpochPermutation order{std::stoll(row[0]), std::stoull(row[1]), std::stoull(row[2])};
    EXPECT_EQ(order[std::stoll(row[3])], std::stoll(row[4]))
        << row[0] << " " << row[1] << " " << row[2] << " " << row[3];
  }
}

TEST(Vectors, TheBatchPlanIsThatOfPython) {
  const auto rows = rows_of("batch_plan.csv");
  EXPECT_GT(rows.size(), 100u);
  for (const auto& row : rows) {
    const Place place{std::stoll(row[1]), std::stoll(row[2])};
    const auto plan = BatchPlan::make(std::stoll(row[0]), place, std::stoll(row[3])).value();
    std::istringstream sizes{row[6]};
    EXPECT_EQ(plan.first(), std::stoll(row[4]));
    EXPECT_EQ(plan.samples(), std::stoll(row[5]));
    EXPECT_EQ(plan.micro_batches(),
              (std::vector<std::int64_t>{std::istream_iterator<std::int64_t>{sizes}, {}}));
  }
}

TEST(Vectors, ACheckpointOfPythonIsWhole) {
  const auto found = Checkpoints{kFixtures / "checkpoints"}.latest();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 1234);
}

}  // namespace
}  // namespace weir::worker
