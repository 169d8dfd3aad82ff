// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_tenants.h"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <ostream>
#include <utility>

#include "formats/tenants_yaml.h"

namespace weir::cli {
namespace {

Diagnostic gives_no_shares(const OptionValues& options, std::string_view policy) {
  return {"", 0, "--tenants", options.text("tenants"),
          fmt::format("--policy {}: {} gives tenants no shares", control::kSharingPolicy, policy)};
}

}  // namespace

Diagnostics mistakes_of_tenants(const OptionValues& options) {
  Diagnostics mistakes;
  const bool is_other_policy =
      options.is_given("policy") && options.text("policy") != control::kSharingPolicy;
  if (options.has("tenants") && is_other_policy)
    mistakes.add(gives_no_shares(options, options.text("policy")));
  return mistakes;
}

Result<std::optional<TenantTable>> read_tenants(const OptionValues& options, const Cluster& cluster,
                                                std::string_view policy) {
  if (!options.has("tenants")) return std::nullopt;
  if (policy != control::kSharingPolicy) return bad_input(gives_no_shares(options, policy));
  auto table = formats::read_tenants_yaml(options.text("tenants"), cluster);
  if (!table) return tl::unexpected<Error>(std::move(table.error()));
  return std::optional{std::move(*table)};
}

Result<void> tell_tenants(control::Controller& controller, const TenantTable& table) {
  auto answered = std::make_shared<std::promise<Result<void>>>();
  controller.change_tenants(table, [answered](const Result<control::ShownTenants>& shown) {
    answered->set_value(shown ? Result<void>{} : tl::unexpected<Error>(shown.error()));
  });
  return answered->get_future().get();
}

void reload_tenants(const OptionValues& options, control::Controller& controller,
                    Console& console) {
  const std::string& file = options.text("tenants");
  const auto tell = [&](const Result<void>& told, std::size_t count) {
    if (told) {
      console.err << fmt::format("weir: {} is read again: {} tenant{}\n", file, count,
                                 count == 1 ? "" : "s");
    } else {
      console.err << fmt::format("weir: the tenants stay as they were, because of {}\n{}", file,
                                 to_string(told.error().details));
    }
    console.err.flush();
  };
  const auto table = read_tenants(options, *controller.cluster(), controller.policy());
  if (!table) return tell(tl::unexpected<Error>(table.error()), 0);
  tell(tell_tenants(controller, **table), (*table)->tenants.size());
}

}  // namespace weir::cli
