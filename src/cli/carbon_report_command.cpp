// SPDX-License-Identifier: Apache-2.0
#include "cli/carbon_report_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/client_context.h"
#include "cli/output_files.h"
#include "cli/version.h"
#include "control/energy_figures.h"
#include "domain/tenants.h"
#include "formats/time_text.h"
#include "report/energy_use.h"
#include "report/text_table.h"
#include "simulate/energy_history.h"

namespace weir::cli {
namespace {

constexpr std::string_view kDayRule = "a day such as 2026-11-16 (UTC), or a time with its offset";

std::optional<Time> day_or_time(const std::string& text) {
  if (const auto time = formats::parse_time(text)) return time;
  return formats::parse_time(text + "T00:00:00Z");
}

struct AskedTime {
  Time since = Time::min() + std::chrono::hours{48};
  Time until = Time::max() - std::chrono::hours{48};
};

Result<AskedTime> asked_time(const OptionValues& options) {
  AskedTime asked;
  Diagnostics mistakes;
  const auto take = [&](const char* name, Time& into) {
    if (!options.has(name)) return;
    if (const auto time = day_or_time(options.text(name))) {
      into = *time;
    } else {
      mistakes.add({"", 0, fmt::format("--{}", name), options.text(name), std::string{kDayRule}});
    }
  };
  take("since", asked.since);
  take("until", asked.until);
  if (mistakes.empty() && asked.until <= asked.since)
    mistakes.add({"", 0, "--until", options.text("until"), "a time after --since"});
  if (options.has("log")) {
    for (const char* name : {"server", "context", "ca-file"}) {
      if (options.is_given(name))
        mistakes.add({"", 0, fmt::format("--{}", name), options.text(name),
                      "to be left out beside --log: one or the other"});
    }
  }
  std::vector<std::filesystem::path> inputs;
  if (options.has("log")) inputs.emplace_back(options.text("log"));
  if (options.has("report")) check_output("--report", options.text("report"), inputs, mistakes);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return asked;
}

Result<simulate::EnergyHistory> history_of_log(const std::string& file, const AskedTime& asked) {
  auto log = formats::RecordLogReader::open(std::filesystem::path{file});
  if (!log) return tl::unexpected<Error>(std::move(log.error()));
  return simulate::read_energy_history(std::move(*log), file, asked.since, asked.until);
}

Result<simulate::EnergyHistory> history_of_server(const OptionValues& options,
                                                  const AskedTime& asked) {
  auto address = server_address(options);
  if (!address) return tl::unexpected<Error>(std::move(address.error()));
  transport::HttpClient client = client_of(*address);
  std::string text;
  const auto reply = client.stream("/v1/log", {}, [&](std::string_view bytes) {
    text += bytes;
    return true;
  });
  if (!reply) return tl::unexpected<Error>(reply.error());
  if (!reply->succeeded()) {
    Diagnostics details;
    details.add(
        {address->url, 0, "", fmt::format("status {}: {}", reply->status, reply->body), "the log"});
    return tl::unexpected<Error>(Error{ErrorCode::failure, std::move(details)});
  }
  auto input = formats::InputFile::from_memory(address->url, text);
  if (!input) return tl::unexpected<Error>(std::move(input.error()));
  auto log = formats::RecordLogReader::open(std::move(*input));
  if (!log) return tl::unexpected<Error>(std::move(log.error()));
  return simulate::read_energy_history(std::move(*log), address->url, asked.since, asked.until);
}

std::string row_name(const simulate::EnergyHistory& history, const std::string& by, Time day,
                     JobId job) {
  if (by == "day") return formats::format_time(day).substr(0, 10);
  if (job == simulate::kNobodysJob) return "(nobody: nodes without jobs)";
  const auto& known = history.jobs.at(job);
  if (by == "job") return fmt::format("{} {}", job.value, known.name);
  return known.tenant.empty() ? std::string{kDefaultTenant} : known.tenant;
}

report::EnergyUseReport report_by(const simulate::EnergyHistory& history, const std::string& by) {
  report::EnergyUseReport report;
  report.by = by;
  report.unit = control::amount_unit(history.kind);
  // Days and jobs in their order, tenants by name.
  std::vector<std::string> order;
  std::map<std::string, report::EnergyRow> rows;
  for (const auto& [key, use] : history.uses) {
    const std::string name = row_name(history, by, key.first, key.second);
    report::EnergyRow& row = rows[name];
    if (row.name.empty()) order.push_back(name);
    row.name = name;
    row.kwh += use.joules / 3.6e6;
    row.amount += use.units;
  }
  if (by == "tenant") std::sort(order.begin(), order.end());
  for (const std::string& name : order) report.rows.push_back(rows.at(name));
  if (history.has_other_kinds)
    report.notes.push_back(
        "the supply was of another kind before: its amounts are left out, its energy is not");
  return report;
}

}  // namespace

CommandSpec carbon_report_spec() {
  CommandSpec spec{
      .name = "carbon report",
      .summary = "Tell who used how much energy, and what it emitted or cost.",
      .about =
          "From the server, or from a log that `weir trace export` wrote: the energy of each job, "
          "tenant or day, and its grams of CO2 or its money. A job has its share of what its nodes "
          "draw beside their GPUs, and of the site's overhead, so that all add up to what the "
          "cluster used. Only of times in which the server had --energy.",
      .options = {{.name = "log", .type = OptionType::file, .help = "A log instead of a server."},
                  {.name = "by",
                   .type = OptionType::text,
                   .default_text = "tenant",
                   .choices = {"job", "tenant", "day"},
                   .help = "What rows are."},
                  {.name = "since",
                   .type = OptionType::text,
                   .unit = "day",
                   .help = "From this day (UTC) or time on. Default: all."},
                  {.name = "until",
                   .type = OptionType::text,
                   .unit = "day",
                   .help = "Before this day (UTC) or time. Default: all."},
                  {.name = "report",
                   .type = OptionType::file,
                   .help = "Write a page to this HTML file. It opens without a network.",
                   .in_recipe = false},
                  {.name = "json",
                   .type = OptionType::flag,
                   .help = "Print JSON instead of text.",
                   .in_recipe = false}},
      .examples = {{"weir carbon report --by job", "Which jobs emit most?"},
                   {"weir carbon report --by day --since 2026-11-01 --report november.html",
                    "A month, for others."}}};
  for (OptionSpec& option : server_options()) spec.options.push_back(std::move(option));
  return spec;
}

Result<void> carbon_report_command(const OptionValues& options, Console& console) {
  const auto asked = asked_time(options);
  if (!asked) return tl::unexpected<Error>(asked.error());
  const auto history = options.has("log") ? history_of_log(options.text("log"), *asked)
                                          : history_of_server(options, *asked);
  if (!history) return tl::unexpected<Error>(history.error());
  if (!history->was_asked) {
    return bad_input(Diagnostic{options.has("log") ? options.text("log") : "", 0, "energy",
                                "nobody asked about it", "a server with --energy FILE"});
  }
  const report::EnergyUseReport report = report_by(*history, options.text("by"));
  if (options.has("report")) {
    const report::ReportHeader header{options.recipe(), std::string{kVersion}, {}};
    const OutputFile file{options.text("report"), report::energy_page(header, report)};
    if (auto written = write_files({&file, 1}); !written) return written;
    console.err << "wrote " << file.path.string() << "\n";
  }
  if (options.flag("json")) {
    auto json = report::energy_json(report);
    if (!json) return tl::unexpected<Error>(std::move(json.error()));
    console.out << *json;
    return {};
  }
  console.out << report::to_text(report::energy_table(report));
  for (const std::string& note : report.notes) console.out << "Note: " << note << ".\n";
  return {};
}

}  // namespace weir::cli
