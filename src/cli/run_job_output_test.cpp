// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace weir::cli {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lines_of(const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  const auto use = [&](std::string_view line) { lines.emplace_back(line); };
  LineCutter cutter;
  for (const std::string& piece : pieces) cutter.add(piece, use);
  cutter.finish(use);
  return lines;
}

TEST(LineCutter, WaitsForTheEndOfALine) {
  EXPECT_THAT(lines_of({"a", "b\nc", "\n\nd"}), ElementsAre("ab", "c", "", "d"));
}

TEST(LineCutter, ShowsTheLastStateOfAProgressBar) {
  EXPECT_THAT(lines_of({"10 %\r50 %\r100 %\r\n", "dos\r\n"}), ElementsAre("100 %", "dos"));
}

TEST(LineCutter, ALineWithoutEndDoesNotFillTheMemory) {
  EXPECT_EQ(lines_of(std::vector<std::string>(10, std::string(40 << 10, 'x'))).size(), 5U);
}

RC_GTEST_PROP(LineCutter, GivesTheSameLinesHoweverTheTextIsCut, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string{"ab\n"}));
  std::vector<std::string> pieces;
  for (std::size_t from = 0; from < text.size();) {
    const auto size = static_cast<std::size_t>(*rc::gen::inRange(1, 5));
    pieces.push_back(text.substr(from, size));
    from += size;
  }
  RC_ASSERT(lines_of(pieces) == lines_of({text}));
}

// Has logs as they are put there, and nothing else of an engine.
class ScriptedLogs : public Engine {
 public:
  struct Log {
    std::string text;
    bool is_over = false;
  };
  std::map<std::pair<std::uint32_t, std::int32_t>, Log> logs;

  void start(std::vector<RunOrder>, EngineListener&) override {}
  void order(const RunOrder&) override {}
  void forget(JobId) override {}
  void remove_logs(const std::vector<JobId>&) override {}
  void stop() override {}
  Result<LogChunk> read_log(const LogPlace& place, std::size_t most) override {
    const auto found = logs.find({place.generation, place.rank});
    if (found == logs.end()) return bad_input(Diagnostic{"", 0, "log", "", "one"});
    const auto from = static_cast<std::size_t>(place.offset);
    LogChunk chunk{place.generation, place.offset, found->second.text.substr(from, most), false};
    chunk.is_over = found->second.is_over && from + chunk.bytes.size() == found->second.text.size();
    return chunk;
  }
};

class Output : public testing::Test {
 protected:
  ScriptedLogs engine_;
  std::vector<std::string> shown_;
  RunOutput output_{engine_, JobId{1}, [this](std::int32_t rank, std::string_view line) {
                      shown_.push_back(std::to_string(rank) + ":" + std::string{line});
                    }};
};

TEST_F(Output, AGenerationIsShownAfterTheOneBeforeIt) {
  output_.expect(1, 2);
  output_.look();
  EXPECT_TRUE(shown_.empty()) << "it has not begun";
  engine_.logs[{1, 0}] = {"a\nb", false};
  engine_.logs[{1, 1}] = {"c\n", true};
  output_.expect(2, 1);
  engine_.logs[{2, 0}] = {"later\n", false};
  output_.look();
  EXPECT_THAT(shown_, ElementsAre("0:a", "1:c"));
  engine_.logs[{1, 0}] = {"a\nb and the end", true};
  output_.look();
  EXPECT_THAT(shown_, ElementsAre("0:a", "1:c", "0:b and the end", "0:later"));
}

TEST_F(Output, AGenerationThatNeverBeganHoldsNothingBack) {
  output_.expect(1, 1);
  output_.expect(2, 1);
  engine_.logs[{2, 0}] = {"x\n", false};
  output_.finish_before(2);
  output_.look();
  EXPECT_THAT(shown_, ElementsAre("0:x"));
}

}  // namespace
}  // namespace weir::cli
