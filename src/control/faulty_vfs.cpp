// SPDX-License-Identifier: Apache-2.0
#include "control/faulty_vfs.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "domain/seeded_rng.h"

namespace weir::control {
namespace {

constexpr std::int64_t kSectorBytes = 512;
using Sector = std::array<char, kSectorBytes>;

// What a file's reader sees beside what is on the disk.
struct Unsynced {
  std::map<std::int64_t, Sector> sectors;  // by number
  std::int64_t size = 0;
  std::int64_t kept = 0;  // of the file on disk only so much counts: it was cut there
};

}  // namespace

struct FaultyVfs::Disk {
  mutable std::mutex mutex;
  std::string name;
  sqlite3_vfs* real = nullptr;
  sqlite3_vfs vfs{};
  std::map<std::string, Unsynced> files;
  std::uint64_t operations = 0;
  std::optional<std::uint64_t> power_fails_at;
  std::optional<std::uint64_t> fails_from;
  int failure = SQLITE_OK;
  std::uint64_t seed = 0;
  bool has_power = true;
  bool lies = false;

  int begin_operation();
  void lose_power();
  void write_survivors(const std::string& path, const Unsynced& unsynced, SeededRng& rng) const;
};

namespace {

using Disk = FaultyVfs::Disk;

// SQLite allocates it, with the real file behind it.
struct FaultyFile {
  sqlite3_file base;
  Disk* disk;
  const char* path;  // null: a temporary file, which is passed through
  sqlite3_file* real;
};

FaultyFile& as_faulty(sqlite3_file* file) {
  return *reinterpret_cast<FaultyFile*>(file);
}
sqlite3_file* real_of(sqlite3_file* file) {
  return as_faulty(file).real;
}
Disk& disk_of(sqlite3_vfs* vfs) {
  return *static_cast<Disk*>(vfs->pAppData);
}

int read_real(sqlite3_file* real, char* to, std::int64_t size, std::int64_t at) {
  const int result = real->pMethods->xRead(real, to, static_cast<int>(size), at);
  return result == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : result;  // zeros past the end
}

// The bytes of the file on disk that count, zeros after them.
int read_kept(const FaultyFile& file, const Unsynced& unsynced, char* to, std::int64_t size,
              std::int64_t at) {
  const std::int64_t there = std::clamp<std::int64_t>(unsynced.kept - at, 0, size);
  std::memset(to + there, 0, static_cast<std::size_t>(size - there));
  return there > 0 ? read_real(file.real, to, there, at) : SQLITE_OK;
}

int flush(const FaultyFile& file, Unsynced& unsynced) {
  sqlite3_int64 real_size = 0;
  int result = file.real->pMethods->xFileSize(file.real, &real_size);
  if (result == SQLITE_OK && real_size > unsynced.kept)
    result = file.real->pMethods->xTruncate(file.real, unsynced.kept);
  for (const auto& [number, sector] : unsynced.sectors) {
    if (result != SQLITE_OK) return result;
    const std::int64_t at = number * kSectorBytes;
    const std::int64_t size = std::min(kSectorBytes, unsynced.size - at);
    if (size > 0)
      result = file.real->pMethods->xWrite(file.real, sector.data(), static_cast<int>(size), at);
  }
  unsynced.sectors.clear();
  unsynced.kept = unsynced.size;
  return result;
}

int faulty_close(sqlite3_file* file) {
  sqlite3_file* real = real_of(file);
  return real->pMethods == nullptr ? SQLITE_OK : real->pMethods->xClose(real);
}

int faulty_read(sqlite3_file* opened, void* to, int size, sqlite3_int64 at) {
  const FaultyFile& file = as_faulty(opened);
  if (file.path == nullptr) return file.real->pMethods->xRead(file.real, to, size, at);
  const std::lock_guard lock{file.disk->mutex};
  if (!file.disk->has_power) return SQLITE_IOERR_READ;
  const Unsynced& unsynced = file.disk->files[file.path];
  auto* bytes = static_cast<char*>(to);
  if (const int result = read_kept(file, unsynced, bytes, size, at); result != SQLITE_OK)
    return result;
  auto sector = unsynced.sectors.lower_bound(at / kSectorBytes);
  for (; sector != unsynced.sectors.end() && sector->first * kSectorBytes < at + size; ++sector) {
    const std::int64_t start = sector->first * kSectorBytes;
    const std::int64_t from = std::max<std::int64_t>(start, at);
    const std::int64_t end = std::min<std::int64_t>(start + kSectorBytes, at + size);
    std::memcpy(bytes + (from - at), sector->second.data() + (from - start),
                static_cast<std::size_t>(end - from));
  }
  if (at + size <= unsynced.size) return SQLITE_OK;
  const std::int64_t there = std::clamp<std::int64_t>(unsynced.size - at, 0, size);
  std::memset(bytes + there, 0, static_cast<std::size_t>(size - there));
  return SQLITE_IOERR_SHORT_READ;
}

int faulty_write(sqlite3_file* opened, const void* from, int size, sqlite3_int64 at) {
  const FaultyFile& file = as_faulty(opened);
  if (file.path == nullptr) return file.real->pMethods->xWrite(file.real, from, size, at);
  const std::lock_guard lock{file.disk->mutex};
  if (!file.disk->has_power) return SQLITE_IOERR_WRITE;
  Unsynced& unsynced = file.disk->files[file.path];
  const auto* bytes = static_cast<const char*>(from);
  std::vector<std::pair<std::int64_t, Sector>> changed;
  for (std::int64_t start = at / kSectorBytes * kSectorBytes; start < at + size;
       start += kSectorBytes) {
    Sector sector{};
    const auto known = unsynced.sectors.find(start / kSectorBytes);
    if (known != unsynced.sectors.end()) {
      sector = known->second;
    } else if (const int result = read_kept(file, unsynced, sector.data(), kSectorBytes, start);
               result != SQLITE_OK) {
      return result;
    }
    const std::int64_t begin = std::max<std::int64_t>(start, at);
    const std::int64_t end = std::min<std::int64_t>(start + kSectorBytes, at + size);
    std::memcpy(sector.data() + (begin - start), bytes + (begin - at),
                static_cast<std::size_t>(end - begin));
    changed.emplace_back(start / kSectorBytes, sector);
  }
  const int result = file.disk->begin_operation();
  if (result != SQLITE_OK && file.disk->has_power) return result;
  // Power fails in the middle of it: what is written now may or may not survive.
  for (auto& [number, sector] : changed) unsynced.sectors[number] = sector;
  unsynced.size = std::max<std::int64_t>(unsynced.size, at + size);
  if (result != SQLITE_OK) file.disk->lose_power();
  return result;
}

int faulty_truncate(sqlite3_file* opened, sqlite3_int64 size) {
  const FaultyFile& file = as_faulty(opened);
  if (file.path == nullptr) return file.real->pMethods->xTruncate(file.real, size);
  const std::lock_guard lock{file.disk->mutex};
  if (const int result = file.disk->begin_operation(); result != SQLITE_OK) {
    file.disk->lose_power();
    return result;
  }
  Unsynced& unsynced = file.disk->files[file.path];
  unsynced.sectors.erase(unsynced.sectors.lower_bound((size + kSectorBytes - 1) / kSectorBytes),
                         unsynced.sectors.end());
  if (const auto last = unsynced.sectors.find(size / kSectorBytes); last != unsynced.sectors.end())
    std::fill(last->second.begin() + size % kSectorBytes, last->second.end(), '\0');
  unsynced.kept = std::min<std::int64_t>(unsynced.kept, size);
  unsynced.size = size;
  return SQLITE_OK;
}

int faulty_sync(sqlite3_file* opened, int flags) {
  const FaultyFile& file = as_faulty(opened);
  if (file.path == nullptr) return file.real->pMethods->xSync(file.real, flags);
  const std::lock_guard lock{file.disk->mutex};
  if (const int result = file.disk->begin_operation(); result != SQLITE_OK) {
    file.disk->lose_power();
    return result;
  }
  return file.disk->lies ? SQLITE_OK : flush(file, file.disk->files[file.path]);
}

int faulty_file_size(sqlite3_file* opened, sqlite3_int64* size) {
  const FaultyFile& file = as_faulty(opened);
  if (file.path == nullptr) return file.real->pMethods->xFileSize(file.real, size);
  const std::lock_guard lock{file.disk->mutex};
  if (!file.disk->has_power) return SQLITE_IOERR_FSTAT;
  *size = file.disk->files[file.path].size;
  return SQLITE_OK;
}

int faulty_control(sqlite3_file* file, int operation, void* argument) {
  // These would change the real file.
  if (operation == SQLITE_FCNTL_SIZE_HINT || operation == SQLITE_FCNTL_CHUNK_SIZE ||
      operation == SQLITE_FCNTL_MMAP_SIZE)
    return SQLITE_NOTFOUND;
  return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

int faulty_lock(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xLock(real_of(file), level);
}
int faulty_unlock(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xUnlock(real_of(file), level);
}
int faulty_check_lock(sqlite3_file* file, int* is_locked) {
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), is_locked);
}
int faulty_sector_size(sqlite3_file* file) {
  return real_of(file)->pMethods->xSectorSize(real_of(file));
}
int faulty_characteristics(sqlite3_file* file) {
  return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file)) &
         SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}
int faulty_shm_map(sqlite3_file* file, int page, int size, int extends, void volatile** memory) {
  return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extends, memory);
}
int faulty_shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}
void faulty_shm_barrier(sqlite3_file* file) {
  real_of(file)->pMethods->xShmBarrier(real_of(file));
}
int faulty_shm_unmap(sqlite3_file* file, int deletes) {
  return real_of(file)->pMethods->xShmUnmap(real_of(file), deletes);
}

constexpr sqlite3_io_methods kMethods = {2,  // with shared memory, without memory mapping
                                         faulty_close,
                                         faulty_read,
                                         faulty_write,
                                         faulty_truncate,
                                         faulty_sync,
                                         faulty_file_size,
                                         faulty_lock,
                                         faulty_unlock,
                                         faulty_check_lock,
                                         faulty_control,
                                         faulty_sector_size,
                                         faulty_characteristics,
                                         faulty_shm_map,
                                         faulty_shm_lock,
                                         faulty_shm_barrier,
                                         faulty_shm_unmap,
                                         nullptr,
                                         nullptr};

int faulty_open(sqlite3_vfs* vfs, const char* path, sqlite3_file* opened, int flags,
                int* flags_out) {
  Disk& disk = disk_of(vfs);
  FaultyFile& file = as_faulty(opened);
  file.base.pMethods = nullptr;
  file.disk = &disk;
  file.real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(opened) + sizeof(FaultyFile));
  file.real->pMethods = nullptr;
  constexpr int kDurable = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
  file.path = path != nullptr && (flags & kDurable) != 0 ? path : nullptr;
  const std::lock_guard lock{disk.mutex};
  if (!disk.has_power) return SQLITE_CANTOPEN;
  const int result = disk.real->xOpen(disk.real, path, file.real, flags, flags_out);
  if (result != SQLITE_OK) return result;
  if (file.path != nullptr && disk.files.find(file.path) == disk.files.end()) {
    sqlite3_int64 size = 0;
    file.real->pMethods->xFileSize(file.real, &size);
    disk.files[file.path] = Unsynced{{}, size, size};
  }
  file.base.pMethods = &kMethods;
  return SQLITE_OK;
}

int faulty_delete(sqlite3_vfs* vfs, const char* path, int syncs_folder) {
  Disk& disk = disk_of(vfs);
  const std::lock_guard lock{disk.mutex};
  if (const int result = disk.begin_operation(); result != SQLITE_OK) {
    disk.lose_power();
    return result == SQLITE_IOERR ? SQLITE_IOERR_DELETE : result;
  }
  disk.files.erase(path);
  return disk.real->xDelete(disk.real, path, syncs_folder);
}

int faulty_access(sqlite3_vfs* vfs, const char* path, int flags, int* result) {
  return disk_of(vfs).real->xAccess(disk_of(vfs).real, path, flags, result);
}
int faulty_full_path(sqlite3_vfs* vfs, const char* path, int size, char* out) {
  return disk_of(vfs).real->xFullPathname(disk_of(vfs).real, path, size, out);
}
int faulty_randomness(sqlite3_vfs* vfs, int size, char* out) {
  return disk_of(vfs).real->xRandomness(disk_of(vfs).real, size, out);
}
int faulty_sleep(sqlite3_vfs* vfs, int microseconds) {
  return disk_of(vfs).real->xSleep(disk_of(vfs).real, microseconds);
}
int faulty_time(sqlite3_vfs* vfs, double* out) {
  return disk_of(vfs).real->xCurrentTime(disk_of(vfs).real, out);
}
int faulty_last_error(sqlite3_vfs* vfs, int size, char* out) {
  return disk_of(vfs).real->xGetLastError(disk_of(vfs).real, size, out);
}
int faulty_time64(sqlite3_vfs* vfs, sqlite3_int64* out) {
  return disk_of(vfs).real->xCurrentTimeInt64(disk_of(vfs).real, out);
}

}  // namespace

// Counts, and says how it ends. After a loss of power the caller calls lose_power().
int FaultyVfs::Disk::begin_operation() {
  if (!has_power) return SQLITE_IOERR;
  ++operations;
  if (power_fails_at && operations >= *power_fails_at) {
    has_power = false;
    return SQLITE_IOERR;
  }
  if (fails_from && operations >= *fails_from) return failure;
  return SQLITE_OK;
}

// Once; also harmless after a failure that is none of power.
void FaultyVfs::Disk::lose_power() {
  if (has_power || files.empty()) return;
  SeededRng rng{seed};
  for (const auto& [path, unsynced] : files) write_survivors(path, unsynced, rng);
  files.clear();
}

void FaultyVfs::Disk::write_survivors(const std::string& path, const Unsynced& unsynced,
                                      SeededRng& rng) const {
  std::FILE* file = std::fopen(path.c_str(), "r+b");
  if (file == nullptr) return;
  // Nothing, everything, or some of it reached the disk; and perhaps the file's new size.
  const std::uint64_t mood = rng.below(4);
  const auto survives = [&] { return mood == 0 ? false : mood == 1 ? true : rng.below(2) == 0; };
  if (survives()) {
    std::fflush(file);
    [[maybe_unused]] const int cut = ::truncate(path.c_str(), unsynced.kept);
  }
  for (const auto& [number, sector] : unsynced.sectors) {
    if (!survives()) continue;
    std::fseek(file, number * kSectorBytes, SEEK_SET);
    const std::int64_t size = std::min(kSectorBytes, unsynced.size - number * kSectorBytes);
    std::fwrite(sector.data(), 1, static_cast<std::size_t>(size), file);
  }
  std::fclose(file);
}

FaultyVfs::FaultyVfs(std::string name) : disk_{std::make_unique<Disk>()} {
  disk_->name = std::move(name);
  disk_->real = sqlite3_vfs_find(nullptr);
  sqlite3_vfs& vfs = disk_->vfs;
  vfs.iVersion = 2;
  vfs.szOsFile = static_cast<int>(sizeof(FaultyFile)) + disk_->real->szOsFile;
  vfs.mxPathname = disk_->real->mxPathname;
  vfs.zName = disk_->name.c_str();
  vfs.pAppData = disk_.get();
  vfs.xOpen = faulty_open;
  vfs.xDelete = faulty_delete;
  vfs.xAccess = faulty_access;
  vfs.xFullPathname = faulty_full_path;
  vfs.xRandomness = faulty_randomness;
  vfs.xSleep = faulty_sleep;
  vfs.xCurrentTime = faulty_time;
  vfs.xGetLastError = faulty_last_error;
  vfs.xCurrentTimeInt64 = faulty_time64;
  sqlite3_vfs_register(&vfs, 0);
}

FaultyVfs::~FaultyVfs() {
  sqlite3_vfs_unregister(&disk_->vfs);
}

void FaultyVfs::lose_power_at(std::uint64_t operation, std::uint64_t seed) {
  const std::lock_guard lock{disk_->mutex};
  disk_->power_fails_at = disk_->operations + operation;
  disk_->seed = seed;
}

bool FaultyVfs::has_lost_power() const {
  const std::lock_guard lock{disk_->mutex};
  return !disk_->has_power;
}

void FaultyVfs::restore_power() {
  const std::lock_guard lock{disk_->mutex};
  disk_->has_power = true;
  disk_->power_fails_at.reset();
  disk_->files.clear();
}

void FaultyVfs::lie_about_syncs() {
  const std::lock_guard lock{disk_->mutex};
  disk_->lies = true;
}

void FaultyVfs::fail_from(std::uint64_t operation, int sqlite_result) {
  const std::lock_guard lock{disk_->mutex};
  disk_->fails_from = disk_->operations + operation;
  disk_->failure = sqlite_result;
}

void FaultyVfs::heal() {
  const std::lock_guard lock{disk_->mutex};
  disk_->fails_from.reset();
}

std::uint64_t FaultyVfs::operations() const {
  const std::lock_guard lock{disk_->mutex};
  return disk_->operations;
}

}  // namespace weir::control
