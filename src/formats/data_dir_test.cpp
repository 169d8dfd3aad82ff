// SPDX-License-Identifier: Apache-2.0
#include "formats/data_dir.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

// Sets or clears WEIR_DATA for one test.
class DataDir : public testing::Test {
 protected:
  DataDir() {
    if (const char* before = std::getenv("WEIR_DATA")) before_ = before;
    ::unsetenv("WEIR_DATA");
  }
  ~DataDir() override {
    ::unsetenv("WEIR_DATA");
    if (before_) ::setenv("WEIR_DATA", before_->c_str(), 1);
  }

  TemporaryFolder folder_;

 private:
  std::optional<std::string> before_;
};

TEST_F(DataDir, IsBesideTheCheckoutFromAnywhereInsideIt) {
  std::filesystem::create_directories(folder_.path() / "shared" / "data");
  std::filesystem::create_directories(folder_.path() / "main" / "build" / "dev");
  const auto expected = std::filesystem::canonical(folder_.path() / "shared" / "data");
  EXPECT_EQ(data_dir(folder_.path() / "main"), expected);
  EXPECT_EQ(data_dir(folder_.path() / "main" / "build" / "dev"), expected);
}

TEST_F(DataDir, IsTheFolderOfTheEnvironmentAndNoOther) {
  std::filesystem::create_directories(folder_.path() / "shared" / "data");
  ::setenv("WEIR_DATA", folder_.path().c_str(), 1);
  EXPECT_EQ(data_dir(folder_.path() / "main"), folder_.path());
  ::setenv("WEIR_DATA", "/nowhere/at/all", 1);
  EXPECT_EQ(data_dir(folder_.path() / "main"), std::nullopt);
}

TEST_F(DataDir, MayBeAbsent) {
  EXPECT_EQ(data_dir(folder_.path()), std::nullopt);
}

}  // namespace
}  // namespace weir::formats
