// SPDX-License-Identifier: Apache-2.0
#include "cli/client_tokens.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/client_api.h"
#include "cli/client_context.h"
#include "report/table.h"
#include "report/text_table.h"
#include "transport/request_target.h"

namespace weir::cli {
namespace {

std::string state_of(const ApiJson& token) {
  if (token.contains("revoked")) return "revoked " + clock_in(token, "revoked");
  return token.contains("expires") ? "until " + clock_in(token, "expires") : "valid";
}

}  // namespace

CommandSpec token_create_spec() {
  return with_client_options(
      {.name = "token create",
       .summary = "Let somebody use the server.",
       .about =
           "Makes a token and prints it, this once: the server keeps only its SHA-256. A viewer "
           "reads. A submitter reads, and submits and cancels jobs of its tenant. An operator does "
           "everything. Whoever has a tenant does not see the command, environment and logs of "
           "other tenants' jobs. Takes an operator's token.",
       .options = {{.name = "name",
                    .type = OptionType::text,
                    .help = "What the token is called in lists and in the audit log.",
                    .required = true},
                   {.name = "role",
                    .type = OptionType::text,
                    .choices = {"viewer", "submitter", "operator"},
                    .help = "What it may do.",
                    .required = true},
                   {.name = "tenant",
                    .type = OptionType::text,
                    .help = "The group it belongs to: a submitter always, a viewer if you like."},
                   {.name = "expires",
                    .type = OptionType::text,
                    .unit = "duration",
                    .help = "How long it is valid, such as 30d. Default: until it is revoked."}},
       .examples = {{"weir token create --name ci --role submitter --tenant vision --expires 90d",
                     "Let a pipeline submit jobs."},
                    {"weir token create --name grafana --role viewer", "Let a page read."}}});
}

Result<void> token_create_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  ApiJson wanted{{"name", options.text("name")}, {"role", options.text("role")}};
  if (options.has("tenant")) wanted["tenant"] = options.text("tenant");
  if (options.has("expires")) wanted["expires_in"] = options.text("expires");
  const auto made =
      client->post("/v1/tokens", wanted.dump(-1, ' ', false, ApiJson::error_handler_t::replace));
  if (!made) return tl::unexpected(made.error());
  if (options.flag("json")) return print_json(*made, console);
  console.out << text_in(*made, "token") << "\n";
  console.err << fmt::format(
      "weir: the token of {}, {}; nobody can show it again. Use it as WEIR_TOKEN, or keep it in a "
      "file that only you can read\n",
      text_in(*made, "name"), state_of(*made));
  return {};
}

CommandSpec token_list_spec() {
  return with_client_options(
      {.name = "token list",
       .summary = "List who may use the server.",
       .about = "Lists all tokens with their roles, not the tokens themselves. "
                "Those that are over stay for 90 days. Takes an operator's token.",
       .options = {},
       .examples = {{"weir token list", "Who may do what?"}}});
}

Result<void> token_list_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const auto tokens = client->get("/v1/tokens");
  if (!tokens) return tl::unexpected(tokens.error());
  if (options.flag("json")) return print_json(*tokens, console);
  using report::Align;
  report::Table table{"",
                      {{"name", Align::left},
                       {"role", Align::left},
                       {"tenant", Align::left},
                       {"created", Align::left},
                       {"state", Align::left}},
                      {}};
  if (tokens->contains("tokens") && (*tokens)["tokens"].is_array()) {
    for (const ApiJson& token : (*tokens)["tokens"]) {
      table.rows.push_back({text_in(token, "name"), text_in(token, "role"),
                            text_in(token, "tenant"), clock_in(token, "created"), state_of(token)});
    }
  }
  console.out << report::to_text(table);
  return {};
}

CommandSpec token_revoke_spec() {
  return with_client_options({.name = "token revoke",
                              .summary = "Take a token back.",
                              .about =
                                  "From then on the token opens nothing; streams that it opened "
                                  "end within a second. Jobs go on. Takes an operator's token.",
                              .options = {{.name = "name",
                                           .type = OptionType::text,
                                           .help = "The token's name, as in `weir token list`.",
                                           .required = true,
                                           .positional = true}},
                              .examples = {{"weir token revoke ci", "It leaked."}}});
}

Result<void> token_revoke_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const auto revoked = client->post(
      fmt::format("/v1/tokens/{}/revoke", transport::percent_encoded(options.text("name"))));
  if (!revoked) return tl::unexpected(revoked.error());
  if (options.flag("json")) return print_json(*revoked, console);
  console.out << fmt::format("{} is {}\n", text_in(*revoked, "name"), state_of(*revoked));
  return {};
}

}  // namespace weir::cli
