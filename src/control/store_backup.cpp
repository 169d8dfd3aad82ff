// SPDX-License-Identifier: Apache-2.0
#include "control/store_backup.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "control/sqlite.h"

namespace weir::control {
namespace {

tl::unexpected<Error> refused_backup(const std::filesystem::path& file, std::string found,
                                     std::string expected) {
  return bad_input(Diagnostic{file.string(), 0, "backup", std::move(found), std::move(expected)});
}

Result<void> copy_pages(SqliteConnection& from, SqliteConnection& to) {
  // One read transaction: commits that happen meanwhile are not seen and do not start it anew.
  if (auto begun = from.execute("BEGIN; SELECT count(*) FROM log_end", "backup"); !begun)
    return begun;
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr) return tl::unexpected{to.error("backup")};
  constexpr int kAll = -1;
  sqlite3_backup_step(backup, kAll);
  if (sqlite3_backup_finish(backup) != SQLITE_OK) return tl::unexpected{to.error("backup")};
  return {};
}

Result<void> mark_as_copy(SqliteConnection& copy, std::string_view id) {
  auto set = copy.prepare("INSERT OR REPLACE INTO settings VALUES (?, ?)");
  if (!set) return tl::unexpected{std::move(set).error()};
  if (!set->bind_text(1, kStoreId).bind_text(2, id).run())
    return tl::unexpected{copy.error("backup")};
  return {};
}

Result<void> write_copy(const StoreOptions& options, const std::filesystem::path& to,
                        std::string_view id) {
  auto from = SqliteConnection::open(options.file, options.vfs, Access::read_write);
  if (!from) return tl::unexpected{std::move(from).error()};
  auto copy = SqliteConnection::open(to, options.vfs, Access::read_write_create);
  if (!copy) return tl::unexpected{std::move(copy).error()};
  if (auto copied = copy_pages(*from, *copy); !copied) return copied;
  if (auto set = copy->execute("PRAGMA synchronous = FULL", "backup"); !set) return set;
  return mark_as_copy(*copy, id);
}

// The new name is on the disk too.
void sync_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder =
      file.has_parent_path() ? file.parent_path() : std::filesystem::path{"."};
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

void remove_partial(const std::filesystem::path& file) {
  std::error_code ignored;
  for (const char* part : {"", "-wal", "-shm", "-journal"}) {
    std::filesystem::path name = file;
    name += part;
    std::filesystem::remove(name, ignored);
  }
}

}  // namespace

Result<void> back_up(const StoreOptions& options, const std::filesystem::path& to,
                     std::string_view id_of_copy) {
  std::error_code error;
  if (std::filesystem::exists(to, error))
    return refused_backup(to, "an existing file", "a name that is not used yet");
  std::filesystem::path partial = to;
  partial += ".partial";
  remove_partial(partial);
  const int descriptor = ::open(partial.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return refused_backup(to, "not writable", "a folder in which files can be made");
  ::close(descriptor);
  auto written = write_copy(options, partial, id_of_copy);
  // A link, not a rename: it never replaces a file that has appeared meanwhile.
  if (written) std::filesystem::create_hard_link(partial, to, error);
  remove_partial(partial);
  if (!written) return written;
  if (error) return refused_backup(to, error.message(), "a name that can be used");
  sync_folder(to);
  return {};
}

}  // namespace weir::control
