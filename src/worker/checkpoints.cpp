// SPDX-License-Identifier: Apache-2.0
#include "worker/checkpoints.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "domain/digits.h"
#include "worker/atomic_file.h"

namespace weir::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kManifestSuffix = ".manifest";
constexpr std::size_t kLeastDigits = 8;
constexpr std::size_t kMostDigits = 18;  // any such number fits 64 bits
constexpr std::size_t kLongestManifest = 256;

struct Manifest {
  std::int64_t step = 0;
  std::uint64_t size = 0;
  std::string crc32;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

fs::path manifest_of(const fs::path& path) {
  return path.string() + std::string{kManifestSuffix};
}

std::string facts_of(const Manifest& manifest) {
  return fmt::format("weir-checkpoint 1\nstep {}\nsize {}\n", manifest.step, manifest.size);
}

std::string encode(const Manifest& manifest) {
  return fmt::format("{}crc32 {}\n", facts_of(manifest), manifest.crc32);
}

uLong add_to(uLong sum, std::string_view bytes) {
  return crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

// Takes "name value\n" off the front.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(name)) return std::nullopt;
  const std::string_view value = text.substr(name.size(), end - name.size());
  text.remove_prefix(end + 1);
  if (!value.starts_with(' ')) return std::nullopt;
  return value.substr(1);
}

std::optional<std::int64_t> manifest_number(std::string_view digits) {
  if (digits.size() > kMostDigits || !all_digits(digits)) return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::optional<Manifest> decode(std::string_view text) {
  const auto version = take_line(text, "weir-checkpoint");
  if (version != "1") return std::nullopt;
  const auto step = manifest_number(take_line(text, "step").value_or(""));
  const auto size = manifest_number(take_line(text, "size").value_or(""));
  const auto sum = take_line(text, "crc32");
  if (!step || !size || !sum || !text.empty()) return std::nullopt;
  return Manifest{*step, static_cast<std::uint64_t>(*size), std::string{*sum}};
}

std::optional<Manifest> read_manifest(const fs::path& path) {
  std::ifstream file{manifest_of(path), std::ios::binary};
  std::string text(kLongestManifest, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return decode(text);
}

// Of the file as it is; the checksum is of the file and of what the manifest says. Nothing when it
// cannot be read.
std::optional<Manifest> describe(const fs::path& path, std::int64_t step) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return std::nullopt;
  uLong sum = crc32_z(0, nullptr, 0);
  Manifest manifest{step, 0, {}};
  std::vector<char> block(1 << 20);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    sum = add_to(sum, {block.data(), count});
    manifest.size += count;
  }
  if (file.bad()) return std::nullopt;
  manifest.crc32 = fmt::format("{:08x}", add_to(sum, facts_of(manifest)));
  return manifest;
}

bool has_size(const fs::path& path, std::uint64_t size) {
  std::error_code error;
  const std::uintmax_t found = fs::file_size(path, error);
  return !error && found == size;
}

std::optional<std::int64_t> number_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  if (name.ends_with(kManifestSuffix)) name.remove_suffix(kManifestSuffix.size());
  return name.size() < kLeastDigits ? std::nullopt : manifest_number(name);
}

// What a process that was killed while it saved has left.
void remove_partial_files(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{folder, ignored}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("." + std::string{kPrefix}) && name.ends_with(kPartialSuffix))
      fs::remove(entry.path(), ignored);
  }
}

tl::unexpected<Error> failure(const fs::path& path, std::string what, std::string expected) {
  Error error;
  error.details.add(
      {.file = path.string(), .field = std::move(what), .expected = std::move(expected)});
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

Checkpoints::Checkpoints(fs::path folder, int keep) : folder_{std::move(folder)}, keep_{keep} {
  assert(keep >= 1 && "a checkpoint stays");
}

Checkpoints Checkpoints::from_environment(int keep) {
  const char* folder = std::getenv("WEIR_CHECKPOINT_DIR");
  return Checkpoints{folder == nullptr ? "checkpoints" : folder, keep};
}

Result<Checkpoint> Checkpoints::save(std::int64_t step, const Write& write) const {
  assert(step >= 0 && "a step");
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return failure(folder_, "cannot create: " + error.message(), "a writable folder");
  remove_partial_files(folder_);
  const auto there = numbers();
  const std::int64_t number = there.empty() ? 1 : there.front() + 1;
  const fs::path path = path_of(number);
  if (auto saved = save_atomically(path, write); !saved) return tl::unexpected{saved.error()};
  const auto manifest = describe(path, step);
  if (!manifest) return failure(path, "cannot read it back", "a file that can be read");
  auto saved =
      save_atomically(manifest_of(path), [&](std::ostream& file) { file << encode(*manifest); });
  if (!saved) return tl::unexpected{saved.error()};
  remove_old();
  return Checkpoint{number, step, path};
}

std::optional<Checkpoint> Checkpoints::latest() const {
  for (const std::int64_t number : numbers()) {
    const fs::path path = path_of(number);
    const auto manifest = read_manifest(path);
    if (manifest && has_size(path, manifest->size) && describe(path, manifest->step) == manifest)
      return Checkpoint{number, manifest->step, path};
  }
  return std::nullopt;
}

fs::path Checkpoints::path_of(std::int64_t number) const {
  return folder_ / fmt::format("{}{:08}", kPrefix, number);
}

std::vector<std::int64_t> Checkpoints::numbers() const {
  std::vector<std::int64_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator{folder_, error})
    if (const auto number = number_of(entry.path().filename().string())) found.push_back(*number);
  std::ranges::sort(found, std::greater<>{});
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// A damaged one is not counted as kept. The manifest goes first: without it there is no checkpoint.
void Checkpoints::remove_old() const {
  int kept = 0;
  std::error_code ignored;
  for (const std::int64_t number : numbers()) {
    const fs::path path = path_of(number);
    const auto manifest = read_manifest(path);
    if (kept < keep_ && manifest && has_size(path, manifest->size)) {
      ++kept;
      continue;
    }
    fs::remove(manifest_of(path), ignored);
    fs::remove(path, ignored);
  }
}

}  // namespace weir::worker
