// SPDX-License-Identifier: Apache-2.0
#include "control/store_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

namespace weir::control {
namespace {

// One line of fixed width: "pid 1234567890 store 0123456789abcdef entry 20 digits chain 20 digits"
constexpr std::size_t kLineBytes = 96;

// A process that was killed while it started another one leaves its lock to that one, until the new
// program begins.
constexpr std::chrono::milliseconds kHeirsLife{5000};
constexpr std::chrono::milliseconds kLookAgain{10};

std::string read_line(int descriptor) {
  std::array<char, kLineBytes> bytes{};
  const ssize_t size = ::pread(descriptor, bytes.data(), bytes.size(), 0);
  return size > 0 ? std::string{bytes.data(), static_cast<std::size_t>(size)} : std::string{};
}

// The word after that one; empty when there is none.
std::string_view word_after(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + name.size());
  const std::size_t start = rest.find_first_not_of(' ');
  if (start == std::string_view::npos) return {};
  rest.remove_prefix(start);
  return rest.substr(0, rest.find_first_of(" \n"));
}

std::optional<std::uint64_t> number_after(std::string_view line, std::string_view name) {
  const std::string_view word = word_after(line, name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::optional<CommittedMark> mark_in(std::string_view line) {
  const auto entry = number_after(line, "entry");
  const auto chain = number_after(line, "chain");
  const std::string_view store = word_after(line, "store");
  if (!entry || !chain || store.empty()) return std::nullopt;
  return CommittedMark{std::string{store}, *entry, *chain};
}

tl::unexpected<Error> lock_refused(const std::filesystem::path& file, std::string found,
                                   std::string expected) {
  Diagnostics details;
  details.add({file.string(), 0, "lock", std::move(found), std::move(expected)});
  return tl::unexpected{Error{ErrorCode::unavailable, std::move(details)}};
}

bool is_gone(std::optional<std::uint64_t> pid) {
  return pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH;
}

// Waits only for the heirs of a process that is gone.
bool try_lock(int descriptor) {
  for (std::chrono::milliseconds waited{0};; waited += kLookAgain) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) return false;
    if (waited >= kHeirsLife || !is_gone(number_after(read_line(descriptor), "pid"))) {
      errno = EWOULDBLOCK;
      return false;
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace

Result<StoreLock> StoreLock::take(const std::filesystem::path& store) {
  std::filesystem::path file = store;
  file += ".lock";
  StoreLock lock;
  lock.descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock.descriptor_ < 0)
    return lock_refused(file, std::strerror(errno), "a folder in which files can be made");
  if (!try_lock(lock.descriptor_)) {
    if (errno != EWOULDBLOCK) return lock_refused(file, std::strerror(errno), "a lock on the file");
    const auto pid = number_after(read_line(lock.descriptor_), "pid");
    return lock_refused(file,
                        pid ? fmt::format("held by process {}", *pid) : "held by another process",
                        "no other weir to use this store; stop that one, or choose another file");
  }
  lock.found_ = mark_in(read_line(lock.descriptor_));
  const CommittedMark kept = lock.found_.value_or(CommittedMark{"none", 0, 0});
  lock.mark(kept.store, kept.entry, kept.chain);
  return lock;
}

StoreLock::StoreLock(StoreLock&& other) noexcept
    : descriptor_{std::exchange(other.descriptor_, -1)}, found_{std::move(other.found_)} {}

StoreLock& StoreLock::operator=(StoreLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(found_, other.found_);
  return *this;
}

StoreLock::~StoreLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void StoreLock::mark(std::string_view store, std::uint64_t entry, std::uint64_t chain) {
  std::array<char, kLineBytes> line;
  line.fill(' ');
  fmt::format_to_n(line.data(), kLineBytes - 1, "pid {} store {} entry {} chain {}", ::getpid(),
                   store, entry, chain);
  line.back() = '\n';
  // A disk that is full keeps the old mark: behind, but true.
  [[maybe_unused]] const ssize_t written = ::pwrite(descriptor_, line.data(), line.size(), 0);
}

}  // namespace weir::control
