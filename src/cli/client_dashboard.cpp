// SPDX-License-Identifier: Apache-2.0
#include "cli/client_dashboard.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "cli/client_api.h"
#include "cli/client_context.h"
#include "cli/open_in_browser.h"
#include "transport/request_target.h"

namespace weir::cli {

CommandSpec dashboard_spec() {
  CommandSpec spec = {
      .name = "dashboard",
      .summary = "Print the link to the server's page.",
      .about =
          "Prints the address of the server's dashboard with the token, to be opened in a browser "
          "on "
          "this machine. Whoever has the link may do everything with the server. The token stands "
          "after the #, which a browser keeps to itself.",
      .options = {{.name = "open",
                   .type = OptionType::flag,
                   .help = "Also open it in the browser of this desktop (xdg-open).",
                   .in_recipe = false},
                  client_json_option()},
      .examples = {{"weir dashboard", "The link, to open it yourself."},
                   {"weir dashboard --open", "Look at the cluster."}}};
  const std::vector<OptionSpec> server = server_options();
  spec.options.insert(spec.options.end(), server.begin(), server.end());
  return spec;
}

Result<void> dashboard_command(const OptionValues& options, Console& console) {
  auto address = server_address(options);
  if (!address) return tl::unexpected(std::move(address.error()));
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  // A link that does not work is of no use: the server must be there, and this must be its token.
  if (const auto answer = client->get("/v1/jobs?limit=1"); !answer)
    return tl::unexpected(answer.error());

  const std::string page = address->url + "/";
  const std::string link = page + "#token=" + transport::percent_encoded(address->token);
  if (options.flag("json")) {
    if (auto printed =
            print_json({{"url", page}, {"token", address->token}, {"link", link}}, console);
        !printed) {
      return printed;
    }
  } else {
    console.out << link << "\n";
    console.out.flush();
  }
  if (!options.flag("open")) return {};
  if (const auto opened = open_in_browser(link); !opened)
    console.err << "weir: " << opened.error() << "; open the link yourself\n";
  return {};
}

}  // namespace weir::cli
