// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <gmock/gmock.h>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ConfigFile, HoldsOptionsWithTheirLines) {
  const formats::TemporaryFolder folder;
  const auto path =
      folder.write("run.yaml", "policy: [fgd, best-fit]\nseeds: 42..51\njson: true\n");
  const auto options = read_config_file(path);
  ASSERT_TRUE(options);
  ASSERT_EQ(options->size(), 3U);
  EXPECT_THAT((*options)[0].words, ElementsAre("fgd", "best-fit"));
  EXPECT_THAT((*options)[1].words, ElementsAre("42..51"));
  EXPECT_EQ((*options)[1].line, 2U);
}

TEST(ConfigFile, MistakesNameFileLineAndKey) {
  const formats::TemporaryFolder folder;
  const auto path = folder.write("run.yaml", "polcy: fgd\nseeds: many\n");
  const Ran ran = weir({"simulate", "--config", path.string(), "--threads", "-1"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("run.yaml:1: key is \"polcy\", expected an option of `weir "
                                 "simulate`; did you mean policy?"));
  EXPECT_THAT(ran.err, HasSubstr("run.yaml:2: seeds is \"many\""));
  EXPECT_THAT(ran.err, HasSubstr("--threads is \"-1\""));
}

TEST(ConfigFile, MustBeAMapOfValues) {
  const formats::TemporaryFolder folder;
  EXPECT_FALSE(read_config_file(folder.write("list.yaml", "- fgd\n")));
  EXPECT_FALSE(read_config_file(folder.write("deep.yaml", "policy: {fgd: yes}\n")));
  EXPECT_FALSE(read_config_file(folder.write("broken.yaml", "policy: [fgd\n")));
  EXPECT_FALSE(read_config_file(folder.path() / "absent.yaml"));
  EXPECT_TRUE(read_config_file(folder.write("empty.yaml", "# nothing\n")));
}

TEST(ConfigFile, CannotNameAnother) {
  const formats::TemporaryFolder folder;
  const auto path = folder.write("run.yaml", "config: other.yaml\n");
  const Ran ran = weir({"simulate", "--config", path.string()});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("run.yaml:1: config is"));
}

}  // namespace
}  // namespace weir::cli
