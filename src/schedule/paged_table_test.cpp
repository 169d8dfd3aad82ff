// SPDX-License-Identifier: Apache-2.0
#include "schedule/paged_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace weir::schedule {
namespace {

PagedTable<int> counting_to(int n) {
  PagedTable<int> table;
  for (int i = 0; i < n; ++i) table.push_back(i);
  return table;
}

TEST(PagedTable, KeepsValuesAcrossPages) {
  const PagedTable<int> table = counting_to(1000);
  ASSERT_EQ(table.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(table[static_cast<std::size_t>(i)], i);
}

TEST(PagedTable, AForkDoesNotSeeLaterWritesAndTheOriginalNotThoseOfTheFork) {
  PagedTable<int> table = counting_to(600);
  PagedTable<int> fork = table.fork();
  table.at_for_write(3) = -1;
  fork.at_for_write(4) = -2;
  fork.push_back(600);
  EXPECT_EQ(table[3], -1);
  EXPECT_EQ(fork[3], 3);
  EXPECT_EQ(table[4], 4);
  EXPECT_EQ(fork[4], -2);
  EXPECT_EQ(table.size(), 600U);
  EXPECT_EQ(fork.size(), 601U);
}

TEST(PagedTable, UntouchedPagesStayShared) {
  PagedTable<int> table = counting_to(600);
  PagedTable<int> fork = table.fork();
  fork.at_for_write(0) = 9;
  EXPECT_NE(&table[1], &fork[1]);      // the page that was written
  EXPECT_EQ(&table[300], &fork[300]);  // the next one
}

// Under the thread sanitizer this is the proof that no page is written while another thread can
// read it.
TEST(PagedTable, AForkIsReadOnAnotherThreadWhileTheOriginalIsWritten) {
  PagedTable<int> table = counting_to(5000);
  for (int round = 0; round < 20; ++round) {
    PagedTable<int> fork = table.fork();
    std::int64_t sum = 0;
    std::jthread reader{[&sum, fork = std::move(fork)]() mutable {
      for (std::size_t i = 0; i < fork.size(); ++i) sum += fork[i];
      fork.at_for_write(7) = -1;
    }};
    for (std::size_t i = 0; i < table.size(); i += 17) table.at_for_write(i) += 1;
    reader.join();
    EXPECT_GE(sum, 0);
  }
}

RC_GTEST_PROP(PagedTable, BehavesLikeAVectorUnderForksAndWrites,
              (std::vector<std::uint16_t> writes)) {
  PagedTable<int> table = counting_to(700);
  std::vector<int> model(700);
  std::iota(model.begin(), model.end(), 0);
  std::vector<std::pair<PagedTable<int>, std::vector<int>>> forks;
  for (const std::uint16_t write : writes) {
    if (write % 7 == 0) forks.emplace_back(table.fork(), model);
    table.at_for_write(write % 700U) = write;
    model[write % 700U] = write;
  }
  forks.emplace_back(std::move(table), model);
  for (const auto& [fork, expected] : forks) {
    for (std::size_t i = 0; i < expected.size(); ++i) RC_ASSERT(fork[i] == expected[i]);
  }
}

}  // namespace
}  // namespace weir::schedule
