// SPDX-License-Identifier: Apache-2.0
#include "cli/help_text.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/command_table.h"
#include "cli/version.h"
#include "domain/source_folder_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;

std::string content_of(const std::filesystem::path& path_in_repository) {
  std::ifstream file{source_folder() / path_in_repository};
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

TEST(Reference, IsThePageInTheDocs) {
  EXPECT_EQ(content_of("docs/reference/cli.md"), reference_page())
      << "renew it: weir reference > docs/reference/cli.md";
}

TEST(Reference, NamesEveryOptionOfEveryCommand) {
  const std::string page = reference_page();
  for (const Command& command : commands()) {
    EXPECT_THAT(page, HasSubstr("## weir " + command.spec.name + "\n"));
    for (const OptionSpec& option : command.spec.options) {
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_THAT(page, HasSubstr(option.help));
    }
  }
}

TEST(CommandTable, DefaultsAreRightValues) {
  for (const Command& command : commands()) {
    CommandSpec spec = command.spec;
    for (OptionSpec& option : spec.options) option.required = false;
    EXPECT_TRUE(read_options(spec, {})) << spec.name;
  }
}

TEST(Help, ACommandAndItsSummaryAreApart) {
  const std::string help = program_help();
  for (const Command& command : commands())
    EXPECT_NE(help.find("  " + command.spec.summary + "\n"), std::string::npos)
        << command.spec.name;
}

TEST(Help, LinesFitATerminal) {
  for (const Command& command : commands()) {
    std::istringstream lines{command_help(command.spec)};
    for (std::string line; std::getline(lines, line);) {
      const bool is_example = line.starts_with("  weir ");  // to copy, so not broken
      EXPECT_TRUE(is_example || line.size() <= 100) << line;
    }
  }
}

TEST(Version, IsThatOfTheProject) {
  EXPECT_THAT(content_of("CMakeLists.txt"),
              HasSubstr("project(weir VERSION " + std::string{kVersion} + " "));
}

}  // namespace
}  // namespace weir::cli
