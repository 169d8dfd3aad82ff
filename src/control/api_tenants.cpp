// SPDX-License-Identifier: Apache-2.0
//
// The API's routes about who shares the cluster.
#include <utility>

#include "control/api.h"
#include "control/api_replies.h"
#include "formats/tenants_yaml.h"

namespace weir::control {
namespace {

using transport::problem;

Result<TenantTable> read_yaml_body(std::string_view body, const Cluster& cluster) {
  auto input = yaml_body(body, "at most 256 KiB of YAML, or the tenants as JSON");
  if (!input) return tl::unexpected<Error>(std::move(input.error()));
  return formats::read_tenants_yaml(std::move(*input), cluster);
}

// To whoever asked: the tenants as they stand, or why not.
auto answer_with_tenants(transport::Responder responder) {
  auto shared = std::make_shared<transport::Responder>(std::move(responder));
  return [shared](const Result<ShownTenants>& shown) {
    if (shown) return shared->send(json_response(200, to_json(*shown)));
    const Error& error = shown.error();
    shared->send(error.code == ErrorCode::unavailable
                     ? unavailable(text_of(error.details))
                     : problem(422, "", "this server cannot share out GPUs", error.details));
  };
}

}  // namespace

void Api::tenants(Request, Responder responder) {
  if (is_only_observing(responder)) return;
  loop_.tenants(answer_with_tenants(std::move(responder)));
}

void Api::change_tenants(Request request, Responder responder) {
  if (is_only_observing(responder)) return;
  const bool is_yaml = is_of_type(request, {"application/yaml", "application/x-yaml", "text/yaml"});
  if (!is_yaml && !is_json_body(request)) {
    return responder.send(
        problem(415, "", "send the tenants as application/json or application/yaml"));
  }
  auto table = is_yaml ? read_yaml_body(request.body, *loop_.cluster())
                       : formats::read_tenants_json(request.body, "body", *loop_.cluster());
  if (!table)
    return responder.send(problem(400, "", "the tenants have mistakes", table.error().details));
  loop_.change_tenants(std::move(*table), answer_with_tenants(std::move(responder)));
}

}  // namespace weir::control
