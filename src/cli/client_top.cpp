// SPDX-License-Identifier: Apache-2.0
#include "cli/client_top.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/client_context.h"
#include "cli/client_job_text.h"
#include "cli/client_jobs.h"
#include "cli/client_nodes.h"
#include "cli/client_screen.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

constexpr std::int64_t kMostJobs = 200;  // of each phase; a screen has fewer lines
constexpr std::size_t kMostNodeLines = 16;

// "[#####.....]"
std::string bar(std::int64_t part, std::int64_t whole) {
  constexpr std::int64_t kWidth = 40;
  const auto filled = whole <= 0 ? 0 : std::clamp<std::int64_t>(part * kWidth / whole, 0, kWidth);
  return fmt::format("[{}{}]", std::string(static_cast<std::size_t>(filled), '#'),
                     std::string(static_cast<std::size_t>(kWidth - filled), '.'));
}

std::string summary(const ApiJson& nodes, const ApiJson& jobs) {
  std::int64_t gpus = 0;
  std::int64_t in_use = 0;
  std::size_t up = 0;
  const bool has_nodes = nodes.contains("nodes") && nodes["nodes"].is_array();
  const ApiJson none = ApiJson::array();
  const ApiJson& list = has_nodes ? nodes["nodes"] : none;
  for (const ApiJson& node : list) {
    in_use += integer_in(node, "in_use").value_or(0);
    if (!truth_in(node, "up")) continue;
    ++up;
    gpus += integer_in(node, "gpus").value_or(0);
  }
  const auto in_phase = [&](std::string_view phase) {
    return std::count_if(jobs.begin(), jobs.end(),
                         [&](const ApiJson& job) { return text_in(job, "phase") == phase; });
  };
  const auto at_risk = std::count_if(jobs.begin(), jobs.end(),
                                     [](const ApiJson& job) { return truth_in(job, "at_risk"); });
  std::string text = fmt::format("GPUs  {} {} of {} in use, {} of {} nodes up\n", bar(in_use, gpus),
                                 in_use, gpus, up, list.size());
  text += fmt::format("jobs  {} running, {} queued, {} paused, {} waiting", in_phase("running"),
                      in_phase("queued"), in_phase("paused"), in_phase("waiting"));
  if (at_risk > 0) text += fmt::format(", {} at risk", at_risk);
  return text + "\n";
}

// The table without rows that have no place.
std::string shortened(report::Table table, std::size_t most, std::string_view what) {
  const std::size_t all = table.rows.size();
  if (most < all) table.rows.resize(most);
  std::string text = report::to_text(table);
  if (most < all) text += fmt::format("and {} more {}\n", all - most, what);
  return text;
}

}  // namespace

std::string top_text(const ApiJson& nodes, const ApiJson& jobs, std::size_t lines) {
  const report::Table machines = node_table(nodes);
  const std::size_t shown = std::min(machines.rows.size(), kMostNodeLines);
  std::string text = summary(nodes, jobs) + "\n" + shortened(machines, shown, "nodes") + "\n";
  const auto used = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  constexpr std::size_t kAround = 4;  // heading, rule, "and 7 more", the cursor
  const std::size_t left = lines == 0               ? jobs.size()
                           : lines > used + kAround ? lines - used - kAround
                                                    : 1;
  return jobs.empty() ? text + "no jobs\n" : text + shortened(job_table(jobs), left, "jobs");
}

CommandSpec top_spec() {
  CommandSpec spec = {
      .name = "top",
      .summary = "Watch the cluster and its jobs.",
      .about =
          "Shows how many GPUs are in use, the machines, and the jobs that are not over, "
          "those that run first. On a terminal it stays up to date until Ctrl-C; otherwise it "
          "prints one picture.",
      .options = {{.name = "interval",
                   .type = OptionType::number,
                   .unit = "seconds",
                   .default_text = "2",
                   .least = 0.1,
                   .most = 3600,
                   .help = "Between two pictures.",
                   .in_recipe = false}},
      .examples = {{"weir top", "What is going on?"}}};
  const std::vector<OptionSpec> server = server_options();
  spec.options.insert(spec.options.end(), server.begin(), server.end());
  return spec;
}

Result<void> top_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const auto interval =
      std::chrono::milliseconds{static_cast<std::int64_t>(options.number("interval") * 1000)};
  const auto picture = [&](std::size_t lines) -> Result<std::string> {
    const auto nodes = client->get("/v1/nodes");
    if (!nodes) return tl::unexpected(nodes.error());
    ApiJson jobs = ApiJson::array();
    for (const char* phase : {"running", "paused", "queued", "waiting"}) {
      auto some = newest_jobs(*client, kMostJobs, phase);
      if (!some) return tl::unexpected(some.error());
      for (ApiJson& job : *some) jobs.push_back(std::move(job));
    }
    return trouble_line(*client) + top_text(*nodes, jobs, lines);
  };
  return show_live(picture, interval, console);
}

}  // namespace weir::cli
