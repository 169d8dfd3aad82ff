// SPDX-License-Identifier: Apache-2.0
#include "transport/address_limits.h"

#include <gtest/gtest.h>

namespace weir::transport {
namespace {

using std::chrono::seconds;
const AddressLimits::Time kNow{seconds{1'000'000}};

TEST(AddressLimits, AnAddressHasSoManyConnections) {
  AddressLimits limits{2, {}};
  EXPECT_TRUE(limits.enter("a", kNow));
  EXPECT_TRUE(limits.enter("a", kNow));
  EXPECT_FALSE(limits.enter("a", kNow));
  EXPECT_TRUE(limits.enter("b", kNow)) << "others are not held up";
  limits.leave("a");
  EXPECT_TRUE(limits.enter("a", kNow));
}

TEST(AddressLimits, TheRateGoesOnWithANewConnection) {
  AddressLimits limits{0, {1, 2}};
  EXPECT_TRUE(limits.enter("a", kNow));
  EXPECT_EQ(limits.seconds_to_wait("a", kNow), 0);
  EXPECT_EQ(limits.seconds_to_wait("a", kNow), 0);
  EXPECT_GT(limits.seconds_to_wait("a", kNow), 0);
  limits.leave("a");
  EXPECT_TRUE(limits.enter("a", kNow));
  EXPECT_GT(limits.seconds_to_wait("a", kNow), 0);
  EXPECT_EQ(limits.seconds_to_wait("a", kNow + seconds{1}), 0);
}

TEST(AddressLimits, AddressesThatLeftAreForgotten) {
  AddressLimits only_connections{2, {}};
  AddressLimits both{2, {10, 20}};
  for (int i = 0; i < 100'000; ++i) {
    const auto now = kNow + std::chrono::milliseconds{i};
    const std::string address = std::to_string(i);
    for (AddressLimits* limits : {&only_connections, &both}) {
      EXPECT_TRUE(limits->enter(address, now));
      limits->leave(address);
    }
  }
  EXPECT_EQ(only_connections.known(), 0U);
  EXPECT_LT(both.known(), 20'000U);
}

TEST(AddressLimits, WithoutLimitsNothingIsRemembered) {
  AddressLimits limits{0, {}};
  EXPECT_TRUE(limits.enter("a", kNow));
  EXPECT_EQ(limits.seconds_to_wait("a", kNow), 0);
  EXPECT_EQ(limits.known(), 0U);
  limits.leave("a");
}

}  // namespace
}  // namespace weir::transport
