// SPDX-License-Identifier: Apache-2.0
#include "formats/data_dir.h"

#include <cstdlib>
#include <system_error>

namespace weir::formats {

std::optional<std::filesystem::path> data_dir(std::filesystem::path start) {
  std::error_code ignored;
  if (const char* given = std::getenv("WEIR_DATA"); given != nullptr && *given != '\0') {
    if (std::filesystem::is_directory(given, ignored)) return std::filesystem::path{given};
    return std::nullopt;
  }
  if (start.empty()) start = std::filesystem::current_path(ignored);
  std::filesystem::path folder = std::filesystem::weakly_canonical(start, ignored);
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    std::filesystem::path candidate = folder / "shared" / "data";
    if (std::filesystem::is_directory(candidate, ignored)) return candidate;
  }
  return std::nullopt;
}

}  // namespace weir::formats
