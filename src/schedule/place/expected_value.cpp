// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/expected_value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "schedule/place/configuration_lp.h"

namespace weir::schedule {
namespace {

constexpr double kScarcityWeight = 0.3;
constexpr double kLeastSupplyShare = 0.02;  // a nearly absent model must not outweigh everything
constexpr int kScarcityBits = 20;

// 0.03 micro-GPU per micro-GPU of shortage: 0.03 * 1000 / 16 = 15 / 8 per unit of CpuShortage.
constexpr std::int64_t kShortageNumerator = 15;
constexpr std::int64_t kShortageDenominator = 8;
static_assert(CpuShortage::kUnitsPerMilli == 16);

constexpr std::int64_t kLevelStep = 40 * kMicroPerMilli;
constexpr std::int64_t kLevelBias = 30 * kMicroPerMilli;
constexpr std::int64_t kScoreOfLevelZero = 190;

constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// What a price depends on.
Shape priced_shape(Shape shape) {
  shape.memory = Mebibytes{0};
  shape.models = {};
  return shape;
}

constexpr std::int64_t size_of(const Shape& shape) {
  return shape.gpu_total().value * kMicroPerMilli;
}

void keep_largest_demands(std::vector<ShapeDemand>& demand, std::size_t most) {
  if (demand.size() <= most) return;
  std::stable_sort(demand.begin(), demand.end(), [](const ShapeDemand& a, const ShapeDemand& b) {
    return a.tasks * static_cast<double>(a.shape.gpu_total().value) >
           b.tasks * static_cast<double>(b.shape.gpu_total().value);
  });
  demand.resize(most);
}

std::unordered_map<Shape, std::int64_t> solve_for_values(const Outlook& outlook) {
  std::vector<ShapeDemand> demand =
      scaled_demand(outlook.target.shapes, outlook.supply.total, ModelSets::erased);
  keep_largest_demands(demand, ExpectedValueScorer::kMostPricedShapes);
  const ConfigurationLpResult lp =
      solve_configuration_lp(packing_classes(outlook.node_classes), demand);
  std::unordered_map<Shape, std::int64_t> values;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const std::int64_t size = size_of(demand[i].shape);
    const std::int64_t price =
        std::llround(lp.demand_price[i] * static_cast<double>(kMicroPerMilli));
    values.emplace(demand[i].shape, std::clamp<std::int64_t>(size - price, 0, size));
  }
  return values;
}

std::int64_t value_in(const std::unordered_map<Shape, std::int64_t>& values, const Shape& shape) {
  const auto at = values.find(priced_shape(shape));
  return at == values.end() ? size_of(shape) : at->second;
}

std::vector<std::int64_t> values_of(const TargetWorkload& target,
                                    const std::unordered_map<Shape, std::int64_t>& values) {
  std::vector<std::int64_t> of_shapes;
  for (const ExpectedShape& expected : target.shapes)
    of_shapes.push_back(value_in(values, expected.shape));
  return of_shapes;
}

// P by model.
std::vector<double> pressure_by_model(const Outlook& outlook) {
  std::map<GpuModelSet, MilliGpu> demand;
  MilliGpu asked;
  for (const ExpectedShape& expected : outlook.target.shapes) {
    const MilliGpu milli = expected.shape.gpu_total() * expected.count;
    demand[expected.shape.models] += milli;
    asked += milli;
  }
  std::vector<double> pressure(outlook.supply.by_model.size(), 0.0);
  if (asked == MilliGpu{0} || outlook.supply.total == MilliGpu{0}) return pressure;
  for (const auto& [models, milli] : demand) {
    const double share = static_cast<double>(milli.value) / static_cast<double>(asked.value);
    const double supply_share = static_cast<double>(outlook.supply.on(models).value) /
                                static_cast<double>(outlook.supply.total.value);
    for (std::size_t t = 0; t < pressure.size(); ++t) {
      if (!models.accepts(GpuModelId{static_cast<std::uint8_t>(t)})) continue;
      pressure[t] += share / std::max(supply_share, kLeastSupplyShare);
    }
  }
  return pressure;
}

std::vector<std::int64_t> scarcity_by_model(const Outlook& outlook) {
  const std::vector<double> pressure = pressure_by_model(outlook);
  double least = HUGE_VAL;
  for (std::size_t t = 0; t < pressure.size(); ++t) {
    if (outlook.supply.by_model[t] > MilliGpu{0}) least = std::min(least, pressure[t]);
  }
  std::vector<std::int64_t> scarcity;
  for (const double p : pressure) {
    const double excess = std::max(0.0, p - least);
    scarcity.push_back(std::llround(std::ldexp(kScarcityWeight * excess, kScarcityBits)));
  }
  return scarcity;
}

}  // namespace

ExpectedValueScorer::ExpectedValueScorer(const Outlook& outlook, const NodeValueOptions& options)
    : task_values_{solve_for_values(outlook)},
      scarcity_{scarcity_by_model(outlook)},
      shortage_{outlook.target},
      node_value_{outlook.target, values_of(outlook.target, task_values_), outlook.node_classes,
                  options} {}

std::int64_t ExpectedValueScorer::task_value(const Shape& shape) const {
  return value_in(task_values_, shape);
}

std::int64_t ExpectedValueScorer::fixed_loss(const NodeState& node, const Shape& shape) const {
  const std::int64_t shortage = shortage_.increase(node, shape) * kShortageNumerator;
  std::int64_t fixed = floor_divide(shortage, kShortageDenominator);
  if (shape.is_cpu_only()) return fixed;
  fixed += (size_of(shape) * scarcity_[node.model.value]) >> kScarcityBits;
  return fixed - task_value(shape);
}

std::int64_t ExpectedValueScorer::loss(const NodeState& node, const Shape& shape,
                                       GpuMask gpus) const {
  NodeState after = node;
  take(after, shape, gpus);
  return node_value_.value(node) - node_value_.value(after) + fixed_loss(node, shape);
}

std::int64_t ExpectedValueScorer::level(std::int64_t loss) {
  return floor_divide(loss + kLevelBias, kLevelStep);
}

Score ExpectedValueScorer::score_of(std::int64_t level) {
  return static_cast<Score>(std::clamp<std::int64_t>(kScoreOfLevelZero - level, 0, kMaxScore));
}

std::int64_t ExpectedValueScorer::level_of_whole(const NodeState& node, const Shape& shape) const {
  return level(loss(node, shape, first_whole_gpus(node, shape.gpu_count)));
}

ExpectedValueScorer::Choice ExpectedValueScorer::best_share(const NodeState& node,
                                                            const Shape& shape) const {
  const std::vector<ResidualKey>& keys = node_value_.keys(node.model);
  const auto key_of = [&](std::int16_t free) { return keys[static_cast<std::size_t>(free)]; };
  std::array<std::int16_t, kMaxGpusPerNode> free_gpu = node.free_gpu;
  const std::span<const std::int16_t> trial = std::span{free_gpu}.first(node.gpu_count);
  ResidualKey before;
  for (const std::int16_t free : trial) before += key_of(free);
  const std::int64_t loss_but_rest =
      node_value_.row(node.model, before, trial)[node_value_.cpu_index(node.free_cpu)] +
      fixed_loss(node, shape);
  const std::size_t cpu_after = node_value_.cpu_index(node.free_cpu - shape.cpu);

  Choice best{.level = INT64_MAX};
  for (std::size_t gpu = 0; gpu < trial.size(); ++gpu) {
    const std::int16_t free = node.free_gpu[gpu];
    if (free < shape.gpu_share.value) continue;
    const auto others = trial.first(gpu);
    if (std::find(others.begin(), others.end(), free) != others.end())
      continue;  // as good as that one
    const auto left = static_cast<std::int16_t>(free - shape.gpu_share.value);
    ResidualKey after = before;
    after -= key_of(free);
    after += key_of(left);
    free_gpu[gpu] = left;
    const std::int64_t candidate =
        level(loss_but_rest - node_value_.row(node.model, after, trial)[cpu_after]);
    free_gpu[gpu] = free;
    if (candidate < best.level) best = {candidate, static_cast<int>(gpu)};
  }
  return best;
}

ExpectedValueScorer::Choice ExpectedValueScorer::best_choice(const NodeState& node,
                                                             const Shape& shape) const {
  return shape.shares_gpu() ? best_share(node, shape)
                            : Choice{.level = level_of_whole(node, shape)};
}

Score ExpectedValueScorer::score(const NodeState& node, const Shape& shape) const {
  return score_of(best_choice(node, shape).level);
}

GpuMask ExpectedValueScorer::choose_gpus(const NodeState& node, const Shape& shape,
                                         std::uint64_t) const {
  if (!shape.shares_gpu()) return first_whole_gpus(node, shape.gpu_count);
  GpuMask mask;
  mask.insert(best_share(node, shape).gpu);
  return mask;
}

std::unique_ptr<NodeScorer> ExpectedValuePolicy::prepare(const Outlook& outlook) const {
  return std::make_unique<ExpectedValueScorer>(outlook);
}

}  // namespace weir::schedule
