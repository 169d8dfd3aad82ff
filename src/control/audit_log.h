// SPDX-License-Identifier: Apache-2.0
//
// Who asked for what: a line of JSON for each request, appended to a file that is never changed.
//
//   {"at":"2026-11-16T08:00:00Z","address":"10.0.0.7:51234","token":"ci","role":"submitter",
//    "method":"POST","path":"/v1/jobs","status":201}
//
// No token, no query, no body. A full file becomes FILE.1, that one FILE.2, and so on; the oldest goes. Lines are
// written by a thread of its own within a moment; when the disk cannot follow, lines are lost and the next one that is
// written says how many.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "domain/result.h"
#include "domain/time.h"

namespace weir::control {

struct AuditEntry {
  Time at;
  std::string_view address;
  std::string_view token;  // its name; empty: nobody's
  std::string_view role;
  std::string_view method;  // empty: what came was no request
  std::string_view path;    // as sent
  int status = 0;
};

// With its newline. Whatever the client sent, it is one line of printable ASCII.
std::string audit_line(const AuditEntry& entry);

struct AuditOptions {
  std::filesystem::path file;
  std::uint64_t most_bytes = 64 << 20;  // then the next file
  int older_files = 4;
  std::size_t most_waiting_bytes = 8 << 20;
};

class AuditLog {
 public:
  static Result<std::unique_ptr<AuditLog>> open(AuditOptions options);
  ~AuditLog();  // writes what waits

  // From any thread; does not wait for the disk.
  void add(const AuditEntry& entry);
  // When everything that was added before is written.
  void flush();

 private:
  AuditLog(AuditOptions options, int fd, std::uint64_t size);
  void run();
  void write(std::string_view lines);
  void turn_over();

  const AuditOptions options_;
  int fd_;              // of the thread below
  std::uint64_t size_;  // of the file
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable written_;
  std::string waiting_;
  std::uint64_t lost_ = 0;
  bool is_writing_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::control
