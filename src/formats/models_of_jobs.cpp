// SPDX-License-Identifier: Apache-2.0
#include "formats/models_of_jobs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "formats/input_file.h"
#include "formats/input_kind.h"
#include "formats/yaml_document.h"

namespace weir::formats {
namespace {

constexpr std::string_view kJobsFile =
    "training jobs: a trace (CSV), or jobs: and a list such as - {name: bert, model: bert, batch: "
    "128, iterations: 200000, deadline: 6h}";
constexpr std::string_view kConfigInstead =
    "a file of jobs that names it: jobs: and a list such as - {name: a, model: {config: gpt.json, "
    "batch: 256}, iterations: 1000}";
// Any config.json of Hugging Face has one of them.
constexpr std::array<std::string_view, 4> kKeysOfConfigs{"model_type", "architectures",
                                                         "hidden_size", "n_embd"};

std::optional<YamlValue> member(const YamlValue& map, std::string_view key) {
  for (const auto& [name, value] : map.entries()) {
    if (name.is_text() && name.text() == key) return value;
  }
  return std::nullopt;
}

tl::unexpected<Error> no_jobs(const std::string& file, std::string found,
                              std::string_view expected) {
  return bad_input(Diagnostic{file, 0, "file", std::move(found), std::string{expected}});
}

Result<ModelsOfJobs> models_in(const YamlDocument& document) {
  const YamlValue root = document.root();
  const auto jobs = member(root, "jobs");
  if (!jobs) {
    const bool is_config = std::any_of(kKeysOfConfigs.begin(), kKeysOfConfigs.end(),
                                       [&](std::string_view key) { return member(root, key); });
    return is_config ? no_jobs(document.name(), "the config of a model", kConfigInstead)
                     : no_jobs(document.name(), "without jobs", kJobsFile);
  }
  const std::vector<YamlValue> all = jobs->items();
  const bool has_planned = std::any_of(all.begin(), all.end(), [](const YamlValue& job) {
    const auto model = member(job, "model");
    return model && model->is_map();
  });
  return has_planned ? ModelsOfJobs::planned : ModelsOfJobs::named;
}

}  // namespace

Result<ModelsOfJobs> models_of_jobs(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored) &&
      !std::filesystem::is_directory(file, ignored))
    return ModelsOfJobs::named;
  auto input = InputFile::open(file);
  if (!input) return tl::unexpected(input.error());
  const auto head = input->peek();
  if (!head) return tl::unexpected(head.error());
  if (head->empty()) return no_jobs(input->name(), "empty", kJobsFile);
  const auto csv = is_csv(*input);
  if (!csv) return tl::unexpected(csv.error());
  if (*csv) return ModelsOfJobs::named;
  const auto document = YamlDocument::read(std::move(*input));
  if (!document) return tl::unexpected(document.error());
  return models_in(*document);
}

}  // namespace weir::formats
