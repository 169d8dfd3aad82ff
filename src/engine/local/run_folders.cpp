// SPDX-License-Identifier: Apache-2.0
#include "engine/local/run_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

#include "engine/local/run_log.h"
#include "engine/local/run_status.h"
#include "engine/local/small_files.h"

namespace weir::engine {
namespace {

constexpr mode_t kPrivate = 0700;

tl::unexpected<Error> unusable(const std::filesystem::path& folder, const std::string& why) {
  Error error{ErrorCode::unavailable, {}};
  error.details.add({folder.string(), 0, "", why, "a folder that the engine can use alone"});
  return tl::unexpected<Error>(std::move(error));
}

OwnedFd open_folder(int parent, const std::string& name) {
  return OwnedFd{openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
}

int make_folder(int parent, const std::string& name) {
  return mkdirat(parent, name.c_str(), kPrivate) == 0 || errno == EEXIST ? 0 : errno;
}

OwnedFd make_and_open(int parent, const std::string& name) {
  return make_folder(parent, name) == 0 ? open_folder(parent, name) : OwnedFd{};
}

void for_each_entry(int folder, const std::function<void(const char*)>& visit) {
  const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = fd >= 0 ? fdopendir(fd) : nullptr;
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(entry->d_name);
  }
  closedir(entries);
}

template <class Number>
std::vector<Number> numbered_entries(int folder) {
  std::vector<Number> numbers;
  for_each_entry(folder, [&numbers](const char* name) {
    if (const auto number = parse_number<Number>(name)) numbers.push_back(*number);
  });
  std::ranges::sort(numbers);
  return numbers;
}

bool has_file(int folder, const char* name) {
  return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// May be passed through, if one knows the names below it, but not listed.
int let_through(int folder) {
  return fchmod(folder, 0711) == 0 ? 0 : errno;
}

int give_to(const RunUser& user, int parent, const std::string& name) {
  const OwnedFd folder = open_folder(parent, name);
  return folder && fchown(folder.get(), user.user, user.group) == 0 ? 0 : errno;
}

void remove_bookkeeping(int generation_folder) {
  for (const char* name : {"order", "status", "progress"}) unlinkat(generation_folder, name, 0);
}

std::string new_store_id() {
  unsigned char bytes[8]{};
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return "";
  std::string id;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    id += digits;
  }
  return id;
}

// An engine that was killed while it started a supervisor leaves its lock to that one, until the
// supervisor's program begins.
bool lock_within_a_second(int lock) {
  constexpr timespec kLookAgain{0, 10'000'000};
  for (int i = 0; i < 100; ++i) {
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) return false;
    nanosleep(&kLookAgain, nullptr);
  }
  return false;
}

bool is_store_id(std::string_view id) {
  return id.size() == 16 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<std::unique_ptr<RunFolders>> RunFolders::open(const std::filesystem::path& folder) {
  auto folders = std::make_unique<RunFolders>();
  std::error_code ignored;
  folders->path_ = std::filesystem::absolute(folder, ignored);
  std::filesystem::create_directories(folders->path_, ignored);
  folders->root_ = OwnedFd{::open(folders->path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!folders->root_) return unusable(folder, std::strerror(errno));
  const int root = folders->root_.get();
  folders->engine_lock_ =
      OwnedFd{openat(root, "engine.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!folders->engine_lock_) return unusable(folder, std::strerror(errno));
  if (!lock_within_a_second(folders->engine_lock_.get()))
    return unusable(folder, "another engine uses it");
  folders->runs_ = make_and_open(root, "runs");
  folders->past_ = make_and_open(root, "past");
  if (!folders->runs_ || !folders->past_) return unusable(folder, std::strerror(errno));

  folders->store_ = read_small_file(root, "id").value_or("");
  if (!is_store_id(folders->store_)) {
    folders->store_ = new_store_id();
    // Written aside first: half an id would make strangers of the processes that run.
    const int error = write_small_file(root, "id.new", folders->store_);
    if (error != 0) return unusable(folder, std::strerror(error));
    if (renameat(root, "id.new", root, "id") != 0) return unusable(folder, std::strerror(errno));
  }
  return folders;
}

std::string RunFolders::path_of(RunKey run) const {
  return (path_ / "runs" / std::to_string(run.job) / std::to_string(run.generation)).string();
}

std::string RunFolders::work_path(RunKey run) const {
  return path_of(run) + "/folder";
}

std::string RunFolders::checkpoint_path(std::uint64_t job) const {
  return (path_ / "runs" / std::to_string(job) / "checkpoint").string();
}

std::vector<RunFolders::Known> RunFolders::known_jobs() const {
  std::vector<Known> known;
  for (const std::uint64_t job : numbered_entries<std::uint64_t>(runs_.get())) {
    const OwnedFd folder = open_folder(runs_.get(), std::to_string(job));
    Known& entry = known.emplace_back(Known{job, 0});
    for (const std::uint32_t generation : numbered_entries<std::uint32_t>(folder.get()))
      if (has_file(folder.get(), (std::to_string(generation) + "/order").c_str()))
        entry.generation = generation;
  }
  return known;
}

bool RunFolders::was_forgotten(std::uint64_t job) const {
  return has_file(past_.get(), std::to_string(job).c_str());
}

RunFolders::Lock RunFolders::try_lock(std::uint64_t job) const {
  const OwnedFd folder = make_and_open(runs_.get(), std::to_string(job));
  if (!folder) return {{}, errno};
  OwnedFd lock{openat(folder.get(), "lock", O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return {{}, errno};
  return {std::move(lock), 0};
}

int RunFolders::write_order(const SupervisorOrder& order) const {
  const OwnedFd job = open_folder(runs_.get(), std::to_string(order.run.job));
  if (!job) return errno;
  for (const std::uint32_t older : numbered_entries<std::uint32_t>(job.get()))
    if (const OwnedFd folder = open_folder(job.get(), std::to_string(older)))
      remove_bookkeeping(folder.get());
  if (const int error = make_folder(job.get(), "checkpoint"); error != 0) return error;
  const OwnedFd folder = make_and_open(job.get(), std::to_string(order.run.generation));
  if (!folder) return errno;
  const bool has_work_folder = order.directory == work_path(order.run);
  if (has_work_folder)
    if (const int error = make_folder(folder.get(), "folder"); error != 0) return error;
  if (order.user) {
    for (const int passed : {root_.get(), runs_.get(), past_.get(), job.get(), folder.get()})
      if (const int error = let_through(passed); error != 0) return error;
    if (const int error = give_to(*order.user, job.get(), "checkpoint"); error != 0) return error;
    if (has_work_folder)
      if (const int error = give_to(*order.user, folder.get(), "folder"); error != 0) return error;
  }
  return write_small_file(folder.get(), "order", encode(order));
}

std::optional<SupervisorOrder> RunFolders::read_order(RunKey run) const {
  const OwnedFd folder = open_run(run);
  const auto bytes = folder ? read_small_file(folder.get(), "order") : std::nullopt;
  return bytes ? decode_supervisor_order(*bytes) : std::nullopt;
}

void RunFolders::remove_order(RunKey run) const {
  if (const OwnedFd folder = open_run(run)) remove_bookkeeping(folder.get());
}

OwnedFd RunFolders::open_job(std::uint64_t job) const {
  OwnedFd folder = open_folder(runs_.get(), std::to_string(job));
  return folder ? std::move(folder) : open_folder(past_.get(), std::to_string(job));
}

OwnedFd RunFolders::open_run(RunKey run) const {
  const OwnedFd job = open_job(run.job);
  return job ? open_folder(job.get(), std::to_string(run.generation)) : OwnedFd{};
}

void RunFolders::forget(std::uint64_t job) const {
  const std::string name = std::to_string(job);
  const OwnedFd folder = open_folder(runs_.get(), name);
  if (!folder) return;
  for (const std::uint32_t generation : numbered_entries<std::uint32_t>(folder.get()))
    if (const OwnedFd run = open_folder(folder.get(), std::to_string(generation)))
      remove_bookkeeping(run.get());
  unlinkat(folder.get(), "lock", 0);
  if (renameat(runs_.get(), name.c_str(), past_.get(), name.c_str()) == 0) return;
  remove(job);  // from an earlier life of the same number
  renameat(runs_.get(), name.c_str(), past_.get(), name.c_str());
}

void RunFolders::remove(std::uint64_t job) const {
  std::error_code ignored;
  std::filesystem::remove_all(path_ / "past" / std::to_string(job), ignored);
}

std::optional<std::uint32_t> RunFolders::latest_with_log(int job_folder) const {
  auto generations = numbered_entries<std::uint32_t>(job_folder);
  std::ranges::reverse(generations);
  for (const std::uint32_t generation : generations) {
    const OwnedFd run = open_folder(job_folder, std::to_string(generation));
    if (run && has_run_log(run.get())) return generation;
  }
  return std::nullopt;
}

Result<LogChunk> RunFolders::read_log(const LogPlace& place, std::size_t most_bytes) const {
  const auto missing = [&place](std::string found) {
    return bad_input(Diagnostic{"", 0, "log of job " + std::to_string(place.job.value),
                                std::move(found), "a job, generation and rank that has run here"});
  };
  if (place.rank < 0) return missing("rank " + std::to_string(place.rank));
  const OwnedFd job = open_job(place.job.value);
  if (!job) return missing("no run");
  LogChunk chunk;
  chunk.generation = place.generation;
  if (place.generation == 0) {
    const auto latest = latest_with_log(job.get());
    if (!latest) return missing("no output yet");
    chunk.generation = *latest;
  }
  const OwnedFd run = open_folder(job.get(), std::to_string(chunk.generation));
  if (!run) return missing("no generation " + std::to_string(chunk.generation));
  // In this order: what is read after the end was noted is all there is.
  const bool is_ended = !has_file(run.get(), "order") || read_run_status(run.get()).is_over();
  auto part = read_run_log(run.get(), place.rank, place.offset, most_bytes);
  if (!part) return missing("no output of rank " + std::to_string(place.rank));
  chunk.offset = part->offset;
  chunk.bytes = std::move(part->bytes);
  chunk.is_over = is_ended && part->reaches_end;
  return chunk;
}

}  // namespace weir::engine
