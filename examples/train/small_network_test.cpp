// SPDX-License-Identifier: Apache-2.0
#include "small_network.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "picture_samples.h"

namespace weir::example {
namespace {

double loss_of(SmallNetwork& network, const Sample& sample) {
  const double error = network.output(sample.features) - sample.brightness;
  return error * error;
}

// The slope by the definition: what the loss changes by when one parameter moves a little to either side.
double measured_slope(SmallNetwork& network, std::size_t parameter, const Sample& sample) {
  constexpr double kLittle = 1e-5;
  double& value = network.parameters()[parameter];
  const double before = value;
  value = before + kLittle;
  const double above = loss_of(network, sample);
  value = before - kLittle;
  const double below = loss_of(network, sample);
  value = before;
  return (above - below) / (2 * kLittle);
}

RC_GTEST_PROP(SmallNetwork, GradientIsTheSlopeOfTheLoss, ()) {
  const auto width = *rc::gen::inRange<std::size_t>(1, 9);
  SmallNetwork network{kFeatures, width, *rc::gen::arbitrary<std::uint64_t>()};
  const Sample taken = sample(*rc::gen::inRange<std::int64_t>(0, kSamples));
  std::vector<double> gradient(network.size());
  const double loss = network.add_gradient(taken.features, taken.brightness, 1, gradient);
  RC_ASSERT(std::abs(loss - loss_of(network, taken)) < 1e-12);
  const auto parameter = *rc::gen::inRange<std::size_t>(0, network.size());
  RC_ASSERT(std::abs(gradient[parameter] - measured_slope(network, parameter, taken)) < 1e-6);
}

RC_GTEST_PROP(SmallNetwork, GradientsAddUpByWeight, ()) {
  SmallNetwork network{kFeatures, 4, 1};
  const Sample taken = sample(*rc::gen::inRange<std::int64_t>(0, kSamples));
  std::vector<double> once(network.size());
  std::vector<double> twice(network.size());
  network.add_gradient(taken.features, taken.brightness, 1, once);
  for (int i = 0; i < 2; ++i) network.add_gradient(taken.features, taken.brightness, 0.5, twice);
  for (std::size_t i = 0; i < once.size(); ++i) RC_ASSERT(std::abs(once[i] - twice[i]) < 1e-12);
}

TEST(SmallNetwork, EqualSeedsGiveEqualParameters) {
  SmallNetwork one{kFeatures, 8, 7};
  SmallNetwork same{kFeatures, 8, 7};
  SmallNetwork other{kFeatures, 8, 8};
  const auto copy = [](SmallNetwork& network) {
    return std::vector<double>{network.parameters().begin(), network.parameters().end()};
  };
  EXPECT_EQ(copy(one), copy(same));
  EXPECT_NE(copy(one), copy(other));
}

// 1.5 and then, with momentum, 0.5 * 1.5 + 1.5 more, each times the rate.
TEST(SmallNetwork, MomentumCarriesOn) {
  SmallNetwork network{1, 1, 1};
  const double before = network.parameters()[0];
  const std::vector<double> gradient(network.size(), 1.5);
  network.descend(gradient, 0.1, 0.5);
  EXPECT_NEAR(network.parameters()[0], before - 0.15, 1e-15);
  network.descend(gradient, 0.1, 0.5);
  EXPECT_NEAR(network.parameters()[0], before - 0.15 - 0.225, 1e-15);
}

}  // namespace
}  // namespace weir::example
