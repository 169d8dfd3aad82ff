// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/configuration_lp.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "schedule/place/linear_program.h"
#include "schedule/place/node_packing.h"

namespace weir::schedule {
namespace {

// Fixed point of the packing values: 2^16 units per milli-GPU keep 16 GPUs below 2^31.
constexpr double kUnitsPerMilli = 65536.0;
// A packing enters the master when it gains more than this many milli-GPU per node.
constexpr double kLeastGain = 1e-4;
constexpr std::int64_t kMaxPivots = 100'000;

MilliCpu largest_cpu(std::span<const PackingClass> classes) {
  MilliCpu largest;
  for (const PackingClass& c : classes) largest = std::max(largest, c.cpu);
  return largest;
}

// Finds the best packings for the classes whose GPU models all shapes treat alike.
struct Pricing {
  std::vector<std::size_t> classes;
  std::vector<PackItem> all_items;  // ids are positions in the demand; values are set per round
  std::vector<PackItem> items;      // those worth packing in this round
  std::size_t cpu_steps = 0;
  std::size_t most_gpus = 0;
  ShareLevels levels;
  PackingTable table;
};

class ColumnGeneration {
 public:
  ColumnGeneration(std::span<const PackingClass> classes, std::span<const ShapeDemand> demand,
                   const ConfigurationLpOptions& options)
      : classes_{classes},
        demand_{demand},
        options_{options},
        grid_{largest_cpu(classes)},
        lp_{right_hand_side()} {
    build_pricing();
  }

  ConfigurationLpResult run() {
    ConfigurationLpResult result;
    result.bound_milli = capacity_milli();
    for (int round = 0; round < options_.max_rounds; ++round) {
      const Round current = price();
      result.bound_milli = std::min(result.bound_milli, current.bound_milli);
      // Compared with the bound of these prices, not the best so far: the prices are a result too.
      const double gap = current.bound_milli - result.packed_milli;
      if (!current.has_added || gap <= options_.relative_gap * result.packed_milli) {
        result.has_converged = true;
        break;
      }
      if (lp_.solve(kMaxPivots) != LinearProgram::Status::optimal) break;
      result.packed_milli = lp_.objective();
    }
    result.bound_milli = std::max(result.bound_milli, result.packed_milli);
    for (std::size_t k = 0; k < classes_.size(); ++k) result.class_price.push_back(class_price(k));
    for (std::size_t m = 0; m < demand_.size(); ++m) result.demand_price.push_back(demand_price(m));
    return result;
  }

 private:
  struct Round {
    bool has_added = false;
    double bound_milli = 0;  // the dual bound of the prices
  };

  std::vector<double> right_hand_side() const {
    std::vector<double> rhs;
    for (const PackingClass& c : classes_) rhs.push_back(static_cast<double>(c.nodes));
    for (const ShapeDemand& d : demand_) rhs.push_back(d.tasks);
    return rhs;
  }

  double capacity_milli() const {
    MilliGpu capacity;
    for (const PackingClass& c : classes_) capacity += kWholeGpu * c.gpu_count * c.nodes;
    return static_cast<double>(capacity.value);
  }

  double class_price(std::size_t k) const { return std::max(0.0, lp_.duals()[k]); }
  double demand_price(std::size_t m) const {
    return std::max(0.0, lp_.duals()[classes_.size() + m]);
  }
  double milli_of(std::size_t m) const {
    return static_cast<double>(demand_[m].shape.gpu_total().value);
  }

  bool is_optimistic() const {
    return options_.rounding == ConfigurationLpOptions::Rounding::optimistic;
  }
  std::size_t node_steps(std::size_t k) const {
    return is_optimistic() ? grid_.rounded_up(classes_[k].cpu)
                           : grid_.rounded_down(classes_[k].cpu);
  }
  std::size_t task_steps(std::size_t m) const {
    const MilliCpu cpu = demand_[m].shape.cpu;
    return is_optimistic() ? grid_.rounded_down(cpu) : grid_.rounded_up(cpu);
  }

  void build_pricing() {
    std::map<std::vector<bool>, std::size_t> by_access;
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      std::vector<bool> access;
      for (const ShapeDemand& d : demand_)
        access.push_back(d.shape.models.accepts(classes_[k].model));
      const auto [at, is_new] = by_access.emplace(std::move(access), pricing_.size());
      if (is_new) pricing_.push_back(make_pricing(classes_[k].model));
      Pricing& pricing = pricing_[at->second];
      pricing.classes.push_back(k);
      pricing.cpu_steps = std::max(pricing.cpu_steps, node_steps(k));
      pricing.most_gpus =
          std::max(pricing.most_gpus, static_cast<std::size_t>(classes_[k].gpu_count));
    }
  }

  Pricing make_pricing(GpuModelId model) const {
    Pricing pricing;
    for (std::size_t m = 0; m < demand_.size(); ++m) {
      const Shape& shape = demand_[m].shape;
      if (demand_[m].tasks <= 0 || !shape.models.accepts(model)) continue;
      pricing.all_items.push_back({task_steps(m), static_cast<std::size_t>(shape.gpu_share.value),
                                   static_cast<std::size_t>(shape.gpu_count), 0, m});
    }
    pricing.levels = ShareLevels{pricing.all_items};
    return pricing;
  }

  // Adds the best packing of each class where it gains.
  Round price() {
    Round round;
    for (std::size_t m = 0; m < demand_.size(); ++m)
      round.bound_milli += demand_price(m) * demand_[m].tasks;
    for (Pricing& pricing : pricing_) {
      pricing.items = pricing.all_items;
      for (PackItem& item : pricing.items) {
        const double value = milli_of(item.id) - demand_price(item.id);
        item.value =
            static_cast<std::int32_t>(std::ceil(value * kUnitsPerMilli));  // up: a bound stays one
      }
      prune_items(pricing.items);
      pricing.table.build(pricing.items, pricing.levels, pricing.cpu_steps, pricing.most_gpus);
      for (const std::size_t k : pricing.classes) {
        const auto gpus = static_cast<std::size_t>(classes_[k].gpu_count);
        const double value = pricing.table.free_gpus(gpus)[node_steps(k)] / kUnitsPerMilli;
        round.bound_milli += static_cast<double>(classes_[k].nodes) * value;
        if (value - class_price(k) > kLeastGain) round.has_added |= add_packing(pricing, k);
      }
    }
    return round;
  }

  bool add_packing(const Pricing& pricing, std::size_t k) {
    std::vector<std::size_t> chosen =
        pricing.table.recover(pricing.items, pricing.levels,
                              static_cast<std::size_t>(classes_[k].gpu_count), node_steps(k));
    std::sort(chosen.begin(), chosen.end());
    std::vector<LinearProgram::Entry> entries{{k, 1.0}};
    double milli = 0;
    double gain = -class_price(k);
    for (const std::size_t position : chosen) {
      const std::size_t m = pricing.items[position].id;
      milli += milli_of(m);
      gain += milli_of(m) - demand_price(m);
      const std::size_t row = classes_.size() + m;
      if (entries.back().row == row) {
        entries.back().value += 1.0;
      } else {
        entries.push_back({row, 1.0});
      }
    }
    if (gain <= kLeastGain / 2) return false;  // only the rounding of the values gained
    lp_.add_column(milli, entries);
    return true;
  }

  std::span<const PackingClass> classes_;
  std::span<const ShapeDemand> demand_;
  ConfigurationLpOptions options_;
  CpuGrid grid_;
  LinearProgram lp_;
  std::vector<Pricing> pricing_;
};

}  // namespace

std::vector<PackingClass> packing_classes(std::span<const NodeClass> node_classes) {
  std::map<std::tuple<GpuModelId, MilliCpu, std::int32_t>, std::int64_t> nodes;
  for (const NodeClass& node_class : node_classes) {
    const NodeState& empty = node_class.empty;
    if (empty.gpu_count > 0)
      nodes[{empty.model, empty.free_cpu, empty.gpu_count}] += node_class.count;
  }
  std::vector<PackingClass> classes;
  for (const auto& [key, count] : nodes) {
    classes.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
  }
  return classes;
}

std::vector<ShapeDemand> scaled_demand(std::span<const ExpectedShape> shapes, MilliGpu total,
                                       ModelSets model_sets) {
  // Whole counts are added up before they are scaled, so the order of the shapes has no say.
  std::map<Shape, std::int64_t> counts;
  MilliGpu asked;
  for (const ExpectedShape& expected : shapes) {
    Shape shape = expected_shape(expected.shape);
    if (shape.is_cpu_only()) continue;
    if (model_sets == ModelSets::erased) shape.models = {};
    counts[shape] += expected.count;
    asked += shape.gpu_total() * expected.count;
  }
  std::vector<ShapeDemand> demand;
  for (const auto& [shape, count] : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(asked.value);
    demand.push_back({shape, share * static_cast<double>(total.value)});
  }
  return demand;
}

ConfigurationLpResult solve_configuration_lp(std::span<const PackingClass> classes,
                                             std::span<const ShapeDemand> demand,
                                             const ConfigurationLpOptions& options) {
  return ColumnGeneration{classes, demand, options}.run();
}

}  // namespace weir::schedule
