// SPDX-License-Identifier: Apache-2.0
#include "worker/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

namespace weir::worker {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> cannot(const std::string& what, const fs::path& path, int error) {
  Error failure;
  failure.details.add({.file = path.string(),
                       .field = "cannot " + what,
                       .found = error == 0 ? "" : std::strerror(error),
                       .expected = "a file that can be written"});
  return tl::unexpected<Error>(std::move(failure));
}

// Removed again unless it has got its name.
class PartialFile {
 public:
  explicit PartialFile(fs::path path) : path_{std::move(path)} {}
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile() {
    std::error_code ignored;
    if (!is_renamed_) fs::remove(path_, ignored);
  }

  const fs::path& path() const { return path_; }
  int rename_to(const fs::path& target) {
    if (std::rename(path_.c_str(), target.c_str()) != 0) return errno;
    is_renamed_ = true;
    return 0;
  }

 private:
  fs::path path_;
  bool is_renamed_ = false;
};

// A file or a folder. 0 or errno.
int sync(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

}  // namespace

Result<bool> save_atomically(const fs::path& path,
                             const std::function<void(std::ostream&)>& write) {
  const std::string name = "." + path.filename().string() + "." + std::to_string(getpid());
  PartialFile partial{folder_of(path) / (name + std::string{kPartialSuffix})};
  {
    std::ofstream file{partial.path(), std::ios::binary | std::ios::trunc};
    if (!file) return cannot("create", partial.path(), errno);
    errno = 0;
    write(file);
    file.close();
    if (!file) return cannot("write", partial.path(), errno);
  }
  if (const int error = sync(partial.path()); error != 0)
    return cannot("sync", partial.path(), error);
  if (const int error = partial.rename_to(path); error != 0) return cannot("rename", path, error);
  if (const int error = sync(folder_of(path)); error != 0)
    return cannot("sync", folder_of(path), error);
  return true;
}

}  // namespace weir::worker
