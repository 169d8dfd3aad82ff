// SPDX-License-Identifier: Apache-2.0
#include "cli/tenant_users.h"

#include <fmt/format.h>

#include "engine/local/find_user.h"
#include "formats/job_document.h"

namespace weir::cli {
namespace {

constexpr const char* kOption = "--tenant-user";

// Empty when it will do.
std::string mistake_of(const std::string& user) {
  const auto found = engine::find_user(user);
  if (!found) return fmt::format("a user of this machine; \"{}\" is none", user);
  if (found->user == 0) return "a user that is not root";
  return {};
}

}  // namespace

Result<TenantUsers> read_tenant_users(const OptionValues& options, bool is_root) {
  TenantUsers users;
  if (!options.is_given("tenant-user")) return users;
  Diagnostics mistakes;
  for (const std::string& pair : options.texts("tenant-user")) {
    const std::size_t equals = pair.find('=');
    const std::string tenant = pair.substr(0, equals);
    const std::string user = equals == std::string::npos ? "" : pair.substr(equals + 1);
    std::string expected;
    if (user.empty()) {
      expected = "TENANT=USER, such as vision=alice";
    } else if (!formats::is_tenant_name(tenant)) {
      expected = fmt::format("a tenant before the =: {}", formats::kTenantRule);
    } else {
      expected = mistake_of(user);
    }
    if (expected.empty() && !users.emplace(tenant, user).second)
      expected = fmt::format("each tenant once; {} has the user {} already", tenant, users[tenant]);
    if (!expected.empty()) mistakes.add({"", 0, kOption, pair, std::move(expected)});
  }
  if (!is_root) {
    mistakes.add({"", 0, kOption, "a server that is not root's",
                  "to be started as root: nobody else can start processes of other users"});
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return users;
}

Result<void> check_users_can_enter(const TenantUsers& users, const std::filesystem::path& state) {
  Diagnostics mistakes;
  for (const auto& [tenant, name] : users) {
    const auto user = engine::find_user(name);
    if (user && engine::can_enter(*user, state)) continue;
    mistakes.add({"", 0, "--state", state.string(),
                  fmt::format("a folder that {} can get to, such as /var/lib/weir: the jobs of {} "
                              "work below it",
                              name, tenant)});
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return {};
}

}  // namespace weir::cli
