// SPDX-License-Identifier: Apache-2.0
#include "control/api_access.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "control/api.h"
#include "control/api_replies.h"
#include "formats/quantity_text.h"
#include "formats/time_text.h"

namespace weir::control {
namespace {

using transport::HttpRequest;
using transport::HttpResponse;
using transport::problem;
using transport::Responder;

HttpResponse unauthorised(std::string_view detail) {
  HttpResponse response = problem(401, "", detail);
  response.headers.add("WWW-Authenticate", "Bearer");
  return response;
}

constexpr Role needed_role(std::string_view method, std::string_view route) {
  if (method == "OPTIONS") return Role::viewer;
  if (route.starts_with("/v1/tokens")) return Role::operator_;
  if (method == "GET" || method == "HEAD") return Role::viewer;
  if (route == "/v1/jobs" || route == "/v1/jobs/{job}/cancel" || route == "/v1/dry-run")
    return Role::submitter;
  return Role::operator_;  // whatever is added later is locked until somebody decides
}

nlohmann::ordered_json json_of(const AccessToken& token) {
  nlohmann::ordered_json json;
  json["name"] = token.name;
  json["role"] = to_string(token.role);
  if (!token.tenant.empty()) json["tenant"] = token.tenant;
  json["created"] = formats::format_time(token.created);
  if (token.expires) json["expires"] = formats::format_time(*token.expires);
  if (token.revoked) json["revoked"] = formats::format_time(*token.revoked);
  return json;
}

// The fields of a new token; notes every mistake.
class TokenReader {
 public:
  TokenReader(const std::string& body, Time now) : now_{now} {
    constexpr int kDeepest = 1;
    const auto is_flat = [&](int depth, nlohmann::json::parse_event_t event,
                             const nlohmann::json& value) {
      if (depth > kDeepest) is_deep_ = true;
      if (event == nlohmann::json::parse_event_t::key) keys_.push_back(value.get<std::string>());
      return !is_deep_;
    };
    json_ = nlohmann::json::parse(body, is_flat, false);
  }

  AccessToken read() {
    AccessToken token;
    if (!json_.is_object() || is_deep_) {
      note("", "no object of texts", R"({"name": "ci", "role": "submitter", "tenant": "vision"})");
      return token;
    }
    check_keys();
    token.name = text("name");
    // The same rule: a plain name.
    if (!formats::is_tenant_name(token.name)) note("name", token.name, formats::kTenantRule);
    const std::string role_text = text("role");
    const auto role = role_named(role_text);
    if (!role) note("role", role_text, "viewer, submitter or operator");
    token.role = role.value_or(Role::viewer);
    token.tenant = text("tenant");
    if (json_.contains("tenant") && !formats::is_tenant_name(token.tenant)) {
      note("tenant", token.tenant, formats::kTenantRule);
    } else if (role == Role::submitter && token.tenant.empty()) {
      note("tenant", "", "the tenant whose jobs it submits");
    } else if (role == Role::operator_ && !token.tenant.empty()) {
      note("tenant", token.tenant, "none: an operator has the whole cluster");
    }
    read_expiry(token);
    return token;
  }

  const Diagnostics& mistakes() const { return mistakes_; }

 private:
  void check_keys() {
    for (const std::string& key : keys_) {
      if (std::count(keys_.begin(), keys_.end(), key) > 1) return note(key, "given twice", "once");
      if (key != "name" && key != "role" && key != "tenant" && key != "expires_in")
        note("field", key, "one of name, role, tenant, expires_in");
    }
  }

  void read_expiry(AccessToken& token) {
    if (!json_.contains("expires_in")) return;
    constexpr Duration kLongest = from_seconds(3653 * std::int64_t{86'400});
    const std::string written = text("expires_in");
    const auto duration = formats::parse_duration(written);
    if (!duration || *duration <= Duration{0} || *duration > kLongest) {
      return note("expires_in", written, "a duration of more than 0s, up to 3653d, such as 30d");
    }
    token.expires = now_ + *duration;
  }

  // Empty when it is absent or no text.
  std::string text(const char* key) const {
    const auto at = json_.find(key);
    return at != json_.end() && at->is_string() ? at->get<std::string>() : std::string{};
  }
  void note(std::string field, std::string found, std::string_view expected) {
    mistakes_.add({"body", 0, std::move(field), found.substr(0, 128), std::string{expected}});
  }

  Time now_;
  nlohmann::json json_;
  std::vector<std::string> keys_;
  bool is_deep_ = false;
  Diagnostics mistakes_;
};

}  // namespace

const AccessCaller* caller_of(const HttpRequest& request) {
  return static_cast<const AccessCaller*>(request.caller.get());
}

bool claim(const HttpRequest& request, formats::JobDocument& document, Responder& responder) {
  const AccessCaller* const caller = caller_of(request);
  if (caller != nullptr && caller->is_of_tenant(document.tenant)) return true;
  if (caller != nullptr && document.tenant.empty()) {
    document.tenant = caller->tenant();
    return true;
  }
  responder.send(
      problem(403, "",
              fmt::format("the token is of tenant \"{}\" and submits no jobs of tenant \"{}\"",
                          caller == nullptr ? std::string{} : caller->tenant(), document.tenant)));
  return false;
}

std::string tenant_of_view(std::string_view view) {
  const auto json = nlohmann::json::parse(view, nullptr, false);
  const auto at = json.is_object() ? json.find("tenant") : json.end();
  if (!json.is_object() || at == json.end() || !at->is_string()) return std::string{kDefaultTenant};
  return at->get<std::string>();
}

std::optional<HttpResponse> Api::authorise(Request& request) const {
  const bool is_open = request.segments.empty() ||
                       (request.segments.front() != "v1" && request.segments.front() != "metrics");
  if (is_open) return std::nullopt;
  const auto given = request.headers.find("Authorization");
  constexpr std::string_view kBearer = "Bearer ";
  if (!given || request.headers.count("Authorization") > 1 ||
      !transport::same_header_name(given->substr(0, kBearer.size()), kBearer)) {
    return unauthorised(
        "send one token: `Authorization: Bearer TOKEN`; the first is in the file `token` of the "
        "server's state folder");
  }
  const AccessTokens::Found found = tokens_->find(given->substr(kBearer.size()));
  switch (found.answer) {
    case AccessTokens::Answer::unknown:
      return unauthorised(
          "this is no token of this server; the first is in the file `token` of its state folder");
    case AccessTokens::Answer::expired:
      return unauthorised("the token has expired; an operator can make another");
    case AccessTokens::Answer::revoked:
      return unauthorised("the token was revoked");
    case AccessTokens::Answer::welcome:
      break;
  }
  request.caller = found.caller;
  if (const long wait = seconds_to_wait(*found.caller); wait > 0) {
    HttpResponse later = problem(429, "", "too many requests of this tenant; please wait a little");
    later.headers.add("Retry-After", fmt::format("{}", wait));
    return later;
  }
  const Role needed = needed_role(request.method, request.route);
  if (found.caller->token().role >= needed) return std::nullopt;
  return problem(403, "",
                 fmt::format("the token \"{}\" is a {}'s; this takes {}", found.caller->name(),
                             found.caller->role(),
                             needed == Role::operator_ ? "an operator's" : "a submitter's"));
}

long Api::seconds_to_wait(const AccessCaller& caller) const {
  if (options_.rate_per_tenant.per_second <= 0 || caller.is_operator()) return 0;
  // A tenant cannot have this name: it has a space.
  const std::string key =
      caller.tenant().empty() ? fmt::format("viewer {}", caller.name()) : caller.tenant();
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock{counting_};
  auto& bucket =
      rates_.try_emplace(key, transport::TokenBucket{options_.rate_per_tenant, now}).first->second;
  return bucket.take(now) ? 0 : bucket.wait_seconds();
}

Result<std::optional<JobId>> Api::own_job_named(const Request& request, std::string_view name) {
  const AccessCaller* const caller = caller_of(request);
  if (caller != nullptr && !caller->tenant().empty()) {
    JobQuery query;
    query.name = name;
    query.newest_first = true;
    query.after = std::numeric_limits<std::int64_t>::max();
    query.limit = 1000;
    const auto page = reading_->reader->jobs(query);
    if (!page) return tl::unexpected<Error>(page.error());
    for (const std::string& view : page->views) {
      const auto json = nlohmann::json::parse(view, nullptr, false);
      if (tenant_of_view(view) == caller->tenant())
        return JobId{json.value("id", std::uint64_t{0})};
    }
  }
  return reading_->reader->job_named(name);
}

std::optional<JobId> Api::find_own_job(const Request& request, Responder& responder) {
  const AccessCaller* const caller = caller_of(request);
  const auto job = find_job(request, responder);
  if (!job) return std::nullopt;
  if (caller != nullptr && caller->tenant().empty()) return job;
  std::string tenant;
  {
    const std::lock_guard lock{reading_->mutex};
    const auto view = reading_->reader->job_view(*job);
    if (!view || !*view) {
      responder.send(view ? problem(404, "", "the job is gone") : store_trouble(view.error()));
      return std::nullopt;
    }
    tenant = tenant_of_view(**view);
  }
  if (caller != nullptr && caller->is_of_tenant(tenant)) return job;
  responder.send(
      problem(403, "",
              fmt::format("job {} is of tenant \"{}\", and the token is not", job->value, tenant)));
  return std::nullopt;
}

void Api::whoami(Request request, Responder responder) {
  responder.send(json_response(200, json_of(caller_of(request)->token()).dump()));
}

void Api::tokens(Request, Responder responder) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const AccessToken& token : tokens_->list()) list.push_back(json_of(token));
  responder.send(json_response(200, nlohmann::ordered_json{{"tokens", std::move(list)}}.dump()));
}

void Api::create_token(Request request, Responder responder) {
  if (!is_json_body(request))
    return responder.send(problem(415, "", "send the token's fields as application/json"));
  TokenReader reader{request.body, loop_.wall_time()};
  const AccessToken wanted = reader.read();
  if (!reader.mistakes().empty())
    return responder.send(problem(400, "", "the token has mistakes", reader.mistakes()));
  const auto secret = tokens_->create(wanted);
  if (!secret) {
    return responder.send(secret.error().code == ErrorCode::bad_input
                              ? problem(409, "", text_of(secret.error().details))
                              : unavailable(text_of(secret.error().details)));
  }
  AccessToken made = wanted;
  for (const AccessToken& each : tokens_->list()) {
    if (each.name == wanted.name) made = each;
  }
  nlohmann::ordered_json json = json_of(made);
  json["token"] = *secret;
  responder.send(json_response(201, json.dump()));
}

void Api::revoke_token(Request request, Responder responder) {
  const std::string_view name = request.parameter("token");
  const auto revoked = tokens_->revoke(name);
  if (!revoked) {
    return responder.send(revoked.error().code == ErrorCode::bad_input
                              ? problem(409, "", text_of(revoked.error().details))
                              : unavailable(text_of(revoked.error().details)));
  }
  if (!*revoked) {
    return responder.send(
        problem(404, "",
                fmt::format("there is no token \"{}\"; `weir token list` lists them",
                            name.substr(0, 128))));
  }
  responder.send(json_response(200, json_of(**revoked).dump()));
}

}  // namespace weir::control
