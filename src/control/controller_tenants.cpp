// SPDX-License-Identifier: Apache-2.0
//
// Who shares the cluster: told to the core as an event, like everything it learns.
#include <utility>

#include "control/controller.h"

namespace weir::control {
namespace {

tl::unexpected<Error> not_now(std::string why) {
  Diagnostics details;
  details.add({"", 0, "", std::move(why), "try again later"});
  return tl::unexpected<Error>(Error{ErrorCode::unavailable, std::move(details)});
}

}  // namespace

void Controller::tenants(std::function<void(Result<ShownTenants>)> answer) {
  const auto look = [this, answer] { answer(shown_tenants()); };
  const auto refuse = [answer] { answer(not_now("the store cannot be written")); };
  if (!post(LookItem{look, refuse})) answer(not_now("the server is stopping or overloaded"));
}

void Controller::change_tenants(TenantTable table,
                                std::function<void(Result<ShownTenants>)> answer) {
  if (config_.policy != kSharingPolicy) {
    return answer(bad_input(
        Diagnostic{"", 0, "policy", config_.policy,
                   std::string{kSharingPolicy} + ", which alone gives tenants their shares"}));
  }
  if (!is_well_formed(table)) {
    return answer(bad_input(Diagnostic{"", 0, "tenants", "no sound table",
                                       "tenants as docs/tasks/share-a-cluster.md describes them"}));
  }
  if (!post(TenantsItem{std::move(table), answer}))
    answer(not_now("the server is stopping or overloaded"));
}

// The same as before leaves no trace.
void Controller::process(TenantsItem& item) {
  const auto& known = core_->state().training.tenants;
  const TenantTable wanted = with_default_tenant(std::move(item.table));
  if (wanted.empty() ? known != nullptr : known == nullptr || *known != wanted)
    tell(TenantsChanged{wanted});
  answers_.push_back([this, to = item.answer] { to(shown_tenants()); });
  refusals_.push_back([to = item.answer] { to(not_now("the decision could not be stored")); });
}

ShownTenants Controller::shown_tenants() const {
  return tenant_figures(core_->state().training, config_.cluster, now_);
}

}  // namespace weir::control
