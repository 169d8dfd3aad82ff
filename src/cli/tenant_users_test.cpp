// SPDX-License-Identifier: Apache-2.0
#include "cli/tenant_users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/serve_command.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;

Result<TenantUsers> read(std::vector<std::string> pairs, bool is_root = true) {
  std::vector<GivenOption> given;
  for (std::string& pair : pairs) given.push_back({"tenant-user", {std::move(pair)}});
  return read_tenant_users(*read_options(serve_spec(), given), is_root);
}

std::string mistakes(const Result<TenantUsers>& users) {
  return users ? "none" : to_string(users.error().details);
}

TEST(TenantUsers, ArePairs) {
  EXPECT_EQ(read({"vision=nobody", "language=nobody"}),
            (TenantUsers{{"vision", "nobody"}, {"language", "nobody"}}));
  EXPECT_EQ(read({}, false), TenantUsers{});
}

TEST(TenantUsers, EachMistakeIsNamed) {
  EXPECT_THAT(mistakes(read({"vision"})), HasSubstr("expected TENANT=USER"));
  EXPECT_THAT(mistakes(read({"vision="})), HasSubstr("expected TENANT=USER"));
  EXPECT_THAT(mistakes(read({"a b=nobody"})), HasSubstr("expected a tenant before the ="));
  EXPECT_THAT(mistakes(read({"vision=weir-no-such"})), HasSubstr("a user of this machine"));
  EXPECT_THAT(mistakes(read({"vision=root"})), HasSubstr("a user that is not root"));
  EXPECT_THAT(mistakes(read({"v=nobody", "v=daemon"})), HasSubstr("has the user nobody already"));
  EXPECT_EQ(read({"vision", "v=root"}, false).error().details.total(), 3U);
}

TEST(TenantUsers, TakeRoot) {
  EXPECT_THAT(mistakes(read({"vision=nobody"}, false)), HasSubstr("to be started as root"));
}

}  // namespace
}  // namespace weir::cli
