// SPDX-License-Identifier: Apache-2.0
#include "cli/client_login.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "cli/client_api.h"
#include "cli/client_context.h"
#include "cli/login_file.h"
#include "cli/read_secret.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

// "https://gpu1:7070" -> "gpu1", "http://[::1]:7070" -> "[::1]"
std::string_view host_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  url = url.substr(0, url.find('/'));
  if (url.starts_with('[')) return url.substr(0, url.find(']') + 1);
  return url.substr(0, url.find(':'));
}

bool is_loopback(std::string_view url) {
  const std::string_view host = host_of(url);
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

Diagnostics mistakes_of(const OptionValues& options) {
  Diagnostics mistakes;
  const std::string& url = options.text("url");
  const bool is_plain = url.starts_with("http://");
  if (!is_plain && !url.starts_with("https://")) {
    mistakes.add({"", 0, "URL", url, "a URL, such as https://gpu1:7070"});
  } else if (url.find('@') != std::string::npos) {
    mistakes.add({"", 0, "URL", "one with a user", "a URL without: a token says who you are"});
  } else if (is_plain && !is_loopback(url)) {
    mistakes.add({"", 0, "URL", url,
                  "https://, or an address of this machine: a token is not for everybody on the "
                  "way to read"});
  }
  if (options.has("fingerprint")) {
    if (!key_fingerprint(options.text("fingerprint"))) {
      mistakes.add({"", 0, "--fingerprint", options.text("fingerprint"),
                    "what `weir serve` prints: sha256// and 44 characters"});
    }
    if (options.has("ca-file"))
      mistakes.add(
          {"", 0, "--fingerprint", "--ca-file beside it", "either a fingerprint or certificates"});
  }
  if (is_plain) {
    for (const char* name : {"fingerprint", "ca-file"})
      if (options.has(name))
        mistakes.add({"", 0, fmt::format("--{}", name), "an http:// URL", "an https:// URL"});
  }
  return mistakes;
}

Result<std::string> token_for(const OptionValues& options) {
  auto token = options.has("token-file")
                   ? read_token_file(options.text("token-file"))
                   : read_secret(fmt::format("Token for {}: ", options.text("url")));
  if (token && token->empty()) {
    return bad_input(Diagnostic{
        options.has("token-file") ? options.text("token-file") : "", 0, "token", "",
        "a token: an operator makes one with `weir token create`, and the first is in the file "
        "`token` of the server's state folder"});
  }
  return token;
}

// "submitter of vision, until 2027-02-14T10:00:00Z"
std::string rights_of(const ApiJson& token) {
  std::string text = text_in(token, "role");
  if (const std::string tenant = text_in(token, "tenant"); !tenant.empty()) text += " of " + tenant;
  return token.contains("expires") ? text + ", until " + clock_in(token, "expires") : text;
}

}  // namespace

CommandSpec login_spec() {
  return {.name = "login",
          .summary = "Use a server, with a token, from now on.",
          .about =
              "Asks for a token without showing it, asks the server whether it is good, and keeps "
              "both in ~/.config/weir/login.yaml, for you only. Other commands then talk to that "
              "server, unless --server, --context, WEIR_SERVER, WEIR_CONTEXT or WEIR_STATE say "
              "otherwise. The token is sent to no other server.",
          .options = {{.name = "url",
                       .type = OptionType::text,
                       .unit = "URL",
                       .help = "The server, such as https://gpu1:7070.",
                       .required = true,
                       .positional = true},
                      {.name = "token-file",
                       .type = OptionType::file,
                       .help = "A file with the token. Default: asks, or reads standard input if "
                               "that is no terminal."},
                      {.name = "fingerprint",
                       .type = OptionType::text,
                       .help = "Trust the server by its key: what `weir serve` prints."},
                      {.name = "ca-file",
                       .type = OptionType::file,
                       .help = "Certificates (PEM) to trust. Default: those of the system."},
                      client_json_option()},
          .examples = {{"weir login https://gpu1:7070 --ca-file tls-cert.pem",
                        "A server with a certificate of its own."}}};
}

Result<void> login_command(const OptionValues& options, Console& console) {
  if (auto mistakes = mistakes_of(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  Login login;
  login.server = options.text("url");
  while (login.server.ends_with('/')) login.server.pop_back();
  ServerAddress address{login.server, "", {}};
  if (options.has("ca-file")) {
    login.ca_file = fs::absolute(options.text("ca-file"));
    auto authorities = read_authorities(login.ca_file);
    if (!authorities) return tl::unexpected(std::move(authorities.error()));
    address.tls.authorities = std::move(*authorities);
  } else if (options.has("fingerprint")) {
    login.fingerprint = address.tls.pinned_key = options.text("fingerprint");
  }
  auto token = token_for(options);
  if (!token) return tl::unexpected(std::move(token.error()));
  login.token = address.token = std::move(*token);
  auto known = ApiClient::of(std::move(address), console).get("/v1/whoami");
  if (!known) return tl::unexpected(std::move(known.error()));
  if (auto written = write_login(login); !written) return written;
  for (const char* name : {"WEIR_SERVER", "WEIR_CONTEXT", "WEIR_STATE", "WEIR_TOKEN"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      console.err << fmt::format("weir: {} is set, and comes before the login\n", name);
  }
  if (options.flag("json")) {
    (*known)["server"] = login.server;
    return print_json(*known, console);
  }
  console.out << fmt::format("Logged in to {} as {}: {}\n", login.server, text_in(*known, "name"),
                             rights_of(*known));
  return {};
}

CommandSpec logout_spec() {
  return {.name = "logout",
          .summary = "Forget the server and the token of `weir login`.",
          .about =
              "Removes what `weir login` kept. The token itself stays valid: an operator takes "
              "it back with `weir token revoke`.",
          .options = {},
          .examples = {{"weir logout", "Leave."}}};
}

Result<void> logout_command(const OptionValues&, Console& console) {
  const auto removed = remove_login();
  if (!removed) return tl::unexpected(removed.error());
  console.out << (*removed ? "Logged out\n" : "You were not logged in\n");
  return {};
}

}  // namespace weir::cli
