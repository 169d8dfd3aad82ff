// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/gpu_catalogue.h"

#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

namespace weir::predict {
namespace {

std::string in_capitals(std::string_view text) {
  std::string upper;
  for (const char c : text) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

// "NVIDIA", "A100", "SXM4", "80GB"
std::vector<std::string> words_in(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : in_capitals(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// The number that `text` is, if `unit` follows it.
std::optional<double> number_before(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  int number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || at != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> memory_in(const std::string& word) {
  for (const std::string_view unit : {"GIB", "GB", "G"}) {
    if (const auto memory = number_before(word, unit)) return memory;
  }
  return std::nullopt;
}

struct NamedGpu {
  std::string family;            // "A100"
  std::optional<double> memory;  // GiB, if the name says
};

std::optional<NamedGpu> gpu_named(std::string_view name, std::string_view family) {
  NamedGpu named{std::string{family}, std::nullopt};
  bool is_of_family = false;
  for (const std::string& word : words_in(name)) {
    if (word == family) is_of_family = true;
    // V100M32
    if (word.starts_with(family) && word.size() > family.size() && word[family.size()] == 'M') {
      const std::string rest = word.substr(family.size() + 1);
      if (const auto memory = number_before(rest, "")) {
        is_of_family = true;
        named.memory = memory;
      }
    }
    if (const auto memory = memory_in(word)) named.memory = memory;
  }
  return is_of_family ? std::optional{named} : std::nullopt;
}

std::string_view family_of(const GpuType& type) {
  return type.name.substr(0, type.name.find('-'));
}

// Data sheets and drivers count a little differently.
constexpr double kAboutTheSame = 1.02;

}  // namespace

void GpuCatalogue::add(std::string name, GpuType type) {
  auto own = std::make_shared<Own>(Own{std::move(name), type});
  own->type.name = own->name;
  own_.push_back(std::move(own));
}

const GpuType* GpuCatalogue::find(std::string_view name) const {
  for (const auto& own : own_) {
    if (in_capitals(own->name) == in_capitals(name)) return &own->type;
  }
  return find_gpu_type(name);
}

const GpuType* GpuCatalogue::match(std::string_view name) const {
  if (const GpuType* exact = find(name)) return exact;
  const GpuType* best = nullptr;
  for (const GpuType& type : gpu_types()) {
    const auto named = gpu_named(name, family_of(type));
    if (!named) continue;
    if (!named->memory) {
      if (best == nullptr || type.memory_gib < best->memory_gib) best = &type;
    } else if (type.memory_gib <= *named->memory * kAboutTheSame &&
               (best == nullptr || type.memory_gib > best->memory_gib)) {
      best = &type;
    }
  }
  return best;
}

std::string GpuCatalogue::names() const {
  std::string names;
  for (const auto& own : own_) names += own->name + ", ";
  return names + gpu_type_names();
}

}  // namespace weir::predict
