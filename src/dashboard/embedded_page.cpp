// SPDX-License-Identifier: Apache-2.0
#include "dashboard/embedded_page.h"

#include <array>
#include <cstddef>

#ifdef WEIR_HAS_PAGE

// The assembler takes the bytes as they are: compilers need seconds for an array of that size.
asm(R"(
  .pushsection .rodata
  .hidden weir_page_bytes
  .global weir_page_bytes
weir_page_bytes:
  .incbin ")" WEIR_PAGE_BYTES R"("
  .popsection
)");
extern "C" const char weir_page_bytes[];  // NOLINT(readability-identifier-naming)

namespace weir::dashboard {
namespace {

struct Place {
  std::size_t begin;
  std::size_t size;
};

struct Row {
  std::string_view path;
  std::string_view media_type;
  std::string_view tag;
  Place plain;
  Place gzip;
};

constexpr Row kRows[] = {
#include "embedded_page.inc"
};

std::string_view bytes_at(Place place) {
  return {weir_page_bytes + place.begin, place.size};
}

std::array<PageFile, std::size(kRows)> files_of_rows() {
  std::array<PageFile, std::size(kRows)> files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Row& row = kRows[i];
    files[i] = {row.path, row.media_type, row.tag, bytes_at(row.plain), bytes_at(row.gzip)};
  }
  return files;
}

}  // namespace

std::span<const PageFile> embedded_page() {
  static const auto files = files_of_rows();
  return files;
}

}  // namespace weir::dashboard

#else

namespace weir::dashboard {

std::span<const PageFile> embedded_page() {
  return {};
}

}  // namespace weir::dashboard

#endif
