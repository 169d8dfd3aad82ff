// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <string>
#include <utility>

#include "formats/input_file.h"
#include "formats/yaml_document.h"

namespace weir::cli {
namespace {

constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{1} << 20;

// The words of a value; nothing when it is no text and no list of texts.
std::optional<std::vector<std::string>> words_of(const formats::YamlValue& value) {
  if (value.is_empty()) return std::vector<std::string>{};
  if (value.is_text()) return std::vector{std::string{value.text()}};
  if (!value.is_list()) return std::nullopt;
  std::vector<std::string> words;
  for (const formats::YamlValue& item : value.items()) {
    if (!item.is_text()) return std::nullopt;
    words.emplace_back(item.text());
  }
  return words;
}

}  // namespace

Result<std::vector<GivenOption>> read_config_file(const std::filesystem::path& path) {
  auto input = formats::InputFile::open(path, kMaxConfigBytes);
  if (!input) return tl::unexpected(input.error());
  const auto document = formats::YamlDocument::read(std::move(*input));
  if (!document) return tl::unexpected(document.error());
  Diagnostics mistakes;
  const auto mistake = [&](std::uint64_t line, std::string field, std::string found,
                           std::string expected) {
    mistakes.add({document->name(), line, std::move(field), std::move(found), std::move(expected)});
  };
  const formats::YamlValue root = document->root();
  if (!root.is_map() && !root.is_empty()) {
    mistake(root.line(), "the file", root.describe(), "lines like `policy: fgd`");
  }
  std::vector<GivenOption> options;
  for (const auto& [key, value] : root.entries()) {
    const auto words = words_of(value);
    if (!key.is_text()) {
      mistake(key.line(), "key", key.describe(), "the name of an option");
    } else if (!words) {
      mistake(value.line(), std::string{key.text()}, value.describe(),
              "a value or a list of values");
    } else {
      options.push_back({std::string{key.text()}, *words, document->name(), key.line()});
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return options;
}

}  // namespace weir::cli
