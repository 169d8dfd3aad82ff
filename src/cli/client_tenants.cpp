// SPDX-License-Identifier: Apache-2.0
#include "cli/client_tenants.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/client_context.h"
#include "formats/input_file.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

constexpr std::size_t kMaxTenantsBytes = std::size_t{256} << 10;  // the server takes no more

std::vector<ApiJson> list_in(const ApiJson& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_array()) return {};
  return json[key].get<std::vector<ApiJson>>();
}

std::string number_in(const ApiJson& json, const char* key, std::string_view otherwise = "0") {
  const auto number = integer_in(json, key);
  return number ? fmt::format("{}", *number) : std::string{otherwise};
}

std::string percent_in(const ApiJson& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number()) return "";
  return fmt::format("{:.1f} %", json[key].get<double>() * 100);
}

Result<void> print_tenants(const ApiJson& shown, const OptionValues& options, Console& console) {
  if (options.flag("json")) return print_json(shown, console);
  if (list_in(shown, "tenants").empty()) {
    console.out << "nobody has a share; `weir tenants set FILE` gives out some\n";
    return {};
  }
  console.out << report::to_text(tenant_table(shown));
  console.out << fmt::format(
      "GPU-time counts half after {}; nobody gives way for fairness before {}\n",
      text_in(shown, "half_life"), text_in(shown, "lease"));
  return {};
}

}  // namespace

report::Table tenant_table(const ApiJson& shown) {
  using report::Align;
  report::Table table{"",
                      {{"tenant", Align::left},
                       {"pool", Align::left},
                       {"guaranteed", Align::right},
                       {"maximum", Align::right},
                       {"GPUs", Align::right},
                       {"promised", Align::right},
                       {"borrowed", Align::right},
                       {"waiting", Align::right},
                       {"weight", Align::right},
                       {"of weights", Align::right},
                       {"of use", Align::right}},
                      {}};
  std::map<std::string, std::size_t> depths;
  for (const ApiJson& tenant : list_in(shown, "tenants")) {
    const std::string name = text_in(tenant, "name");
    const auto above = depths.find(text_in(tenant, "parent"));
    const std::size_t depth = depths[name] = above == depths.end() ? 0 : above->second + 1;
    bool is_first = true;
    for (const ApiJson& pool : list_in(tenant, "pools")) {
      const auto once = [&](std::string text) { return is_first ? text : std::string{}; };
      table.rows.push_back(
          {once(std::string(2 * depth, ' ') + name), text_in(pool, "pool"),
           number_in(pool, "guaranteed"), number_in(pool, "maximum", "-"), number_in(pool, "gpus"),
           number_in(pool, "promised"), number_in(pool, "borrowed"),
           once(number_in(tenant, "waiting")), once(number_in(tenant, "weight")),
           once(percent_in(tenant, "share_of_weight")), once(percent_in(tenant, "share_of_use"))});
      is_first = false;
    }
  }
  return table;
}

CommandSpec tenants_spec() {
  return with_client_options(
      {.name = "tenants",
       .summary = "Show who shares the cluster.",
       .about =
           "Lists the tenants, groups before what they are made of: what each is guaranteed in "
           "each pool and may have at most, the GPUs it has, how many of these are promised and "
           "how many borrowed, and its part of the weights beside its part of the GPU-time that "
           "still counts. A group's figures are of all below it.",
       .options = {},
       .examples = {{"weir tenants", "Who has how much, and whose turn is it?"}}});
}

Result<void> tenants_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const auto shown = client->get("/v1/tenants");
  if (!shown) return tl::unexpected(shown.error());
  auto printed = print_tenants(*shown, options, console);
  if (!options.flag("json")) console.err << trouble_line(*client);
  return printed;
}

CommandSpec tenants_set_spec() {
  return with_client_options(
      {.name = "tenants set",
       .summary = "Change who shares the cluster.",
       .about =
           "Sends a file of tenants (docs/tasks/share-a-cluster.md) to the server, which adopts "
           "all of it or, when anything is wrong, nothing. Running jobs keep their promises. A "
           "server that was started with --tenants reads its own file again at the next start and "
           "on SIGHUP. Takes an operator's token.",
       .options = {{.name = "file",
                    .type = OptionType::file,
                    .help = "The tenants (YAML).",
                    .required = true,
                    .positional = true}},
       .examples = {{"weir tenants set tenants.yaml", "Give each group its share."}}});
}

Result<void> tenants_set_command(const OptionValues& options, Console& console) {
  const std::string& file = options.text("file");
  auto input = formats::InputFile::open(file);
  if (!input) return tl::unexpected(input.error());
  const auto text = input->read_all(kMaxTenantsBytes + 1);
  if (!text) return tl::unexpected(text.error());
  if (text->size() > kMaxTenantsBytes) {
    return bad_input(
        Diagnostic{file, 0, "content", "longer than 256 KiB", "at most 256 KiB of YAML"});
  }
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const auto adopted = client->put_file("/v1/tenants", *text, "application/yaml", file);
  if (!adopted) return tl::unexpected(adopted.error());
  return print_tenants(*adopted, options, console);
}

}  // namespace weir::cli
