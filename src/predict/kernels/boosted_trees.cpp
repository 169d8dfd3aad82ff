// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/boosted_trees.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <limits>

namespace weir::predict {
namespace {

constexpr std::size_t kMostTreeSteps = 64;
constexpr double kLeastGain = 1e-12;
constexpr float kNeverRight = std::numeric_limits<float>::max();

// The values between which one feature is split, ascending: step i holds values <= edges[i].
std::vector<float> step_edges(std::span<const float> rows, std::size_t features,
                              std::size_t feature) {
  std::vector<float> values;
  values.reserve(rows.size() / features);
  for (std::size_t at = feature; at < rows.size(); at += features) values.push_back(rows[at]);
  std::sort(values.begin(), values.end());
  std::vector<float> edges;
  const std::size_t count = values.size();
  for (std::size_t step = 1; step < kMostTreeSteps; ++step) {
    const std::size_t at = step * count / kMostTreeSteps;
    if (at == 0 || values[at - 1] == values[at]) {
      // The quantile lies within equal values: split behind them, where there is something behind.
      const auto behind = std::upper_bound(values.begin(), values.end(), values[at]);
      if (behind == values.end()) continue;
      const float edge = values[at] + (*behind - values[at]) / 2;
      if (edges.empty() || edge > edges.back()) edges.push_back(edge);
      continue;
    }
    const float edge = values[at - 1] + (values[at] - values[at - 1]) / 2;
    if (edges.empty() || edge > edges.back()) edges.push_back(edge);
  }
  return edges;
}

// Where half of them are below: 0 of none.
double middle_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

struct StepSum {
  double sum = 0;
  std::int64_t count = 0;
};

struct BestSplit {
  double gain = kLeastGain;
  std::int32_t feature = 0;
  float threshold = kNeverRight;
  std::uint8_t step = 255;  // rows with a higher step go right
};

class TreeFit {
 public:
  TreeFit(std::span<const float> rows, std::size_t features, std::span<const double> targets,
          const BoostingOptions& options)
      : features_{features},
        rows_{targets.size()},
        options_{options},
        left_over_{targets.begin(), targets.end()},
        pull_(targets.size()) {
    edges_.reserve(features);
    for (std::size_t feature = 0; feature < features; ++feature)
      edges_.push_back(step_edges(rows, features, feature));
    steps_.resize(rows.size());
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t feature = 0; feature < features; ++feature) {
        const auto& edges = edges_[feature];
        const float value = rows[row * features + feature];
        steps_[row * features + feature] = static_cast<std::uint8_t>(
            std::lower_bound(edges.begin(), edges.end(), value) - edges.begin());
      }
  }

  BoostedTrees run() {
    BoostedTrees fitted;
    fitted.depth = options_.depth;
    std::vector<double> all = left_over_;
    fitted.offset = middle_of(all);
    for (double& value : left_over_) value -= fitted.offset;
    for (int tree = 0; tree < options_.trees; ++tree) grow(fitted);
    return fitted;
  }

 private:
  void grow(BoostedTrees& fitted) {
    node_.assign(rows_, 0);  // within its level
    for (std::size_t row = 0; row < rows_; ++row)
      pull_[row] = std::clamp(left_over_[row], -options_.far, options_.far);
    for (int level = 0; level < options_.depth; ++level) {
      const std::size_t nodes = std::size_t{1} << level;
      count_steps(nodes);
      std::vector<BestSplit> splits(nodes);
      for (std::size_t node = 0; node < nodes; ++node) splits[node] = best_split(node);
      for (const BestSplit& split : splits) {
        fitted.features.push_back(split.feature);
        fitted.thresholds.push_back(split.threshold);
      }
      for (std::size_t row = 0; row < rows_; ++row) {
        const BestSplit& split = splits[node_[row]];
        const bool right =
            steps_[row * features_ + static_cast<std::size_t>(split.feature)] > split.step;
        node_[row] = static_cast<std::uint16_t>(node_[row] * 2 + (right ? 1 : 0));
      }
    }
    add_leaves(fitted);
  }

  void count_steps(std::size_t nodes) {
    sums_.assign(nodes * features_ * kMostTreeSteps, {});
    for (std::size_t row = 0; row < rows_; ++row) {
      const double value = pull_[row];
      StepSum* const sums = &sums_[node_[row] * features_ * kMostTreeSteps];
      const std::uint8_t* const steps = &steps_[row * features_];
      for (std::size_t feature = 0; feature < features_; ++feature) {
        StepSum& sum = sums[feature * kMostTreeSteps + steps[feature]];
        sum.sum += value;
        ++sum.count;
      }
    }
  }

  BestSplit best_split(std::size_t node) const {
    BestSplit best;
    const StepSum* const sums = &sums_[node * features_ * kMostTreeSteps];
    StepSum all;
    for (std::size_t step = 0; step < kMostTreeSteps; ++step) {
      all.sum += sums[step].sum;
      all.count += sums[step].count;
    }
    if (all.count < 2 * options_.least_leaf) return best;
    const double before = all.sum * all.sum / static_cast<double>(all.count);
    for (std::size_t feature = 0; feature < features_; ++feature) {
      StepSum left;
      for (std::size_t step = 0; step < edges_[feature].size(); ++step) {
        left.sum += sums[feature * kMostTreeSteps + step].sum;
        left.count += sums[feature * kMostTreeSteps + step].count;
        const std::int64_t right_count = all.count - left.count;
        if (left.count < options_.least_leaf) continue;
        if (right_count < options_.least_leaf) break;
        const double right = all.sum - left.sum;
        const double gain = left.sum * left.sum / static_cast<double>(left.count) +
                            right * right / static_cast<double>(right_count) - before;
        if (gain <= best.gain * (1 + 1e-9)) continue;
        best = {gain, static_cast<std::int32_t>(feature), edges_[feature][step],
                static_cast<std::uint8_t>(step)};
      }
    }
    return best;
  }

  void add_leaves(BoostedTrees& fitted) {
    const std::size_t leaves = std::size_t{1} << options_.depth;
    std::vector<std::vector<double>> members(leaves);
    for (std::size_t row = 0; row < rows_; ++row) members[node_[row]].push_back(left_over_[row]);
    std::vector<float> values(leaves);
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      const double middle = middle_of(members[leaf]);
      double sum = 0;
      for (const double value : members[leaf])
        sum += std::clamp(value - middle, -options_.far, options_.far);
      const double count = std::max<double>(1, static_cast<double>(members[leaf].size()));
      values[leaf] = static_cast<float>(options_.rate * (middle + sum / count));
    }
    for (std::size_t row = 0; row < rows_; ++row)
      left_over_[row] -= static_cast<double>(values[node_[row]]);
    fitted.leaves.insert(fitted.leaves.end(), values.begin(), values.end());
  }

  std::size_t features_;
  std::size_t rows_;
  BoostingOptions options_;
  std::vector<double> left_over_;
  std::vector<double> pull_;               // left over, but far misses count no more than `far`
  std::vector<std::vector<float>> edges_;  // by feature
  std::vector<std::uint8_t> steps_;        // by row and feature
  std::vector<std::uint16_t> node_;        // by row
  std::vector<StepSum> sums_;              // by node, feature and step
};

}  // namespace

BoostedTrees fit_boosted_trees(std::span<const float> rows, std::size_t features,
                               std::span<const double> targets, const BoostingOptions& options) {
  assert(rows.size() == targets.size() * features);
  return TreeFit{rows, features, targets, options}.run();
}

namespace {

// One tree is a chain of loads that wait for each other: several at a time hide the waiting.
constexpr std::size_t kTreesAtOnce = 8;

// What `Count` trees from `first` on add, one after the other.
template <std::size_t Count>
double add_trees(const BoostedTrees& trees, const float* values, std::size_t first, double sum) {
  const std::size_t leaves = std::size_t{1} << trees.depth;
  const std::size_t nodes = leaves - 1;
  const std::int32_t* const features = trees.features.data() + first * nodes;
  const float* const thresholds = trees.thresholds.data() + first * nodes;
  std::array<std::size_t, Count> node{};
  for (std::int32_t level = 0; level < trees.depth; ++level) {
    for (std::size_t i = 0; i < Count; ++i) {
      const std::size_t at = i * nodes + node[i];
      node[i] = 2 * node[i] + 1 + static_cast<std::size_t>(values[features[at]] > thresholds[at]);
    }
  }
  for (std::size_t i = 0; i < Count; ++i)
    sum += static_cast<double>(trees.leaves[(first + i) * leaves + node[i] - nodes]);
  return sum;
}

}  // namespace

double boosted_value(const BoostedTrees& trees, std::span<const float> values) {
  const std::size_t count = trees.leaves.size() >> trees.depth;
  double sum = trees.offset;
  std::size_t tree = 0;
  for (; tree + kTreesAtOnce <= count; tree += kTreesAtOnce)
    sum = add_trees<kTreesAtOnce>(trees, values.data(), tree, sum);
  for (; tree < count; ++tree) sum = add_trees<1>(trees, values.data(), tree, sum);
  return sum;
}

}  // namespace weir::predict
