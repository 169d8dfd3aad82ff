// SPDX-License-Identifier: Apache-2.0
#include "domain/diagnostics.h"

#include <gtest/gtest.h>

#include "domain/result.h"

namespace weir {
namespace {

TEST(Diagnostic, ReadsAsOneSentence) {
  EXPECT_EQ(to_string(Diagnostic{"trace.csv", 118, "gpus", "-2", "1 or more"}),
            "trace.csv:118: gpus is \"-2\", expected 1 or more");
  EXPECT_EQ(to_string(Diagnostic{"trace.csv", 1, "column gpus", "", "it in the first line"}),
            "trace.csv:1: column gpus is missing, expected it in the first line");
  EXPECT_EQ(to_string(Diagnostic{"", 0, "--policy", "fdg", "fgd"}),
            "--policy is \"fdg\", expected fgd");
}

TEST(Diagnostic, DoesNotTrustTheInputOnTheReadersTerminal) {
  const std::string text =
      to_string(Diagnostic{"f", 1, "name", std::string{"a\x1b[31m"}, "plain text"});
  EXPECT_EQ(text, "f:1: name is \"a\\x1b[31m\", expected plain text");
  const std::string longest =
      to_string(Diagnostic{"f", 1, "name", std::string(100'000, 'x'), "less"});
  EXPECT_LT(longest.size(), 200U);
  EXPECT_NE(longest.find("(100000 characters)"), std::string::npos);
}

TEST(Diagnostic, CutsLongTextBetweenCharacters) {
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xc3\xa4";
  const std::string text = to_string(Diagnostic{"f", 1, "name", "x" + umlauts, "less"});
  EXPECT_EQ(text.find("\xc3..."), std::string::npos);
}

TEST(Diagnostics, KeepsTwentyAndCountsTheRest) {
  Diagnostics mistakes;
  for (int i = 0; i < 25; ++i)
    mistakes.add({"f", static_cast<std::uint64_t>(i + 1), "x", "y", "z"});
  EXPECT_TRUE(mistakes.full());
  EXPECT_EQ(mistakes.list().size(), 20U);
  EXPECT_EQ(mistakes.total(), 25U);
  EXPECT_NE(to_string(mistakes).find("and 5 more\n"), std::string::npos);
}

TEST(Diagnostics, AppendingCountsWhatTheOtherCouldNotKeep) {
  Diagnostics many;
  for (int i = 0; i < 25; ++i) many.add({"f", 1, "x", "y", "z"});
  Diagnostics all;
  all.add({"g", 1, "x", "y", "z"});
  all.append(many);
  EXPECT_EQ(all.total(), 26U);
  EXPECT_EQ(all.list().size(), 20U);
}

TEST(Error, DecidesTheExitCode) {
  EXPECT_EQ(exit_code_of(ErrorCode::bad_input), ExitCode::bad_input);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorCode::bad_input)), 2);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorCode::failure)), 1);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorCode::infeasible)), 3);
  EXPECT_EQ(static_cast<int>(exit_code_of(ErrorCode::unavailable)), 4);
}

}  // namespace
}  // namespace weir
