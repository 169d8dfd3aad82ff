// SPDX-License-Identifier: Apache-2.0
#include "formats/energy_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "formats/carbon_regions.h"
#include "formats/job_fields.h"
#include "formats/job_tree.h"
#include "formats/quantity_text.h"
#include "formats/time_text.h"
#include "formats/yaml_document.h"

namespace weir::formats {
namespace {

namespace fs = std::filesystem;

constexpr int kEnergyDepth = 4;
constexpr std::array<std::string_view, 9> kEnergyKeys{
    "supply", "pue", "power", "pools", "budget", "price", "power_cap", "clocks", "longest_pause"};
constexpr std::array<std::string_view, 3> kFeedKeys{"url", "every", "file"};
constexpr std::array<std::string_view, 7> kPowerKeys{
    "gpu_watts",      "static_share", "waiting_share",    "clock_bound_share",
    "idle_gpu_watts", "node_watts",   "asleep_node_watts"};
constexpr std::array<std::string_view, 6> kBudgetKeys{"kg_co2", "money",      "from",
                                                      "until",  "when_spent", "tenants"};
constexpr std::string_view kSupplyRule =
    "a series file, a region such as ciso, {url: http://...}, or none";
constexpr std::string_view kPayersRule = "what each may use, such as {vision: 12, speech: 8}";
constexpr std::string_view kPoolsRule = "constants by pool, such as {v100: {gpu_watts: 300}}";
constexpr std::string_view kEveryRule = "a duration from 1s to 24h, such as 15m";
constexpr std::string_view kPauseRule = "a duration from 1m to 366d, such as 24h";
constexpr std::string_view kUrlRule = "http://HOST/PATH or https://HOST/PATH of a series";
constexpr std::string_view kBudgetTimeRule = "a time with its offset, such as 2026-11-16T00:00:00Z";
constexpr std::string_view kWhenRule = "overdraw, min-power or pause";

// Full and idle watts, where nothing else is known: docs/models/energy.md has the sources.
struct KnownGpu {
  std::string_view model;  // at the beginning of its name, or in it
  double full;
  std::int64_t idle_milliwatts;
};
constexpr std::array<KnownGpu, 7> kKnownGpus{{{"A100", 400, 55'000},
                                              {"A10", 150, 30'000},
                                              {"T4", 70, 10'000},
                                              {"P100", 250, 25'000},
                                              {"V100", 300, 30'000},
                                              {"H200", 700, 80'000},
                                              {"CPU", 10, 2'000}}};
constexpr std::int64_t kUsualNodeMilliwatts = 800'000;
constexpr std::int64_t kCpuNodeMilliwatts = 100'000;

std::optional<Duration> parse_between(std::string_view text, Duration least, Duration most) {
  const auto parsed = parse_duration(text);
  return parsed && *parsed >= least && *parsed <= most ? parsed : std::nullopt;
}

class EnergyReader {
 public:
  EnergyReader(const JobTree& tree, const Cluster& cluster, const fs::path& folder)
      : tree_{tree}, cluster_{cluster}, folder_{folder} {}

  Result<EnergyFile> read() {
    const JobFields top{tree_, tree_.root(), kEnergyKeys, mistakes_, "file"};
    if (top.is_usable()) {
      read_supply_source(top);
      if (file_.is_off) {
        for (const std::string_view key : kEnergyKeys) {
          if (key != "supply" && top.has(key)) top.reject(key, "nothing else beside supply: none");
        }
      } else {
        read_power(top);
        read_budget(top);
        read_limits(top);
      }
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(file_);
  }

 private:
  // A file beside this one, or a region's.
  fs::path series_file(const JobFields& fields, std::string_view key, std::string_view name) {
    const fs::path beside = folder_ / fs::path{name};
    std::error_code ignored;
    if (fs::exists(beside, ignored)) return beside;
    const auto known = carbon_regions(std::string{key});
    if (known) {
      const auto chosen = choose_regions(*known, {std::string{name}}, std::string{key});
      if (chosen) return chosen->front().series;
      fields.reject(key, chosen.error().details.list().front().expected);
    } else {
      fields.reject(key, fmt::format("a file there is, beside {}", tree_.source_name()));
    }
    return {};
  }

  void read_supply_source(const JobFields& top) {
    const JobNode* const node = top.find("supply");
    if (node == nullptr) return top.reject("supply", kSupplyRule);
    if (node->kind != JobTree::Kind::map) {
      if (!JobTree::is_text(*node) || node->text.empty()) return top.reject("supply", kSupplyRule);
      file_.is_off = node->text == "none";
      if (!file_.is_off) file_.supply.file = series_file(top, "supply", node->text);
      return;
    }
    const JobFields feed{tree_, *node, kFeedKeys, mistakes_, "supply"};
    if (!feed.is_usable()) return;
    const auto url = feed.get(
        "url", JobTree::is_text, kUrlRule, [](std::string_view text) -> std::optional<std::string> {
          const bool is_web = text.starts_with("http://") || text.starts_with("https://");
          const std::size_t host = text.find("//") + 2;
          if (!is_web || host >= text.size() || text[host] == '/' ||
              text.find_first_of(" \t#") != std::string_view::npos)
            return std::nullopt;
          return std::string{text};
        });
    if (!feed.has("url")) feed.reject("url", kUrlRule);
    file_.supply.url = url.value_or("");
    file_.supply.every =
        feed.get("every", JobTree::is_text, kEveryRule,
                 [](std::string_view text) {
                   return parse_between(text, std::chrono::seconds{1}, std::chrono::hours{24});
                 })
            .value_or(file_.supply.every);
    if (const JobNode* fallback = feed.find("file")) {
      if (!JobTree::is_text(*fallback) || fallback->text.empty())
        return feed.reject("file", "a series file, or a region such as ciso");
      file_.supply.file = series_file(feed, "file", fallback->text);
    }
  }

  // With so many decimals; at least and at most, in the unit the file has.
  std::optional<std::int64_t> decimal(const JobFields& fields, std::string_view key, int decimals,
                                      double least, double most) {
    double one = 1;
    for (int i = 0; i < decimals; ++i) one *= 10;
    return fields.get(
        key, JobTree::is_number,
        fmt::format("a number from {} to {}, with at most {} decimals", least, most, decimals),
        [&](std::string_view text) -> std::optional<std::int64_t> {
          const auto parsed = parse_decimal(text, decimals);
          if (!parsed) return std::nullopt;
          const double value = static_cast<double>(*parsed) / one;
          return value >= least && value <= most ? parsed : std::nullopt;
        });
  }

  struct Constants {
    std::optional<std::int64_t> gpu, fixed, waiting, bound, idle, node, asleep;
  };

  Constants read_constants(const JobFields& fields) {
    Constants read;
    read.gpu = decimal(fields, "gpu_watts", 3, 1, 1e5);
    read.fixed = decimal(fields, "static_share", 3, 0, 1);
    read.waiting = decimal(fields, "waiting_share", 3, 0, 1);
    read.bound = decimal(fields, "clock_bound_share", 3, 0, 1);
    read.idle = decimal(fields, "idle_gpu_watts", 3, 0, 1e5);
    read.node = decimal(fields, "node_watts", 3, 0, 1e6);
    read.asleep = decimal(fields, "asleep_node_watts", 3, 0, 1e6);
    return read;
  }

  void read_power(const JobFields& top) {
    Constants all;
    if (const JobNode* node = top.find("power")) {
      const JobFields fields{tree_, *node, kPowerKeys, mistakes_, "power"};
      if (fields.is_usable()) all = read_constants(fields);
    }
    const std::int64_t overhead = decimal(top, "pue", 3, 1, 10).value_or(1000);
    std::vector<std::pair<std::string_view, Constants>> own;
    if (const JobNode* node = top.find("pools")) {
      if (node->kind != JobTree::Kind::map) {
        top.reject("pools", kPoolsRule);
      } else {
        for (const JobNode* pool : tree_.children(*node)) {
          if (!has_pool(pool->key)) {
            top.note(*pool, "pools", std::string{pool->key},
                     fmt::format("a pool with GPUs: {}", fmt::join(pool_names(), ", ")));
            continue;
          }
          const JobFields fields{tree_, *pool, kPowerKeys, mistakes_, "pool"};
          if (fields.is_usable()) own.emplace_back(pool->key, read_constants(fields));
        }
      }
    }
    for (std::uint32_t i = 0; i < cluster_.pools.size(); ++i) {
      const auto model = model_of(PoolIndex{i});
      if (!model) continue;
      const std::string& name = cluster_.pools[i].name;
      const auto at =
          std::find_if(own.begin(), own.end(), [&](const auto& one) { return one.first == name; });
      add_pool(PoolIndex{i}, name, *model, at == own.end() ? Constants{} : at->second, all,
               overhead);
    }
  }

  void add_pool(PoolIndex pool, const std::string& name, std::string_view model,
                const Constants& own, const Constants& all, std::int64_t overhead) {
    std::vector<std::string> guessed;
    const auto pick = [&](const auto& field, std::string_view key, std::int64_t otherwise) {
      if (own.*field) return *(own.*field);
      if (all.*field) return *(all.*field);
      guessed.push_back(fmt::format("{} {}", key, static_cast<double>(otherwise) / 1000));
      return otherwise;
    };
    const auto known = std::find_if(kKnownGpus.begin(), kKnownGpus.end(), [&](const KnownGpu& gpu) {
      return model.find(gpu.model) != std::string_view::npos;
    });
    const bool is_cpu = known != kKnownGpus.end() && known->model == "CPU";
    const KnownGpu& gpu = known == kKnownGpus.end() ? kKnownGpus.front() : *known;
    GpuPowerConstants constants;
    constants.full_watts = static_cast<double>(pick(&Constants::gpu, "gpu_watts",
                                                    static_cast<std::int64_t>(gpu.full * 1000))) /
                           1000;
    constants.static_share =
        static_cast<double>(pick(&Constants::fixed, "static_share", 350)) / 1000;
    constants.waiting_share =
        static_cast<double>(pick(&Constants::waiting, "waiting_share", 300)) / 1000;
    constants.clock_bound_share =
        static_cast<double>(pick(&Constants::bound, "clock_bound_share", 400)) / 1000;
    PoolPower power;
    power.pool = pool;
    power.idle_milliwatts = pick(&Constants::idle, "idle_gpu_watts", gpu.idle_milliwatts);
    power.node_milliwatts =
        pick(&Constants::node, "node_watts", is_cpu ? kCpuNodeMilliwatts : kUsualNodeMilliwatts);
    power.asleep_milliwatts = pick(&Constants::asleep, "asleep_node_watts", 0);
    power.overhead_permille = static_cast<std::int32_t>(overhead);
    file_.terms.pools.push_back(power);
    file_.gpus.push_back(constants);
    if (!guessed.empty())
      file_.assumed.push_back(fmt::format("pool {}: {}", name, fmt::join(guessed, ", ")));
  }

  void read_budget(const JobFields& top) {
    const JobNode* const node = top.find("budget");
    if (node == nullptr) return;
    const JobFields fields{tree_, *node, kBudgetKeys, mistakes_, "budget"};
    if (!fields.is_usable()) return;
    file_.budget_line = node->line;
    if (top.has("price")) top.reject("price", "to be left out beside a budget: one or the other");
    if (fields.has("kg_co2") == fields.has("money"))
      fields.reject(fields.has("money") ? "money" : "kg_co2", "kg_co2 or money, one of them");
    file_.budget_is_carbon = fields.has("kg_co2");
    const std::string_view unit = *file_.budget_is_carbon ? "kg_co2" : "money";
    read_payers(fields);
    const JobNode* const all = fields.find(unit);
    const bool is_of_nobody = all != nullptr && JobTree::is_text(*all) && all->text == "none";
    if (!is_of_nobody) {
      file_.terms.budget_micros = amount(fields, unit).value_or(0);
    } else if (file_.terms.tenants.empty()) {
      fields.reject(unit, "an amount; none only beside budgets of tenants");
    }
    const auto from = fields.get("from", JobTree::is_text, kBudgetTimeRule, parse_time);
    const auto until = fields.get("until", JobTree::is_text, kBudgetTimeRule, parse_time);
    for (const std::string_view key : {"from", "until"}) {
      if (!fields.has(key)) fields.reject(key, kBudgetTimeRule);
    }
    if (from && until && *until <= *from) fields.reject("until", "a time after `from`");
    file_.terms.from = from.value_or(Time{});
    file_.terms.until = until.value_or(Time{});
    file_.terms.when_spent =
        fields
            .get("when_spent", JobTree::is_text, kWhenRule,
                 [](std::string_view text) -> std::optional<WhenSpent> {
                   if (text == "overdraw") return WhenSpent::overdraw;
                   if (text == "min-power") return WhenSpent::min_power;
                   return text == "pause" ? std::optional{WhenSpent::pause} : std::nullopt;
                 })
            .value_or(WhenSpent::overdraw);
  }

  // In millionths of a gram, or of the money. A kilogram has a thousand grams.
  std::optional<std::int64_t> amount(const JobFields& fields, std::string_view key) {
    return *file_.budget_is_carbon ? decimal(fields, key, 9, 0, 1e9)
                                   : decimal(fields, key, 6, 0, 1e12);
  }

  void read_payers(const JobFields& budget) {
    const JobNode* const node = budget.find("tenants");
    if (node == nullptr) return;
    if (node->kind != JobTree::Kind::map) return budget.reject("tenants", kPayersRule);
    std::vector<std::string_view> names;
    for (const JobNode* tenant : tree_.children(*node)) names.push_back(tenant->key);
    if (names.empty()) return budget.reject("tenants", kPayersRule);
    const JobFields fields{tree_, *node, names, mistakes_, "tenants"};
    if (!fields.is_usable()) return;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string_view name : names) {
      if (name.empty()) {
        budget.reject("tenants", kPayersRule);
      } else {
        file_.terms.tenants.push_back({std::string{name}, amount(fields, name).value_or(0)});
      }
    }
  }

  void read_limits(const JobFields& top) {
    if (const auto price = decimal(top, "price", 9, 0, 1e6)) file_.terms.price_nanos = price;
    if (const auto cap = decimal(top, "power_cap", 6, 0.001, 1e9)) file_.terms.cap_milliwatts = cap;
    file_.has_clocks = top.get("clocks", JobTree::is_truth, "true or false",
                               [](std::string_view text) -> std::optional<bool> {
                                 if (text == "true") return true;
                                 return text == "false" ? std::optional{false} : std::nullopt;
                               })
                           .value_or(true);
    file_.terms.longest_pause =
        top.get("longest_pause", JobTree::is_text, kPauseRule,
                [](std::string_view text) {
                  return parse_between(text, std::chrono::minutes{1}, std::chrono::hours{24 * 366});
                })
            .value_or(file_.terms.longest_pause);
  }

  // Of the pool's GPUs; nothing where it has none.
  std::optional<std::string> model_of(PoolIndex pool) const {
    for (const weir::Node& node : cluster_.nodes) {
      if (node.pool == pool && node.gpu_count > 0) return cluster_.models.name(node.model);
    }
    return std::nullopt;
  }
  std::vector<std::string> pool_names() const {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < cluster_.pools.size(); ++i) {
      if (model_of(PoolIndex{i})) names.push_back(cluster_.pools[i].name);
    }
    return names;
  }
  bool has_pool(std::string_view name) const {
    const auto names = pool_names();
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  const JobTree& tree_;
  const Cluster& cluster_;
  const fs::path& folder_;
  Diagnostics mistakes_;
  EnergyFile file_;
};

}  // namespace

Result<EnergyFile> read_energy_yaml(InputFile input, const Cluster& cluster,
                                    const fs::path& folder) {
  const auto document = YamlDocument::read(std::move(input), kEnergyDepth);
  if (!document) return tl::unexpected(document.error());
  const JobTree tree = JobTree::from_yaml(*document);
  return EnergyReader{tree, cluster, folder}.read();
}

Result<EnergyFile> read_energy_yaml(const fs::path& path, const Cluster& cluster) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_energy_yaml(std::move(*input), cluster, path.parent_path());
}

std::optional<Diagnostic> budget_mismatch(const EnergyFile& energy, const SupplyKind& kind,
                                          const std::string& file) {
  if (!energy.budget_is_carbon || *energy.budget_is_carbon == is_carbon(kind.quantity))
    return std::nullopt;
  return Diagnostic{file, energy.budget_line, "budget",
                    *energy.budget_is_carbon ? "kg_co2" : "money",
                    fmt::format("{}: the supply is {}",
                                *energy.budget_is_carbon ? "money" : "kg_co2", to_string(kind))};
}

}  // namespace weir::formats
