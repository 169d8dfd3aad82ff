// SPDX-License-Identifier: Apache-2.0
#include "control/audit_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "formats/time_text.h"

namespace weir::control {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestPath = 512;
constexpr std::size_t kLongestMethod = 32;
constexpr auto kGather = std::chrono::milliseconds{20};

int open_to_append(const fs::path& file) {
  return open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

// Bytes of a client: only printable ASCII goes through as it is.
void append_text(std::string& line, std::string_view text, std::size_t most) {
  line += '"';
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      fmt::format_to(std::back_inserter(line), "\\u{:04x}", byte);
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

std::string audit_line(const AuditEntry& entry) {
  constexpr std::size_t kLongestName = 64;
  std::string line = fmt::format("{{\"at\":\"{}\",\"address\":", formats::format_time(entry.at));
  append_text(line, entry.address, kLongestName);
  if (!entry.token.empty()) {
    line += ",\"token\":";
    append_text(line, entry.token, kLongestName);
    line += ",\"role\":";
    append_text(line, entry.role, kLongestName);
  }
  line += ",\"method\":";
  append_text(line, entry.method, kLongestMethod);
  line += ",\"path\":";
  append_text(line, entry.path, kLongestPath);
  line += fmt::format(",\"status\":{}}}\n", entry.status);
  return line;
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(AuditOptions options) {
  const int fd = open_to_append(options.file);
  struct stat about {};
  if (fd < 0 || fstat(fd, &about) != 0) {
    Diagnostics details;
    details.add({options.file.string(), 0, "the audit log",
                 std::string{"cannot be opened: "} + std::strerror(errno),
                 "a file that can be written"});
    if (fd >= 0) close(fd);
    return tl::unexpected<Error>(Error{ErrorCode::failure, std::move(details)});
  }
  return std::unique_ptr<AuditLog>{
      new AuditLog{std::move(options), fd, static_cast<std::uint64_t>(about.st_size)}};
}

AuditLog::AuditLog(AuditOptions options, int fd, std::uint64_t size)
    : options_{std::move(options)}, fd_{fd}, size_{size}, thread_{[this] { run(); }} {}

AuditLog::~AuditLog() {
  {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
  if (fd_ >= 0) close(fd_);
}

void AuditLog::add(const AuditEntry& entry) {
  const std::string line = audit_line(entry);
  const std::lock_guard lock{mutex_};
  if (waiting_.size() + line.size() > options_.most_waiting_bytes) {
    ++lost_;
    return;
  }
  if (lost_ > 0) {
    waiting_ +=
        fmt::format("{{\"at\":\"{}\",\"lost\":{}}}\n", formats::format_time(entry.at), lost_);
    lost_ = 0;
  }
  waiting_ += line;
  changed_.notify_one();
}

void AuditLog::flush() {
  std::unique_lock lock{mutex_};
  written_.wait(lock, [&] { return waiting_.empty() && !is_writing_; });
}

void AuditLog::run() {
  std::unique_lock lock{mutex_};
  while (true) {
    changed_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    // A busy server writes many lines at once.
    if (!is_stopping_) {
      lock.unlock();
      std::this_thread::sleep_for(kGather);
      lock.lock();
    }
    const std::string lines = std::move(waiting_);
    waiting_.clear();
    is_writing_ = true;
    lock.unlock();
    write(lines);
    lock.lock();
    is_writing_ = false;
    written_.notify_all();
  }
}

void AuditLog::write(std::string_view lines) {
  if (size_ > 0 && size_ + lines.size() > options_.most_bytes) turn_over();
  if (fd_ < 0) fd_ = open_to_append(options_.file);
  while (fd_ >= 0 && !lines.empty()) {
    const ssize_t count = ::write(fd_, lines.data(), lines.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    size_ += static_cast<std::uint64_t>(count);
    lines.remove_prefix(static_cast<std::size_t>(count));
  }
  if (lines.empty()) return;
  // Lines that are cut off would spoil the next one.
  std::uint64_t lost = 0;
  for (const char c : lines) lost += c == '\n' ? 1 : 0;
  if (fd_ >= 0) static_cast<void>(::write(fd_, "\n", 1) == 1);
  const std::lock_guard lock{mutex_};
  lost_ += lost;
}

void AuditLog::turn_over() {
  std::error_code ignored;
  const auto older = [&](int number) {
    return fs::path{fmt::format("{}.{}", options_.file.string(), number)};
  };
  for (int i = options_.older_files; i > 1; --i) fs::rename(older(i - 1), older(i), ignored);
  if (options_.older_files > 0) {
    fs::rename(options_.file, older(1), ignored);
  } else {
    fs::remove(options_.file, ignored);
  }
  if (fd_ >= 0) close(fd_);
  fd_ = open_to_append(options_.file);
  size_ = 0;
}

}  // namespace weir::control
