// SPDX-License-Identifier: Apache-2.0
#include "formats/gpu_types_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "formats/plain_name.h"
#include "formats/yaml_document.h"
#include "formats/yaml_quantities.h"

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 1> kGpuFileKeys{"gpus"};
constexpr std::array<std::string_view, 16> kGpuTypeKeys{"name",
                                                        "tflops",
                                                        "memory",
                                                        "memory_rate",
                                                        "link_rate",
                                                        "link_efficiency",
                                                        "latency",
                                                        "nics",
                                                        "nic_rate",
                                                        "gemm_efficiency",
                                                        "short_side",
                                                        "call",
                                                        "attention_forward",
                                                        "attention_backward",
                                                        "element_bytes",
                                                        "price"};
constexpr std::string_view kGpuExample =
    "a list of types, such as - {name: X1, tflops: 400, memory: 64GiB, memory_rate: 3000, "
    "link_rate: 200}";

struct NumberField {
  std::string_view key;
  double DescribedGpu::*member;
  double least;
  double most;
  bool is_required;
};
// Far beyond what is built, and not 0 where it would divide.
constexpr std::array<NumberField, 12> kGpuNumbers{
    {{"tflops", &DescribedGpu::tflops, 1e-6, 1e9, true},
     {"memory_rate", &DescribedGpu::memory_gb_s, 1e-3, 1e9, true},
     {"link_rate", &DescribedGpu::link_gb_s, 1e-6, 1e9, true},
     {"link_efficiency", &DescribedGpu::link_efficiency, 1e-3, 1, false},
     {"latency", &DescribedGpu::latency_us, 0, 1e6, false},
     {"nic_rate", &DescribedGpu::nic_gbit_s, 1e-3, 1e6, false},
     {"gemm_efficiency", &DescribedGpu::gemm_efficiency, 1e-3, 1, false},
     {"short_side", &DescribedGpu::short_side, 0, 1e6, false},
     {"call", &DescribedGpu::call_us, 0, 1e6, false},
     {"attention_forward", &DescribedGpu::attention_forward, 1e-6, 1, false},
     {"attention_backward", &DescribedGpu::attention_backward, 1e-6, 1, false},
     {"price", &DescribedGpu::price_per_hour, 0, 1e6, false}}};
constexpr std::int64_t kMostNics = 64;

std::optional<double> parse_real(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || at != end) return std::nullopt;
  return number;
}

class GpuTypesReader {
 public:
  explicit GpuTypesReader(const YamlDocument& document) : document_{document} {}

  Result<std::vector<DescribedGpu>> read() {
    const YamlFields top{document_, document_.root(), "file", kGpuFileKeys, mistakes_};
    if (top.is_usable()) read_list(top);
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(types_);
  }

 private:
  void read_list(const YamlFields& top) {
    const auto list = top.find("gpus");
    if (!list || !list->is_list() || list->items().empty()) return top.reject("gpus", kGpuExample);
    for (const YamlValue& item : list->items()) {
      if (mistakes_.full()) return;
      const YamlFields fields{document_, item, "GPU", kGpuTypeKeys, mistakes_};
      if (fields.is_usable()) read_type(fields);
    }
  }

  void read_type(const YamlFields& fields) {
    DescribedGpu type;
    if (const auto name = fields.require("name", kModelNameRule, model_name)) type.name = *name;
    for (const NumberField& field : kGpuNumbers) read_number(fields, field, type);
    const std::size_t before = mistakes_.total();
    type.memory_gib = static_cast<double>(require_memory(fields, "memory").value) / 1024;
    if (mistakes_.total() == before && type.memory_gib <= 0)
      fields.reject("memory", "more than 0, such as 80GiB");
    type.nics = static_cast<int>(fields.integer("nics", 1, kMostNics).value_or(type.nics));
    const auto bytes = [](std::string_view text) -> std::optional<int> {
      if (text == "2") return 2;
      return text == "4" ? std::optional{4} : std::nullopt;
    };
    type.element_bytes = fields.get("element_bytes", "2 or 4", bytes).value_or(type.element_bytes);
    const auto is_same = [&](const DescribedGpu& other) { return other.name == type.name; };
    if (!type.name.empty() && std::any_of(types_.begin(), types_.end(), is_same))
      fields.reject("name", "another name: a type before has this one");
    types_.push_back(std::move(type));
  }

  static void read_number(const YamlFields& fields, const NumberField& field, DescribedGpu& type) {
    const std::string expected = fmt::format("a number from {} to {}", field.least, field.most);
    const auto within = [&](std::string_view text) -> std::optional<double> {
      const auto number = parse_real(text);
      return number && *number >= field.least && *number <= field.most ? number : std::nullopt;
    };
    if (field.is_required && !fields.has(field.key)) fields.reject(field.key, expected);
    if (const auto number = fields.get(field.key, expected, within)) type.*field.member = *number;
  }

  const YamlDocument& document_;
  Diagnostics mistakes_;
  std::vector<DescribedGpu> types_;
};

}  // namespace

Result<std::vector<DescribedGpu>> read_gpu_types_yaml(InputFile input) {
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  return GpuTypesReader{*document}.read();
}

Result<std::vector<DescribedGpu>> read_gpu_types_yaml(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_gpu_types_yaml(std::move(*input));
}

}  // namespace weir::formats
