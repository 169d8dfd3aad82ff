// SPDX-License-Identifier: Apache-2.0
//
// For tests: weir as a user calls it, with what it printed.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run.h"
#include "domain/source_folder_testing.h"

namespace weir::cli {

struct Ran {
  int exit_code = 0;
  std::string out;
  std::string err;
};

inline Ran weir(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err, false};
  const int exit_code = run(words, console);
  return {exit_code, out.str(), err.str()};
}

inline std::string content_of(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream{path}.rdbuf();
  return content.str();
}

inline const std::string kExamples = (source_folder() / "examples").string();

}  // namespace weir::cli
