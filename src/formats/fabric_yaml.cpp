// SPDX-License-Identifier: Apache-2.0
#include "formats/fabric_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/nearest_name.h"
#include "formats/data_amount_text.h"
#include "formats/file_title.h"
#include "formats/quantity_text.h"
#include "formats/yaml_document.h"

namespace weir::formats {
namespace {

constexpr std::int64_t kMostOfAKind = 65'536;
constexpr std::int64_t kMostTreePorts = 128;
constexpr std::int64_t kMostNodeGpus = 64;
constexpr std::size_t kMostFabricItems = 1'000'000;

constexpr std::array<std::string_view, 1> kFabricFileKeys{"fabric"};
constexpr std::array<std::string_view, 4> kCircuitKeys{"switch", "leaf", "spine", "to_leaf"};
constexpr std::array<std::string_view, 3> kListedLinkKeys{"from", "to", "rate"};
constexpr std::array<std::string_view, 5> kFabricKinds{"leaf-spine", "fat-tree", "rail", "optical",
                                                       "links"};

std::vector<std::string_view> keys_of(FabricKind kind) {
  if (kind == FabricKind::links) return {"kind", "gpus", "links"};
  std::vector<std::string_view> keys{"kind", "gpus_per_node", "nic", "uplink", "local"};
  const auto add = [&](std::initializer_list<std::string_view> more) {
    keys.insert(keys.end(), more);
  };
  if (kind == FabricKind::leaf_spine) add({"leaves", "gpus_per_leaf", "spines", "parallel_links"});
  if (kind == FabricKind::fat_tree) add({"ports"});
  if (kind == FabricKind::rail) add({"pods", "nodes_per_pod", "spines", "parallel_links"});
  if (kind == FabricKind::optical)
    add({"leaves", "gpus_per_leaf", "spines", "optical_switches", "spine_ports", "circuits"});
  return keys;
}

class FabricReader {
 public:
  explicit FabricReader(const YamlDocument& document) : document_{document} {}

  Result<FabricSpec> read() {
    const YamlFields top{document_, document_.root(), "file", kFabricFileKeys, mistakes_};
    if (top.is_usable()) {
      if (const auto value = top.find("fabric")) {
        read_kind(*value);
      } else {
        top.reject("fabric",
                   "a map such as {kind: leaf-spine, leaves: 16, gpus_per_leaf: 16, "
                   "spines: 16}");
      }
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(spec_);
  }

 private:
  // Which keys are known depends on the kind, so it comes first.
  void read_kind(const YamlValue& value) {
    std::string_view name;
    std::uint64_t line = value.line();
    for (const auto& [key, entry] : value.entries()) {
      if (key.text() != "kind") continue;
      name = entry.text();
      line = entry.line();
    }
    const auto found = std::find(kFabricKinds.begin(), kFabricKinds.end(), name);
    if (found == kFabricKinds.end()) {
      mistakes_.add({document_.name(), line, "kind", std::string{name},
                     fmt::format("one of {}", fmt::join(kFabricKinds, ", "))});
      return;
    }
    spec_.kind = static_cast<FabricKind>(found - kFabricKinds.begin());
    const auto keys = keys_of(spec_.kind);
    const YamlFields fields{document_, value, "fabric", keys, mistakes_};
    if (fields.is_usable()) read_fields(fields);
  }

  void read_fields(const YamlFields& fields) {
    if (spec_.kind == FabricKind::links) return read_listed(fields);
    spec_.gpus_per_node = optional_count(fields, "gpus_per_node", kMostNodeGpus,
                                         spec_.kind == FabricKind::rail ? 8 : 1);
    read_rate(fields, "nic", spec_.nic);
    spec_.uplink = spec_.nic;
    read_rate(fields, "uplink", spec_.uplink);
    read_rate(fields, "local", spec_.local);
    switch (spec_.kind) {
      case FabricKind::leaf_spine:
        read_leaves(fields);
        spec_.spines = count(fields, "spines");
        spec_.parallel_links = optional_count(fields, "parallel_links", kMostOfAKind, 1);
        break;
      case FabricKind::fat_tree:
        read_ports(fields);
        break;
      case FabricKind::rail:
        spec_.pods = count(fields, "pods");
        spec_.nodes_per_pod = count(fields, "nodes_per_pod");
        spec_.spines = count(fields, "spines");
        spec_.parallel_links = optional_count(fields, "parallel_links", kMostOfAKind, 1);
        break;
      case FabricKind::optical:
        read_leaves(fields);
        read_optical(fields);
        break;
      case FabricKind::links:
        break;
    }
  }

  static std::int32_t count(const YamlFields& fields, std::string_view key) {
    if (!fields.has(key)) fields.reject(key, fmt::format("1 to {}", kMostOfAKind));
    return static_cast<std::int32_t>(fields.integer(key, 1, kMostOfAKind).value_or(1));
  }
  static std::int32_t optional_count(const YamlFields& fields, std::string_view key,
                                     std::int64_t most, std::int64_t usual) {
    return static_cast<std::int32_t>(fields.integer(key, 1, most).value_or(usual));
  }
  static void read_rate(const YamlFields& fields, std::string_view key, BytesPerSecond& rate) {
    if (const auto found = fields.get(key, kDataRateRule, parse_data_rate)) rate = *found;
  }

  void read_leaves(const YamlFields& fields) {
    spec_.leaves = count(fields, "leaves");
    spec_.gpus_per_leaf = count(fields, "gpus_per_leaf");
    if (spec_.gpus_per_leaf % spec_.gpus_per_node != 0) {
      fields.reject("gpus_per_leaf",
                    fmt::format("a multiple of gpus_per_node, {}", spec_.gpus_per_node));
    }
  }

  void read_ports(const YamlFields& fields) {
    constexpr std::string_view kRule = "an even number from 2 to 128";
    if (!fields.has("ports")) return fields.reject("ports", kRule);
    const auto ports = fields.integer("ports", 2, kMostTreePorts);
    if (ports && *ports % 2 != 0) fields.reject("ports", kRule);
    spec_.ports = static_cast<std::int32_t>(ports.value_or(2));
    if (spec_.ports / 2 % spec_.gpus_per_node != 0) {
      fields.reject("gpus_per_node",
                    fmt::format("a divisor of {}, the GPUs of a leaf", spec_.ports / 2));
    }
  }

  // At most kMostFabricItems; nothing when it is no list, which is noted.
  std::optional<std::vector<YamlValue>> list_of(const YamlFields& fields, std::string_view key,
                                                std::string_view such_as) {
    const auto list = fields.find(key);
    if (list && list->is_list() && !list->items().empty() &&
        list->items().size() <= kMostFabricItems) {
      return list->items();
    }
    fields.reject(key, fmt::format("a list of 1 to {}, such as {}", kMostFabricItems, such_as));
    return std::nullopt;
  }

  void read_optical(const YamlFields& fields) {
    spec_.spines = static_cast<std::int32_t>(fields.integer("spines", 0, kMostOfAKind).value_or(0));
    spec_.optical_switches = count(fields, "optical_switches");
    spec_.spine_ports = optional_count(fields, "spine_ports", kMostOfAKind, 1);
    if (!fields.has("circuits")) return;
    const auto circuits = list_of(fields, "circuits", "{switch: 0, leaf: 0, spine: 1}");
    if (!circuits) return;
    for (const YamlValue& item : *circuits) {
      if (mistakes_.full()) return;
      const YamlFields circuit{document_, item, "circuit", kCircuitKeys, mistakes_};
      if (circuit.is_usable()) read_circuit(circuit);
    }
  }

  std::int32_t below(const YamlFields& fields, std::string_view key, std::int32_t limit) {
    const std::string rule = fmt::format("0 to {}", limit - 1);
    if (!fields.has(key)) fields.reject(key, rule);
    const auto found = fields.get(key, rule, [limit](std::string_view text) {
      const auto value = parse_count(text);
      return value && *value < limit ? value : std::nullopt;
    });
    return static_cast<std::int32_t>(found.value_or(0));
  }

  void read_circuit(const YamlFields& fields) {
    if (fields.has("spine") == fields.has("to_leaf")) {
      fields.note(fields.line(), "circuit", "", "either spine or to_leaf");
      return;
    }
    const std::size_t before = mistakes_.total();
    OpticalCircuit circuit;
    circuit.optical_switch = below(fields, "switch", spec_.optical_switches);
    circuit.leaf = below(fields, "leaf", spec_.leaves);
    circuit.is_direct = fields.has("to_leaf");
    circuit.end = circuit.is_direct ? below(fields, "to_leaf", spec_.leaves)
                                    : below(fields, "spine", spec_.spines);
    if (mistakes_.total() > before) return;
    use_port(fields, circuit.optical_switch, "leaf", circuit.leaf, 1);
    if (circuit.is_direct) {
      use_port(fields, circuit.optical_switch, "leaf", circuit.end, 1);
    } else {
      use_port(fields, circuit.optical_switch, "spine", circuit.end, spec_.spine_ports);
    }
    spec_.circuits.push_back(circuit);
  }

  void use_port(const YamlFields& fields, std::int32_t on, std::string_view what,
                std::int32_t number, std::int32_t ports) {
    const std::int32_t used = ++ports_used_[{on, what, number}];
    if (used <= ports) return;
    fields.note(fields.line(), "circuit",
                fmt::format("{} {} used {} times on switch {}", what, number, used, on),
                fmt::format("each port once: {} of a {} on a switch", ports, what));
  }

  static std::optional<std::string> listed_name(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional{std::string{text}};
  }

  void read_listed(const YamlFields& fields) {
    if (const auto gpus = list_of(fields, "gpus", "[a, b]")) {
      std::set<std::string_view> seen;
      for (const YamlValue& item : *gpus) {
        if (mistakes_.full()) return;
        if (!item.is_text() || item.text().empty() || !seen.insert(item.text()).second) {
          fields.note(item.line(), "gpus", item.describe(), "the name of a GPU, each once");
        }
        spec_.gpus.emplace_back(item.text());
      }
    }
    const auto links = list_of(fields, "links", "{from: a, to: s, rate: 100Gbps}");
    if (!links) return;
    for (const YamlValue& item : *links) {
      if (mistakes_.full()) return;
      const YamlFields link{document_, item, "link", kListedLinkKeys, mistakes_};
      if (!link.is_usable()) continue;
      ListedLink listed;
      listed.from = link.require("from", "a GPU or a switch", listed_name).value_or("");
      listed.to = link.require("to", "a GPU or a switch", listed_name).value_or("");
      listed.rate = link.require("rate", kDataRateRule, parse_data_rate).value_or(BytesPerSecond{});
      spec_.links.push_back(std::move(listed));
    }
  }

  const YamlDocument& document_;
  FabricSpec spec_;
  Diagnostics mistakes_;
  std::map<std::tuple<std::int32_t, std::string_view, std::int32_t>, std::int32_t> ports_used_;
};

constexpr std::string_view kLeafSpineWord = "leaf-spine:";
constexpr std::string_view kFatTreeWord = "fat-tree:";

std::optional<FabricSpec> parse_fabric_word(std::string_view text) {
  FabricSpec spec;
  spec.name = text;
  const bool is_tree = text.starts_with(kFatTreeWord);
  if (!is_tree && !text.starts_with(kLeafSpineWord)) return std::nullopt;
  std::string_view rest = text.substr(is_tree ? kFatTreeWord.size() : kLeafSpineWord.size());
  std::vector<std::int32_t> counts;
  for (bool has_more = true; has_more;) {
    const std::size_t at = rest.find('x');
    has_more = at != std::string_view::npos;
    const auto count = parse_count(rest.substr(0, at));
    if (!count || *count < 1 || *count > (is_tree ? kMostTreePorts : kMostOfAKind))
      return std::nullopt;
    counts.push_back(static_cast<std::int32_t>(*count));
    rest.remove_prefix(has_more ? at + 1 : rest.size());
  }
  if (counts.size() != (is_tree ? 1U : 3U) || (is_tree && counts[0] % 2 != 0)) return std::nullopt;
  spec.kind = is_tree ? FabricKind::fat_tree : FabricKind::leaf_spine;
  if (is_tree) {
    spec.ports = counts[0];
  } else {
    spec.leaves = counts[0];
    spec.gpus_per_leaf = counts[1];
    spec.spines = counts[2];
  }
  return spec;
}

}  // namespace

Result<FabricSpec> read_fabric_yaml(InputFile input) {
  const std::string name = input.name();
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  auto spec = FabricReader{*document}.read();
  if (spec) spec->name = file_title(name);
  return spec;
}

Result<FabricSpec> read_fabric_or_word(const std::string& text, const std::string& field) {
  std::error_code error;
  const auto type = std::filesystem::status(text, error).type();
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::none) {
    auto input = InputFile::open(text);
    if (!input) return tl::unexpected(input.error());
    return read_fabric_yaml(std::move(*input));
  }
  if (auto spec = parse_fabric_word(text)) return std::move(*spec);
  return bad_input(Diagnostic{"", 0, field, text,
                              "the path of an existing fabric file, or leaf-spine:16x16x16 "
                              "(leaves, GPUs per leaf, spines), or fat-tree:8 (even ports)"});
}

}  // namespace weir::formats
