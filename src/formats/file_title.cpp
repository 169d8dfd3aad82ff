// SPDX-License-Identifier: Apache-2.0
#include "formats/file_title.h"

#include <cctype>

#include "formats/plain_name.h"

namespace weir::formats {
namespace {

// Also false when nothing would be left.
bool drop_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix) || text.size() == suffix.size()) return false;
  text.remove_suffix(suffix.size());
  return true;
}

void drop_prefix(std::string_view& text, std::string_view prefix) {
  if (text.starts_with(prefix) && text.size() > prefix.size()) text.remove_prefix(prefix.size());
}

}  // namespace

std::string file_title(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  std::string_view title = slash == std::string_view::npos ? path : path.substr(slash + 1);
  drop_suffix(title, ".gz");
  drop_suffix(title, ".csv") || drop_suffix(title, ".yaml") || drop_suffix(title, ".yml");
  drop_prefix(title, "openb_pod_list_");
  drop_prefix(title, "openb_node_list_");
  return std::string{title};
}

bool is_yaml_name(std::string_view path) {
  drop_suffix(path, ".gz");
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

bool is_csv_name(std::string_view path) {
  drop_suffix(path, ".gz");
  return path.ends_with(".csv");
}

std::string gpu_after_underscore(std::string_view title) {
  const std::size_t underscore = title.rfind('_');
  if (underscore == std::string_view::npos) return {};
  std::string gpu{title.substr(underscore + 1)};
  for (char& c : gpu) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return is_model_name(gpu) ? gpu : std::string{};
}

}  // namespace weir::formats
