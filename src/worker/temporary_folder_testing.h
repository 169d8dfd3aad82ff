// SPDX-License-Identifier: Apache-2.0
//
// A folder that goes with its test, and what tests write to it and read from it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <ostream>
#include <set>
#include <string>

namespace weir::worker::testing_files {

namespace fs = std::filesystem;

inline std::string read(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

inline void write(const fs::path& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}

inline std::function<void(std::ostream&)> put(const std::string& bytes) {
  return [bytes](std::ostream& file) { file << bytes; };
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "weir_worker_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { fs::remove_all(path_); }

  const fs::path& path() const { return path_; }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator{path_})
      names.insert(entry.path().filename().string());
    return names;
  }

 private:
  fs::path path_;
};

}  // namespace weir::worker::testing_files
