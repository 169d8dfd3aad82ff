// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_energy.h"

#include <fmt/format.h>

#include <future>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "predict/energy/power_book.h"

namespace weir::cli {
namespace {

constexpr std::string_view kMindsEnergy = "green";

// Of each pool of the file, with its own constants.
control::EnergyWish wish_of(const formats::EnergyFile& file, const Cluster& cluster) {
  control::EnergyWish wish;
  wish.terms = file.terms;
  wish.assumed = file.assumed;
  wish.budget_is_carbon = file.budget_is_carbon;
  std::vector<std::pair<PoolIndex, predict::PowerAssumptions>> pools;
  for (std::size_t i = 0; i < file.terms.pools.size(); ++i) {
    const PoolPower& power = file.terms.pools[i];
    const formats::GpuPowerConstants& gpu = file.gpus[i];
    predict::PowerAssumptions assumptions;
    assumptions.gpu = {gpu.full_watts, gpu.static_share, gpu.waiting_share};
    assumptions.clock_bound_share = gpu.clock_bound_share;
    if (!file.has_clocks) assumptions.clocks_permille = {kFullClock};
    assumptions.idle_milliwatts = power.idle_milliwatts;
    assumptions.node_milliwatts = power.node_milliwatts;
    assumptions.asleep_milliwatts = power.asleep_milliwatts;
    assumptions.overhead_permille = power.overhead_permille;
    for (const Node& node : cluster.nodes) {
      if (node.pool == power.pool && node.gpu_count > 0) assumptions.gpus_per_node = node.gpu_count;
    }
    pools.emplace_back(power.pool, assumptions);
  }
  wish.model = [pools = std::move(pools)](PoolIndex pool, const CurveBook& curves) {
    for (const auto& one : pools) {
      if (one.first == pool) return predict::power_book(curves, one.second);
    }
    return PowerBook{};
  };
  return wish;
}

}  // namespace

Result<std::optional<formats::EnergyFile>> read_energy_file(const OptionValues& options,
                                                            const Cluster& cluster,
                                                            std::string_view policy) {
  if (!options.has("energy")) return std::nullopt;
  const std::string& name = options.text("energy");
  auto file = formats::read_energy_yaml(name, cluster);
  if (!file) return tl::unexpected<Error>(std::move(file.error()));
  if (policy == kMindsEnergy || file->is_off) return std::optional{std::move(*file)};
  Diagnostics mistakes;
  const auto must = [&](const char* field) {
    mistakes.add(
        {name, 0, field, "given",
         fmt::format("--policy {}: {} minds no energy, and only counts it", kMindsEnergy, policy)});
  };
  if (file->terms.has_budget()) must("budget");
  if (file->terms.price_nanos) must("price");
  if (file->terms.cap_milliwatts) must("power_cap");
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return std::optional{std::move(*file)};
}

Result<void> ServedEnergy::tell(std::optional<control::EnergyWish> wish) {
  auto answered = std::make_shared<std::promise<Result<void>>>();
  controller_.configure_energy(std::move(wish),
                               [answered](const Result<void>& told) { answered->set_value(told); });
  return answered->get_future().get();
}

Result<void> ServedEnergy::adopt(const std::optional<formats::EnergyFile>& file,
                                 const std::string& name, Console& console) {
  if (!file || file->is_off) {
    feed_.reset();
    return tell(std::nullopt);
  }
  auto feed = control::SupplyFeed::start(
      file->supply, [this](const control::SupplyNews& news) { controller_.hear_supply(news); });
  if (!feed) return tl::unexpected<Error>(std::move(feed.error()));
  const control::SupplyNews news = (*feed)->news();
  if (!news.series.empty()) {
    if (auto mistake = formats::budget_mismatch(*file, news.kind, name))
      return bad_input(std::move(*mistake));
  }
  for (const std::string& line : file->assumed)
    console.err << fmt::format("weir: energy: assumed of {}\n", line);
  for (const std::string& line : news.state.repairs)
    console.err << fmt::format("weir: energy: {}\n", line);
  if (const std::string stale = control::stale_line(news.state); !stale.empty())
    console.err << fmt::format("weir: energy: {}\n", stale);
  if (auto told = tell(wish_of(*file, *controller_.cluster())); !told) return told;
  feed_.reset();  // nobody speaks for two
  controller_.hear_supply(news);
  feed_ = std::move(*feed);
  return {};
}

void reload_energy(const OptionValues& options, control::Controller& controller,
                   ServedEnergy& served, Console& console) {
  const std::string& name = options.text("energy");
  const auto file = read_energy_file(options, *controller.cluster(), controller.policy());
  const Result<void> told =
      file ? served.adopt(*file, name, console) : tl::unexpected<Error>(file.error());
  if (told) {
    console.err << fmt::format("weir: {} is read again\n", name);
  } else {
    console.err << fmt::format("weir: energy stays as it was, because of {}\n{}", name,
                               to_string(told.error().details));
  }
  console.err.flush();
}

}  // namespace weir::cli
