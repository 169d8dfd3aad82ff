// SPDX-License-Identifier: Apache-2.0
#include "engine/local/run_status.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "engine/local/run_token.h"
#include "engine/local/small_files.h"

namespace weir::engine {
namespace {

constexpr std::array<std::string_view, 6> kKindNames{"exited", "signalled",   "out_of_memory",
                                                     "lost",   "not_started", "hung"};
constexpr off_t kStatusBytes = 4096;
constexpr std::size_t kMaxExplanation = 1000;

std::optional<RunEnded> parse_end(std::string_view line) {
  const std::string_view kind = take_word(line);
  const auto code = parse_number<std::int32_t>(take_word(line));
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    if (kKindNames[i] == kind && code)
      return RunEnded{static_cast<RunEndKind>(i), *code, std::string{line}};
  return std::nullopt;
}

std::optional<ProcessIdentity> parse_identity(std::string_view line) {
  const auto pid = parse_number<std::int32_t>(take_word(line));
  const auto start_time = parse_number<std::uint64_t>(take_word(line));
  if (!pid || !start_time || line.empty()) return std::nullopt;
  return ProcessIdentity{*pid, *start_time, std::string{line}};
}

// Of an older supervisor, nothing.
Duration parse_duration(std::string_view text) {
  return Duration{parse_number<std::int64_t>(text).value_or(0)};
}

// Written twice: a reader that meets the writer sees two different numbers.
std::optional<std::int64_t> parse_progress(std::string_view line) {
  const auto first = parse_number<std::int64_t>(take_word(line));
  if (!line.ends_with('\n')) return std::nullopt;
  line.remove_suffix(1);
  return first == parse_number<std::int64_t>(line) ? first : std::nullopt;
}

}  // namespace

RunStatus parse_run_status(std::string_view lines) {
  RunStatus status;
  for (std::size_t end = lines.find('\n'); end != std::string_view::npos; end = lines.find('\n')) {
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    const std::string_view what = take_word(line);
    if (what == "identity") status.supervisor = parse_identity(line);
    if (what == "ready") status.is_ready = true;
    if (what == "saved") status.longest_save = parse_duration(take_word(line));
    if (what == "stopped") {
      status.is_stopped = true;
      status.stop.announce = parse_duration(take_word(line));
      status.stop.save = parse_duration(take_word(line));
      status.stop.stop = parse_duration(take_word(line));
    }
    if (what == "ended" && !status.ended) status.ended = parse_end(line);
  }
  return status;
}

RunStatus read_run_status(int folder) {
  RunStatus status = parse_run_status(read_small_file(folder, "status").value_or(""));
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const auto line = read_small_file(folder, "progress");
    if (!line) break;
    if (const auto progress = parse_progress(*line)) {
      status.progress = *progress;
      break;
    }
  }
  return status;
}

int RunStatusWriter::open(int folder) {
  folder_ = folder;
  status_ = OwnedFd{
      openat(folder, "status", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!status_) return errno;
  if (fallocate(status_.get(), FALLOC_FL_KEEP_SIZE, 0, kStatusBytes) != 0 &&
      (errno == ENOSPC || errno == EFBIG)) {
    return errno;
  }
  return 0;
}

int RunStatusWriter::note_identity(const ProcessIdentity& identity) {
  return write_all(status_.get(), "identity " + std::to_string(identity.pid) + " " +
                                      std::to_string(identity.start_time) + " " + identity.boot_id +
                                      "\n");
}

int RunStatusWriter::note_ready() {
  return write_all(status_.get(), "ready\n");
}

int RunStatusWriter::note_ended(const RunEnded& end) {
  std::string line = "ended ";
  line += kKindNames[static_cast<std::size_t>(end.kind)];
  line += " " + std::to_string(end.code) + " ";
  for (const char c : end.explanation.substr(0, kMaxExplanation)) line += c == '\n' ? ' ' : c;
  line += '\n';
  return write_all(status_.get(), line);
}

int RunStatusWriter::note_saved(Duration took) {
  return write_all(status_.get(), "saved " + std::to_string(took.count()) + "\n");
}

int RunStatusWriter::note_stopped(const ChangeTimes& times) {
  return write_all(status_.get(), "stopped " + std::to_string(times.announce.count()) + " " +
                                      std::to_string(times.save.count()) + " " +
                                      std::to_string(times.stop.count()) + "\n");
}

void RunStatusWriter::note_progress(std::int64_t iterations) {
  if (!progress_)
    progress_ =
        OwnedFd{openat(folder_, "progress", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  char line[64];
  const int size =
      std::snprintf(line, sizeof line, "%020lld %020lld\n", static_cast<long long>(iterations),
                    static_cast<long long>(iterations));
  // Kept for a restart of the engine only; without it the next report tells.
  [[maybe_unused]] const ssize_t written =
      pwrite(progress_.get(), line, static_cast<std::size_t>(size), 0);
}

}  // namespace weir::engine
