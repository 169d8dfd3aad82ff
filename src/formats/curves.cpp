// SPDX-License-Identifier: Apache-2.0
#include "formats/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/nearest_name.h"
#include "formats/gavel_throughputs.h"
#include "formats/throughput_table.h"

namespace weir::formats {
namespace {

bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

Result<bool> is_json(InputFile& input) {
  const std::string_view name = input.name();
  if (name.ends_with(".json") || name.ends_with(".json.gz")) return true;
  const auto head = input.peek();
  if (!head) return tl::unexpected(head.error());
  const std::size_t start = head->find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && (*head)[start] == '{';
}

Result<CurveBook> choose(std::vector<CurveBook> books, const std::string& file,
                         const std::optional<std::string>& gpu) {
  if (!gpu && books.size() == 1) return std::move(books.front());
  std::vector<std::string> kinds;
  for (CurveBook& book : books) {
    if (gpu && is_same_name(book.gpu, *gpu)) return std::move(book);
    kinds.push_back(book.gpu);
  }
  return bad_input(Diagnostic{
      file, 0, "GPU", gpu.value_or(""),
      fmt::format("one of {}{}", fmt::join(kinds, ", "), gpu ? did_you_mean(*gpu, kinds) : "")});
}

}  // namespace

Result<CurveBook> read_curves(const std::filesystem::path& path,
                              const std::optional<std::string>& gpu) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    auto book = read_throughput_tables(path);
    if (book && gpu) book->gpu = *gpu;
    return book;
  }
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  const auto json = is_json(*input);
  if (!json) return tl::unexpected(json.error());
  if (!*json) {
    return bad_input(Diagnostic{input->name(), 0, "file", "neither a folder nor JSON",
                                "a folder with one <model>.csv per model, or Gavel's "
                                "simulation_throughputs.json"});
  }
  const std::string name = input->name();
  auto books = read_gavel_throughputs(std::move(*input));
  if (!books) return tl::unexpected(books.error());
  return choose(std::move(*books), name, gpu);
}

}  // namespace weir::formats
