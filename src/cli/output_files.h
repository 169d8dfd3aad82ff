// SPDX-License-Identifier: Apache-2.0
//
// Files a command writes. All are written under a temporary name beside their place, then renamed,
// with Ctrl-C held back meanwhile: nobody ever sees half a file. What is no plain file (/dev/null,
// a pipe) is written to directly.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "domain/diagnostics.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

struct OutputFile {
  std::filesystem::path path;
  std::string content;
};

// Whether a file could be written there: asked before hours of work, not after. `field` is the
// option that names it. The inputs are not to be overwritten.
void check_output(const std::string& field, const std::filesystem::path& path,
                  std::span<const std::filesystem::path> inputs, Diagnostics& mistakes);

// The same of all options that name an output and are given. Each is a file of its own.
void check_outputs(const OptionValues& options, std::initializer_list<const char*> outputs,
                   std::span<const std::filesystem::path> inputs, Diagnostics& mistakes);

Result<void> write_files(std::span<const OutputFile> files);

}  // namespace weir::cli
