// SPDX-License-Identifier: Apache-2.0
#include "cli/output_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "cli/interrupts.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

Error write_error(const fs::path& path, const std::string& reason) {
  Error error{ErrorCode::failure, {}};
  error.details.add({path.string(), 0, "the file", reason, "a place where weir can write"});
  return error;
}

bool write_whole(const fs::path& path, const std::string& content) {
  errno = 0;
  std::ofstream out{path, std::ios::binary | std::ios::trunc};
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  return !out.fail();
}

// True for a device or a pipe, which cannot be replaced by renaming.
bool is_special(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
}

// Removes what was not renamed, whichever way the function ends.
class TemporaryFiles {
 public:
  TemporaryFiles() = default;
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;
  ~TemporaryFiles() {
    std::error_code ignored;
    for (const auto& [from, to] : renames_) fs::remove(from, ignored);
  }
  // The name to write to in place of `path`. A link stays one: its target is replaced.
  fs::path add(const fs::path& path) {
    std::error_code ignored;
    const fs::path target = fs::is_symlink(path, ignored) ? fs::canonical(path, ignored) : path;
    fs::path temporary = target;
    temporary += fmt::format(".{}.tmp", ::getpid());
    renames_.emplace_back(temporary, target);
    return temporary;
  }
  const std::vector<std::pair<fs::path, fs::path>>& renames() const { return renames_; }

 private:
  std::vector<std::pair<fs::path, fs::path>> renames_;  // from, to
};

}  // namespace

void check_output(const std::string& field, const fs::path& path, std::span<const fs::path> inputs,
                  Diagnostics& mistakes) {
  std::error_code ignored;
  const fs::path folder = folder_of(path);
  if (fs::is_directory(path, ignored)) {
    mistakes.add({{}, 0, field, path.string(), "a file, not a folder"});
  } else if (is_special(path)) {
    return;
  } else if (!fs::is_directory(folder, ignored)) {
    mistakes.add({{}, 0, field, path.string(), "a file in a folder that exists"});
  } else if (::access(folder.c_str(), W_OK) != 0) {
    mistakes.add({{}, 0, field, path.string(), "a file in a folder where weir may write"});
  }
  for (const fs::path& input : inputs) {
    if (fs::equivalent(input, path, ignored)) {
      mistakes.add({{}, 0, field, path.string(), "another file than an input"});
    }
  }
}

void check_outputs(const OptionValues& options, std::initializer_list<const char*> outputs,
                   std::span<const fs::path> inputs, Diagnostics& mistakes) {
  std::map<fs::path, std::string> taken;
  for (const char* output : outputs) {
    if (!options.has(output)) continue;
    const std::string field = fmt::format("--{}", output);
    const fs::path path = options.text(output);
    check_output(field, path, inputs, mistakes);
    if (is_special(path)) continue;
    std::error_code ignored;
    const fs::path whole = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
    const auto [other, is_new] = taken.try_emplace(whole, field);
    if (!is_new)
      mistakes.add(
          {{}, 0, field, path.string(), fmt::format("another file than {}", other->second)});
  }
}

Result<void> write_files(std::span<const OutputFile> files) {
  const HoldInterrupts hold;
  TemporaryFiles temporary;
  for (const OutputFile& file : files) {
    const fs::path written = is_special(file.path) ? file.path : temporary.add(file.path);
    if (!write_whole(written, file.content)) {
      return tl::unexpected(
          write_error(file.path, errno == 0 ? "not writable" : std::strerror(errno)));
    }
  }
  for (const auto& [from, to] : temporary.renames()) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error) return tl::unexpected(write_error(to, error.message()));
  }
  return {};
}

}  // namespace weir::cli
