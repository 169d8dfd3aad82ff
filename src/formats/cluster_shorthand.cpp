// SPDX-License-Identifier: Apache-2.0
#include "formats/cluster_shorthand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "domain/shape.h"
#include "formats/input_ranges.h"
#include "formats/inputs.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"

namespace weir::formats {
namespace {

constexpr std::string_view kField = "cluster";
constexpr std::string_view kAnyModel = "GPU";
constexpr std::string_view kForm = "nodes x GPUs per node x model, such as 16x8xA100";
constexpr std::size_t kLongestModel = 64;

constexpr MilliCpu kCpuPerGpu{96'000 / 8};
constexpr Mebibytes kMemoryPerGpu{900 * 1024 / 8};

struct Term {
  std::int64_t nodes = 0;
  std::int32_t gpus_per_node = 0;
  std::string model;
};

tl::unexpected<Error> wrong(std::string_view found, std::string expected) {
  return bad_input(Diagnostic{"", 0, std::string{kField}, std::string{found}, std::move(expected)});
}

// Up to the next `separator`, which is dropped with it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

// It becomes part of node names and reaches file names, so it is plainer than in a file.
bool is_short_model(std::string_view text) {
  return !text.empty() && text.size() <= kLongestModel &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ||
                  c == '.';
         });
}

Result<Term> parse_term(std::string_view text) {
  std::string_view rest = text;
  const auto nodes = parse_count(take(rest, 'x'));
  const bool has_model = rest.find('x') != std::string_view::npos;
  const auto gpus = parse_count(take(rest, 'x'));
  const std::string_view model = has_model ? rest : kAnyModel;
  if (!nodes || !gpus) return wrong(text, std::string{kForm});
  if (*nodes < 1 || *nodes > static_cast<std::int64_t>(kMostNodes)) {
    return wrong(text, fmt::format("1 to {} nodes before the first x", kMostNodes));
  }
  if (*gpus < 1 || *gpus > kMaxGpusPerNode) {
    return wrong(text, fmt::format("1 to {} GPUs per node after the first x", kMaxGpusPerNode));
  }
  if (!is_short_model(model)) {
    return wrong(text, fmt::format("a model of 1 to {} letters, digits, -, _ or . after the second "
                                   "x, such as 16x8xA100",
                                   kLongestModel));
  }
  return Term{*nodes, static_cast<std::int32_t>(*gpus), std::string{model}};
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

class ShorthandReader {
 public:
  Result<Cluster> read(std::string_view text) {
    cluster_.name = text;
    std::string_view rest = text;
    bool has_more = true;
    while (has_more && !mistakes_.full()) {
      has_more = rest.find('+') != std::string_view::npos;
      const auto term = parse_term(take(rest, '+'));
      if (!term) {
        mistakes_.append(term.error().details);
      } else if (mistakes_.empty()) {
        add(*term);
      }
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(cluster_);
  }

 private:
  void add(const Term& term) {
    if (static_cast<std::size_t>(term.nodes) > kMostNodes - cluster_.nodes.size()) {
      return reject(term, fmt::format("at most {} nodes in all", kMostNodes));
    }
    const auto model = cluster_.models.intern(term.model);
    if (!model) return reject(term, fmt::format("at most {} different models", kMaxGpuModels));
    const std::string prefix = lower_case(term.model);
    std::int64_t& number = last_number_[prefix];
    Node node;
    node.pool = cluster_.pool_named(term.model);
    node.cpu = kCpuPerGpu * term.gpus_per_node;
    node.memory = kMemoryPerGpu * term.gpus_per_node;
    node.gpu_count = term.gpus_per_node;
    node.model = *model;
    for (std::int64_t i = 0; i < term.nodes; ++i) {
      node.id = NodeId{cluster_.nodes.size() + 1};
      node.name = fmt::format("{}-{:04}", prefix, ++number);
      cluster_.nodes.push_back(node);
    }
  }

  void reject(const Term& term, std::string expected) {
    mistakes_.add(Diagnostic{"", 0, std::string{kField},
                             fmt::format("{}x{}x{}", term.nodes, term.gpus_per_node, term.model),
                             std::move(expected)});
  }

  Cluster cluster_;
  Diagnostics mistakes_;
  std::map<std::string, std::int64_t> last_number_;  // by what node names begin with
};

}  // namespace

bool looks_like_cluster_shorthand(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits > 0 && digits < text.size() && text[digits] == 'x';
}

Result<Cluster> parse_cluster_shorthand(std::string_view text) {
  return ShorthandReader{}.read(text);
}

Result<Cluster> read_cluster_or_shorthand(const std::string& text) {
  std::error_code error;
  const auto type = std::filesystem::status(text, error).type();
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::none) {
    return read_cluster(std::filesystem::path{text});
  }
  if (looks_like_cluster_shorthand(text)) return parse_cluster_shorthand(text);
  return wrong(text,
               fmt::format("the path of an existing cluster file, such as lab.yaml or nodes.csv, "
                           "or {}",
                           kForm));
}

}  // namespace weir::formats
