// SPDX-License-Identifier: Apache-2.0
#include "cli/client_nodes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/client_context.h"
#include "report/text_table.h"
#include "transport/request_target.h"

namespace weir::cli {
namespace {

// "bert 0-3, sweep-1 4"
std::string jobs_on(const ApiJson& node) {
  std::string text;
  if (!node.contains("jobs") || !node["jobs"].is_array()) return text;
  for (const ApiJson& job : node["jobs"]) {
    if (!text.empty()) text += ", ";
    text += text_in(job, "name");
    if (!job.contains("gpus") || !job["gpus"].is_array()) continue;
    std::vector<std::int64_t> gpus;
    for (const ApiJson& gpu : job["gpus"]) {
      if (gpu.is_number_integer()) gpus.push_back(gpu.get<std::int64_t>());
    }
    for (std::size_t i = 0; i < gpus.size();) {
      std::size_t last = i;
      while (last + 1 < gpus.size() && gpus[last + 1] == gpus[last] + 1) ++last;
      text += i == 0 ? " " : "+";
      text += last == i ? fmt::format("{}", gpus[i]) : fmt::format("{}-{}", gpus[i], gpus[last]);
      i = last + 1;
    }
  }
  return text;
}

std::vector<OptionSpec> common_options() {
  std::vector<OptionSpec> options{client_json_option()};
  const std::vector<OptionSpec> server = server_options();
  options.insert(options.end(), server.begin(), server.end());
  return options;
}

}  // namespace

report::Table node_table(const ApiJson& nodes) {
  using report::Align;
  report::Table table{"",
                      {{"node", Align::left},
                       {"pool", Align::left},
                       {"GPU", Align::left},
                       {"GPUs", Align::right},
                       {"in use", Align::right},
                       {"state", Align::left},
                       {"jobs", Align::left}},
                      {}};
  if (!nodes.contains("nodes") || !nodes["nodes"].is_array()) return table;
  for (const ApiJson& node : nodes["nodes"]) {
    table.rows.push_back({text_in(node, "name"), text_in(node, "pool"), text_in(node, "model"),
                          fmt::format("{}", integer_in(node, "gpus").value_or(0)),
                          fmt::format("{}", integer_in(node, "in_use").value_or(0)),
                          truth_in(node, "up") ? "up" : "closed", jobs_on(node)});
  }
  return table;
}

CommandSpec nodes_spec() {
  return {.name = "nodes",
          .summary = "List the server's machines.",
          .about =
              "Lists the machines with their GPUs, and which job uses which GPU. A machine "
              "that is lost or drained is closed.",
          .options = common_options(),
          .examples = {{"weir nodes", "Which GPUs are free?"}}};
}

Result<void> nodes_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const auto nodes = client->get("/v1/nodes");
  if (!nodes) return tl::unexpected(nodes.error());
  if (options.flag("json")) return print_json(*nodes, console);
  console.out << report::to_text(node_table(*nodes));
  console.err << trouble_line(*client);
  return {};
}

CommandSpec drain_spec() {
  CommandSpec spec = {
      .name = "drain",
      .summary = "Empty a machine, or use it again.",
      .about =
          "Nothing new goes to a drained machine, and what runs there moves away. Promises "
          "that cannot be kept without it are named.",
      .options = {{.name = "node",
                   .type = OptionType::text,
                   .help = "The machine's name, as in `weir nodes`.",
                   .required = true,
                   .positional = true},
                  {.name = "undo", .type = OptionType::flag, .help = "Use it again."}},
      .examples = {{"weir drain gpu-07", "It needs a new fan."},
                   {"weir drain gpu-07 --undo", "It is back."}}};
  const std::vector<OptionSpec> more = common_options();
  spec.options.insert(spec.options.end(), more.begin(), more.end());
  return spec;
}

Result<void> drain_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const bool is_undo = options.flag("undo");
  const auto change =
      client->post(fmt::format("/v1/nodes/{}/{}", transport::percent_encoded(options.text("node")),
                               is_undo ? "undrain" : "drain"));
  if (!change) return tl::unexpected(change.error());
  if (options.flag("json")) return print_json(*change, console);
  console.out << fmt::format("{} {}{}\n", text_in(*change, "node"),
                             is_undo ? "is used again" : "is being emptied",
                             truth_in(*change, "changed") ? "" : ", as before");
  if (change->contains("at_risk") && (*change)["at_risk"].is_array()) {
    for (const ApiJson& job : (*change)["at_risk"]) {
      console.out << "the promise of job " << job.dump() << " is at risk\n";
    }
  }
  return {};
}

}  // namespace weir::cli
