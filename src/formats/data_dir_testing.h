// SPDX-License-Identifier: Apache-2.0
//
// For data tests: skips the test when the public data is absent, but fails it under CI, where a
// silent skip would hide that nothing is tested.
//
//   TEST(OpenbData, HasTheNodes) {
//     WEIR_NEEDS_DATA(data);             // data is the folder
//     read_openb_nodes(data / "openb" / "openb_node_list_gpu_node.csv.gz");
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "domain/source_folder_testing.h"
#include "formats/data_dir.h"

namespace weir::formats {

inline bool is_continuous_integration() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view{ci} == "true";
}

}  // namespace weir::formats

// The data lies beside the checkout, whatever folder the test is run from.
#define WEIR_NEEDS_DATA(folder)                                                                    \
  const auto folder##_found = ::weir::formats::data_dir(::weir::source_folder() / "x");            \
  if (!folder##_found && ::weir::formats::is_continuous_integration()) FAIL() << "data not found"; \
  if (!folder##_found) GTEST_SKIP() << "skipped: data not found";                                  \
  const std::filesystem::path folder = *folder##_found
