// SPDX-License-Identifier: Apache-2.0
//
// A network with two hidden layers of tanh and one output, in double precision, trained by gradient
// descent with momentum. All parameters lie in one array, so that ranks add up gradients with one
// reduction and a checkpoint is a block of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::example {

class SmallNetwork {
 public:
  // Random parameters that depend on the seed alone.
  SmallNetwork(std::size_t inputs, std::size_t width, std::uint64_t seed);

  std::size_t size() const { return parameters_.size(); }
  std::span<double> parameters() { return parameters_; }
  std::span<double> velocity() { return velocity_; }

  double output(std::span<const double> input);

  // Adds weight * d(output - target)^2 to the gradient, and returns weight * (output - target)^2.
  // Requires: gradient has size() numbers.
  double add_gradient(std::span<const double> input, double target, double weight,
                      std::span<double> gradient);

  void descend(std::span<const double> gradient, double rate, double momentum);

 private:
  struct Layer {
    std::size_t inputs, outputs, at;  // weights by output, then one bias for each
  };
  void forward(const Layer& layer, std::span<const double> from, std::span<double> to) const;
  void backward(const Layer& layer, std::span<const double> from, std::span<const double> slope,
                std::span<double> gradient, std::span<double> slope_of_input) const;

  Layer first_, second_, last_;
  std::vector<double> parameters_, velocity_;
  // Room for one pass.
  std::vector<double> hidden_1_, hidden_2_, slope_1_, slope_2_;
};

}  // namespace weir::example
