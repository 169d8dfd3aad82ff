// SPDX-License-Identifier: Apache-2.0
//
// The bytes of an input: a file, plain or gzip (told apart by its first bytes, not by its name), or
// a block of memory that stands for one. Readers pull it in chunks, so memory stays bounded
// whatever the file is, a gzip bomb included; decompressed bytes beyond `max_bytes` are an error.
//
//   auto input = InputFile::open("nodes.csv.gz");
//   if (!input) return tl::unexpected(input.error());
//
// Pipes work too: `weir simulate --nodes <(zcat nodes.csv.gz)`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "domain/result.h"

namespace weir::formats {

inline constexpr std::uint64_t kMaxInputBytes = std::uint64_t{2} << 30;  // decompressed

class InputFile {
 public:
  static Result<InputFile> open(const std::filesystem::path& path,
                                std::uint64_t max_bytes = kMaxInputBytes);
  // `name` stands for the path in messages. Requires: `bytes` outlives the object.
  static Result<InputFile> from_memory(std::string name, std::string_view bytes,
                                       std::uint64_t max_bytes = kMaxInputBytes);

  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;
  ~InputFile();

  const std::string& name() const { return name_; }

  // Fills `into` as far as the input reaches: less than its size only at the end, 0 after it.
  Result<std::size_t> read(std::span<char> into);
  // The next bytes (up to a few KiB) without consuming them; empty at the end.
  Result<std::string_view> peek();
  // All that is left, but no more than `at_most` bytes.
  Result<std::string> read_all(std::uint64_t at_most = kMaxInputBytes);

 private:
  class Bytes;  // where bytes come from: a descriptor, memory, or a gunzip of either
  class DescriptorBytes;
  class MemoryBytes;
  class GzipBytes;

  InputFile(std::string name, std::unique_ptr<Bytes> bytes, std::uint64_t max_bytes);
  static Result<InputFile> make(std::string name, std::unique_ptr<Bytes> raw,
                                std::uint64_t max_bytes);
  Result<std::size_t> read_counted(std::span<char> into);

  std::string name_;
  std::unique_ptr<Bytes> bytes_;
  std::uint64_t max_bytes_;
  std::uint64_t bytes_read_ = 0;
  std::string ahead_;  // peeked, not yet read
};

}  // namespace weir::formats
