// SPDX-License-Identifier: Apache-2.0
#include "formats/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace weir::formats {
namespace {

constexpr std::size_t kCompressedChunk = std::size_t{64} << 10;
constexpr std::size_t kPeekSize = std::size_t{4} << 10;
constexpr std::string_view kGzipMagic = "\x1f\x8b";

std::string message_of(int error_number) {
  return std::generic_category().message(error_number);
}

tl::unexpected<Error> bad_file(const std::string& name, std::string field, std::string found,
                               std::string expected) {
  return bad_input(Diagnostic{name, 0, std::move(field), std::move(found), std::move(expected)});
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
  return bytes % kGibibyte == 0 && bytes > 0 ? fmt::format("{} GiB", bytes / kGibibyte)
                                             : fmt::format("{} bytes", bytes);
}

}  // namespace

class InputFile::Bytes {
 public:
  virtual ~Bytes() = default;
  // Up to into.size() bytes, perhaps fewer; 0 only at the end.
  virtual Result<std::size_t> some(std::span<char> into) = 0;

  Result<std::size_t> fill(std::span<char> into) {
    std::size_t filled = 0;
    while (filled < into.size()) {
      const auto more = some(into.subspan(filled));
      if (!more) return tl::unexpected(more.error());
      if (*more == 0) break;
      filled += *more;
    }
    return filled;
  }
};

class InputFile::DescriptorBytes final : public Bytes {
 public:
  DescriptorBytes(std::string name, int descriptor) : name_{std::move(name)}, fd_{descriptor} {}
  DescriptorBytes(const DescriptorBytes&) = delete;
  DescriptorBytes& operator=(const DescriptorBytes&) = delete;
  ~DescriptorBytes() override { ::close(fd_); }

  Result<std::size_t> some(std::span<char> into) override {
    while (true) {
      const ssize_t got = ::read(fd_, into.data(), into.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EINTR) continue;
      auto error = bad_file(name_, "file", "unreadable: " + message_of(errno), "a readable file");
      error.value().code = ErrorCode::failure;
      return error;
    }
  }

 private:
  std::string name_;
  int fd_;
};

class InputFile::MemoryBytes final : public Bytes {
 public:
  explicit MemoryBytes(std::string_view bytes) : rest_{bytes} {}

  Result<std::size_t> some(std::span<char> into) override {
    const std::size_t size = std::min(into.size(), rest_.size());
    if (size > 0) std::memcpy(into.data(), rest_.data(), size);
    rest_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view rest_;
};

// Gunzips another source. Several gzip members one after the other are one stream, as for gzip(1).
class InputFile::GzipBytes final : public Bytes {
 public:
  GzipBytes(std::string name, std::unique_ptr<Bytes> compressed)
      : name_{std::move(name)}, compressed_{std::move(compressed)} {
    // 15 bits of window; 16 asks for a gzip header. It can only fail for lack of memory.
    if (inflateInit2(&zlib_, 15 + 16) != Z_OK) throw std::bad_alloc{};
  }
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;
  ~GzipBytes() override { inflateEnd(&zlib_); }

  Result<std::size_t> some(std::span<char> into) override {
    zlib_.next_out = reinterpret_cast<Bytef*>(into.data());
    zlib_.avail_out = static_cast<uInt>(std::min(into.size(), kLargestStep));
    const std::size_t wanted = zlib_.avail_out;
    while (zlib_.avail_out == wanted) {
      if (zlib_.avail_in == 0) {
        const auto got = compressed_->fill(chunk_);
        if (!got) return tl::unexpected(got.error());
        if (*got == 0 && between_members_) return 0;
        if (*got == 0) return bad_file(name_, "gzip data", "cut short", "a complete gzip file");
        zlib_.next_in = reinterpret_cast<Bytef*>(chunk_.data());
        zlib_.avail_in = static_cast<uInt>(*got);
      }
      if (between_members_) {
        inflateReset(&zlib_);
        between_members_ = false;
      }
      const int state = inflate(&zlib_, Z_NO_FLUSH);
      if (state == Z_STREAM_END) {
        between_members_ = true;
      } else if (state != Z_OK && state != Z_BUF_ERROR) {
        return bad_file(name_, "gzip data",
                        fmt::format("corrupt: {}", zlib_.msg == nullptr ? "unknown" : zlib_.msg),
                        "an intact gzip file (check it with gzip -t)");
      }
    }
    return wanted - zlib_.avail_out;
  }

 private:
  static constexpr std::size_t kLargestStep = std::size_t{1} << 30;

  std::string name_;
  std::unique_ptr<Bytes> compressed_;
  std::vector<char> chunk_ = std::vector<char>(kCompressedChunk);
  z_stream zlib_{};
  bool between_members_ = false;
};

namespace {

// Bytes already taken from a source to look at them, then the rest of it.
template <class Source>
class Rewound final : public Source {
 public:
  Rewound(std::string head, std::unique_ptr<Source> rest)
      : head_{std::move(head)}, rest_{std::move(rest)} {}

  Result<std::size_t> some(std::span<char> into) override {
    if (used_ == head_.size()) return rest_->some(into);
    const std::size_t size = std::min(into.size(), head_.size() - used_);
    std::memcpy(into.data(), head_.data() + used_, size);
    used_ += size;
    return size;
  }

 private:
  std::string head_;
  std::size_t used_ = 0;
  std::unique_ptr<Source> rest_;
};

}  // namespace

InputFile::InputFile(std::string name, std::unique_ptr<Bytes> bytes, std::uint64_t max_bytes)
    : name_{std::move(name)}, bytes_{std::move(bytes)}, max_bytes_{max_bytes} {}
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;
InputFile::~InputFile() = default;

Result<InputFile> InputFile::make(std::string name, std::unique_ptr<Bytes> raw,
                                  std::uint64_t max_bytes) {
  std::string head(kGzipMagic.size(), '\0');
  const auto got = raw->fill(head);
  if (!got) return tl::unexpected(got.error());
  head.resize(*got);
  const bool is_gzip = head == kGzipMagic;
  std::unique_ptr<Bytes> bytes = std::make_unique<Rewound<Bytes>>(std::move(head), std::move(raw));
  if (is_gzip) bytes = std::make_unique<GzipBytes>(name, std::move(bytes));
  return InputFile{std::move(name), std::move(bytes), max_bytes};
}

Result<InputFile> InputFile::open(const std::filesystem::path& path, std::uint64_t max_bytes) {
  std::string name = path.string();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return bad_file(name, "file", "", "the path of an existing file");
  }
  if (descriptor < 0) {
    return bad_file(name, "file", "unreadable: " + message_of(errno), "a file you may read");
  }
  auto bytes = std::make_unique<DescriptorBytes>(name, descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    return bad_file(name, "path", "a directory", "a file");
  }
  return make(std::move(name), std::move(bytes), max_bytes);
}

Result<InputFile> InputFile::from_memory(std::string name, std::string_view bytes,
                                         std::uint64_t max_bytes) {
  return make(std::move(name), std::make_unique<MemoryBytes>(bytes), max_bytes);
}

Result<std::size_t> InputFile::read_counted(std::span<char> into) {
  const auto got = bytes_->fill(into);
  if (!got) return got;
  bytes_read_ += *got;
  if (bytes_read_ > max_bytes_) {
    return bad_file(name_, "content", "longer than " + size_text(max_bytes_),
                    "at most " + size_text(max_bytes_) + " (uncompressed)");
  }
  return got;
}

Result<std::size_t> InputFile::read(std::span<char> into) {
  const std::size_t size = std::min(into.size(), ahead_.size());
  if (size > 0) std::memcpy(into.data(), ahead_.data(), size);
  ahead_.erase(0, size);
  if (size == into.size()) return size;
  const auto got = read_counted(into.subspan(size));
  if (!got) return got;
  return size + *got;
}

Result<std::string_view> InputFile::peek() {
  if (ahead_.empty()) {
    std::string head(kPeekSize, '\0');
    const auto got = read_counted(head);
    if (!got) return tl::unexpected(got.error());
    head.resize(*got);
    ahead_ = std::move(head);
  }
  return std::string_view{ahead_};
}

Result<std::string> InputFile::read_all(std::uint64_t at_most) {
  constexpr std::size_t kStep = std::size_t{256} << 10;
  std::string all;
  while (true) {
    const std::size_t before = all.size();
    const std::size_t room = std::min<std::uint64_t>(std::max(kStep, before), at_most - before);
    all.resize(before + room);
    const auto got = read(std::span{all}.subspan(before));
    if (!got) return tl::unexpected(got.error());
    all.resize(before + *got);
    if (*got < room || all.size() == at_most) return all;
  }
}

}  // namespace weir::formats
