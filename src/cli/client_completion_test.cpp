// SPDX-License-Identifier: Apache-2.0
#include "cli/client_completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "cli/command_table.h"
#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;

// What bash offers after these words, the last of which is incomplete; one line.
std::string completed(const std::string& words, int at) {
  const formats::TemporaryFolder folder;
  const auto script = folder.write("weir.bash", completion_script("bash"));
  const std::string program = "bash -c 'source " + script.string() + "; COMP_WORDS=(" + words +
                              "); COMP_CWORD=" + std::to_string(at) +
                              "; _weir; echo \"${COMPREPLY[@]}\"' 2>&1";
  FILE* const pipe = ::popen(program.c_str(), "r");
  if (pipe == nullptr) return "no shell";
  std::string text;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  ::pclose(pipe);
  return text;
}

TEST(Completion, BashCompletesCommandsOptionsAndValues) {
  EXPECT_EQ(completed("weir subm", 1), "submit\n");
  EXPECT_EQ(completed("weir trace \"\"", 2).substr(0, 8), "export r");
  EXPECT_EQ(completed("weir trace convert --no", 3), "--nodes\n");
  EXPECT_EQ(completed("weir submit --dea", 2), "--deadline\n");
  EXPECT_EQ(completed("weir jobs --phase ru", 3), "running\n");
  EXPECT_EQ(completed("weir completion f", 2), "fish\n");
  EXPECT_EQ(completed("weir submit --duration x", 3), "\n");
}

TEST(Completion, EveryShellKnowsEveryOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran ran = weir({"completion", shell});
    EXPECT_EQ(ran.exit_code, 0);
    for (const Command& command : commands()) {
      for (const OptionSpec& option : command.spec.options) {
        if (option.positional || option.type == OptionType::words) continue;
        EXPECT_THAT(ran.out, HasSubstr(option.name)) << shell << " " << command.spec.name;
      }
    }
  }
  EXPECT_EQ(weir({"completion", "csh"}).exit_code, 2);
}

TEST(Completion, FishQuotesWhatNeedsIt) {
  const std::string script = completion_script("fish");
  EXPECT_THAT(script, HasSubstr("-l follow -s f -d"));
  EXPECT_THAT(script, HasSubstr("'List the server\\'s jobs.'"));
}

}  // namespace
}  // namespace weir::cli
