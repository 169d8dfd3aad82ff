// SPDX-License-Identifier: Apache-2.0
#include "simulate/usual_traffic.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::simulate {
namespace {

TEST(UsualTraffic, CanBeScheduledWith) {
  NetworkTerms terms;
  terms.kinds = usual_traffic();
  EXPECT_TRUE(is_well_formed(terms)) << "each model once, none exchanges more than it runs";
}

TEST(UsualTraffic, GivesWayToWhatIsGiven) {
  const auto kinds = usual_traffic_but({{"vgg16", 1, 2, 3, false}, {"mine", 4, 0, 0, false}});
  EXPECT_EQ(kinds.size(), usual_traffic().size() + 1);
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [](const KindTraffic& kind) { return kind.model == "vgg16"; });
  EXPECT_EQ(found->all_to_all, 2);
  NetworkTerms terms;
  terms.kinds = kinds;
  EXPECT_TRUE(is_well_formed(terms));
}

}  // namespace
}  // namespace weir::simulate
