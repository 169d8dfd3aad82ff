// SPDX-License-Identifier: Apache-2.0
#include "small_network.h"

#include <algorithm>
#include <cmath>

#include "domain/seeded_rng.h"

namespace weir::example {
namespace {

void apply_tanh(std::span<double> values) {
  for (double& value : values) value = std::tanh(value);
}

// From the slope after tanh to the slope before it.
void undo_tanh(std::span<const double> values, std::span<double> slopes) {
  for (std::size_t i = 0; i < values.size(); ++i) slopes[i] *= 1 - values[i] * values[i];
}

}  // namespace

SmallNetwork::SmallNetwork(std::size_t inputs, std::size_t width, std::uint64_t seed)
    : first_{inputs, width, 0},
      second_{width, width, (inputs + 1) * width},
      last_{width, 1, second_.at + (width + 1) * width},
      parameters_(last_.at + width + 1),
      velocity_(parameters_.size()),
      hidden_1_(width),
      hidden_2_(width),
      slope_1_(width),
      slope_2_(width) {
  SeededRng rng{seed};
  for (const Layer& layer : {first_, second_, last_}) {
    const double limit = 1 / std::sqrt(static_cast<double>(layer.inputs));
    for (std::size_t i = 0; i < (layer.inputs + 1) * layer.outputs; ++i)
      parameters_[layer.at + i] = limit * (2 * rng.uniform() - 1);
  }
}

void SmallNetwork::forward(const Layer& layer, std::span<const double> from,
                           std::span<double> to) const {
  const double* weight = parameters_.data() + layer.at;
  const double* bias = weight + layer.inputs * layer.outputs;
  for (std::size_t output = 0; output < layer.outputs; ++output) {
    double sum = bias[output];
    for (std::size_t input = 0; input < layer.inputs; ++input) sum += *weight++ * from[input];
    to[output] = sum;
  }
}

void SmallNetwork::backward(const Layer& layer, std::span<const double> from,
                            std::span<const double> slope, std::span<double> gradient,
                            std::span<double> slope_of_input) const {
  const double* weight = parameters_.data() + layer.at;
  double* of_weight = gradient.data() + layer.at;
  double* of_bias = of_weight + layer.inputs * layer.outputs;
  std::fill(slope_of_input.begin(), slope_of_input.end(), 0.0);
  for (std::size_t output = 0; output < layer.outputs; ++output) {
    for (std::size_t input = 0; input < layer.inputs; ++input) {
      *of_weight++ += slope[output] * from[input];
      if (!slope_of_input.empty()) slope_of_input[input] += slope[output] * *weight;
      ++weight;
    }
    of_bias[output] += slope[output];
  }
}

double SmallNetwork::output(std::span<const double> input) {
  forward(first_, input, hidden_1_);
  apply_tanh(hidden_1_);
  forward(second_, hidden_1_, hidden_2_);
  apply_tanh(hidden_2_);
  double result = 0;
  forward(last_, hidden_2_, {&result, 1});
  return result;
}

double SmallNetwork::add_gradient(std::span<const double> input, double target, double weight,
                                  std::span<double> gradient) {
  const double error = output(input) - target;
  const double slope = 2 * weight * error;
  backward(last_, hidden_2_, {&slope, 1}, gradient, slope_2_);
  undo_tanh(hidden_2_, slope_2_);
  backward(second_, hidden_1_, slope_2_, gradient, slope_1_);
  undo_tanh(hidden_1_, slope_1_);
  backward(first_, input, slope_1_, gradient, {});
  return weight * error * error;
}

void SmallNetwork::descend(std::span<const double> gradient, double rate, double momentum) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    velocity_[i] = momentum * velocity_[i] + gradient[i];
    parameters_[i] -= rate * velocity_[i];
  }
}

}  // namespace weir::example
