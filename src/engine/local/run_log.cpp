// SPDX-License-Identifier: Apache-2.0
#include "engine/local/run_log.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/local/run_token.h"
#include "engine/local/small_files.h"

namespace weir::engine {
namespace {

constexpr std::string_view kPrefix = "rank-";
constexpr std::string_view kSuffix = ".log";

std::string piece_name(std::int32_t rank, std::int64_t begin) {
  return "rank-" + std::to_string(rank) + "." + std::to_string(begin) + ".log";
}

struct PieceName {
  std::int32_t rank = 0;
  std::int64_t begin = 0;
};

std::optional<PieceName> parse_piece_name(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(name.size(), kSuffix.size()));
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto rank = parse_number<std::int32_t>(name.substr(0, dot));
  const auto begin = parse_number<std::int64_t>(name.substr(dot + 1));
  if (!rank || !begin) return std::nullopt;
  return PieceName{*rank, *begin};
}

std::vector<PieceName> list_pieces(int folder) {
  std::vector<PieceName> pieces;
  const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = fd >= 0 ? fdopendir(fd) : nullptr;
  if (entries == nullptr) return pieces;
  while (const dirent* entry = readdir(entries))
    if (const auto piece = parse_piece_name(entry->d_name)) pieces.push_back(*piece);
  closedir(entries);
  std::ranges::sort(pieces, {}, &PieceName::begin);
  return pieces;
}

struct OpenPiece {
  OwnedFd file;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::vector<OpenPiece> open_pieces(int folder, std::int32_t rank) {
  std::vector<OpenPiece> pieces;
  for (const PieceName& name : list_pieces(folder)) {
    if (name.rank != rank) continue;
    OwnedFd file{openat(folder, piece_name(rank, name.begin).c_str(),
                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat about {};
    if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    pieces.push_back({std::move(file), name.begin, name.begin + about.st_size});
  }
  return pieces;
}

}  // namespace

int RunLogWriter::open(int folder, std::int32_t rank, std::int64_t limit_bytes,
                       const RunUser* owner) {
  folder_ = folder;
  rank_ = rank;
  limit_ = std::max<std::int64_t>(1, limit_bytes);
  owner_ = owner;
  return open_piece();
}

int RunLogWriter::open_piece() {
  OwnedFd next{openat(folder_, piece_name(rank_, end_).c_str(),
                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!next) return errno;
  if (owner_ != nullptr && fchown(next.get(), owner_->user, owner_->group) != 0) return errno;
  if (older_begin_ >= 0) unlinkat(folder_, piece_name(rank_, older_begin_).c_str(), 0);
  older_begin_ = piece_ ? piece_begin_ : -1;
  piece_ = std::move(next);
  piece_begin_ = end_;
  return 0;
}

void RunLogWriter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (end_ - piece_begin_ >= limit_ && open_piece() != 0) return;
    const auto room = static_cast<std::size_t>(limit_ - (end_ - piece_begin_));
    const ssize_t count = write(piece_.get(), bytes.data(), std::min(room, bytes.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    end_ += count;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::optional<RunLogPart> read_run_log(int folder, std::int32_t rank, std::int64_t offset,
                                       std::size_t most_bytes) {
  const std::vector<OpenPiece> pieces = open_pieces(folder, rank);
  if (pieces.empty()) return std::nullopt;
  const std::int64_t end = pieces.back().end;
  if (offset < 0) offset = std::max<std::int64_t>(0, end + offset);
  RunLogPart part;
  part.offset = std::clamp(offset, pieces.front().begin, end);
  std::int64_t at = part.offset;
  for (const OpenPiece& piece : pieces) {
    while (at >= piece.begin && at < piece.end && part.bytes.size() < most_bytes) {
      const std::size_t old_size = part.bytes.size();
      const auto want = std::min(most_bytes - old_size, static_cast<std::size_t>(piece.end - at));
      part.bytes.resize(old_size + want);
      const ssize_t count =
          pread(piece.file.get(), part.bytes.data() + old_size, want, at - piece.begin);
      part.bytes.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(0, count)));
      if (count <= 0) return part;
      at += count;
    }
  }
  part.reaches_end = at >= end;
  return part;
}

bool has_run_log(int folder) {
  return !list_pieces(folder).empty();
}

}  // namespace weir::engine
