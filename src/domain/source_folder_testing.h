// SPDX-License-Identifier: Apache-2.0
//
// For tests that read files of the repository. Not by __FILE__: what ccache keeps was perhaps compiled in another checkout.
#pragma once

#include <filesystem>

namespace weir {

// The checkout that this program was built in, or else the one that it is called from.
inline std::filesystem::path source_folder() {
  for (const auto& start :
       {std::filesystem::read_symlink("/proc/self/exe"), std::filesystem::current_path() / "."}) {
    for (auto folder = start.parent_path(); folder.has_relative_path();
         folder = folder.parent_path())
      if (std::filesystem::exists(folder / "CMakePresets.json")) return folder;
  }
  return {};
}

}  // namespace weir
