// SPDX-License-Identifier: Apache-2.0
#include "cli/client_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/client_advice.h"
#include "cli/client_context.h"
#include "cli/client_job_text.h"
#include "cli/client_screen.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kLargestPage = 1000;

std::vector<std::string> phases() {
  return {"waiting", "queued", "running", "paused", "finished", "failed", "cancelled", "refused"};
}

CommandSpec with_server(CommandSpec spec) {
  spec.options.push_back(client_json_option());
  const std::vector<OptionSpec> server = server_options();
  spec.options.insert(spec.options.end(), server.begin(), server.end());
  return spec;
}

}  // namespace

Result<ApiJson> newest_jobs(ApiClient& client, std::int64_t limit, const std::string& phase) {
  ApiJson jobs = ApiJson::array();
  std::string after;
  while (static_cast<std::int64_t>(jobs.size()) < limit) {
    const auto wanted = std::min(kLargestPage, limit - static_cast<std::int64_t>(jobs.size()));
    auto page = client.get(fmt::format("/v1/jobs?limit={}{}{}", wanted, after,
                                       phase.empty() ? "" : "&phase=" + phase));
    if (!page) return page;
    if (!page->contains("jobs") || !(*page)["jobs"].is_array()) break;
    for (ApiJson& job : (*page)["jobs"]) jobs.push_back(std::move(job));
    const auto next = integer_in(*page, "next");
    if (!next) break;
    after = fmt::format("&after={}", *next);
  }
  return jobs;
}

CommandSpec jobs_spec() {
  return with_server(
      {.name = "jobs",
       .summary = "List the server's jobs.",
       .about = "Lists jobs, the newest first, with what was promised and when they are expected "
                "to finish. Times are UTC.",
       .options = {{.name = "phase",
                    .type = OptionType::text,
                    .choices = phases(),
                    .help = "Only jobs in this phase."},
                   {.name = "limit",
                    .type = OptionType::integer,
                    .default_text = "20",
                    .least = 1,
                    .most = 100'000,
                    .help = "At most that many."},
                   {.name = "watch",
                    .type = OptionType::flag,
                    .help = "On a terminal, keep the list up to date until Ctrl-C."}},
       .examples = {{"weir jobs --phase running", "What runs now?"}}});
}

Result<void> jobs_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const std::string phase = options.has("phase") ? options.text("phase") : "";
  const auto list = [&] { return newest_jobs(*client, options.integer("limit"), phase); };
  if (options.flag("json")) {
    auto jobs = list();
    if (!jobs) return tl::unexpected(jobs.error());
    return print_json({{"jobs", std::move(*jobs)}}, console);
  }
  const auto text = [&](std::size_t lines) -> Result<std::string> {
    const auto jobs = list();
    if (!jobs) return tl::unexpected(jobs.error());
    if (jobs->empty()) return std::string{"no jobs\n"};
    report::Table table = job_table(*jobs);
    constexpr std::size_t kHeadingLines = 3;  // with the line of the cursor
    if (lines > kHeadingLines && table.rows.size() > lines - kHeadingLines) {
      table.rows.resize(lines - kHeadingLines);
    }
    return report::to_text(table);
  };
  if (options.flag("watch")) return show_live(text, 2s, console);
  const auto once = text(0);
  if (!once) return tl::unexpected(once.error());
  console.out << *once;
  console.err << trouble_line(*client);
  return {};
}

CommandSpec job_spec() {
  CommandSpec spec = {
      .name = "job",
      .summary = "Show one job.",
      .about = "Shows what the server knows of a job. `weir explain` tells why.",
      .options = {{.name = "job",
                   .type = OptionType::text,
                   .help = "Its name (the latest of that name) or its id.",
                   .required = true,
                   .positional = true}},
      .examples = {{"weir job bert", "How is it?"},
                   {"weir job bert --advice --price 1.2",
                    "Would fewer GPUs and more passes be cheaper, and how much slower?"}}};
  const std::vector<OptionSpec> advice = advice_options();
  spec.options.insert(spec.options.end(), advice.begin(), advice.end());
  return with_server(std::move(spec));
}

Result<void> job_command(const OptionValues& options, Console& console) {
  if (const Diagnostics mistakes = advice_mistakes(options); !mistakes.empty()) {
    return bad_input(mistakes);
  }
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const auto job = client->get(job_path(options.text("job")));
  if (!job) return tl::unexpected(job.error());
  if (options.flag("advice")) return print_advice(*client, *job, options, console);
  if (options.flag("json")) return print_json(*job, console);
  console.out << job_details(*job);
  return {};
}

CommandSpec cancel_spec() {
  return with_server(
      {.name = "cancel",
       .summary = "Stop jobs.",
       .about = "Stops jobs and gives their GPUs back. A job that is over stays as it is.",
       .options = {{.name = "job",
                    .type = OptionType::text_list,
                    .help = "Names (the latest of that name) or ids.",
                    .required = true,
                    .positional = true}},
       .examples = {{"weir cancel bert 17", "Two jobs are not wanted any more."}}});
}

Result<void> cancel_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  ApiJson jobs = ApiJson::array();
  std::optional<Error> failure;
  for (const std::string& name : options.texts("job")) {
    auto job = client->post(job_path(name, "/cancel"));
    if (!job) {
      failure = job.error();  // the others are stopped all the same
      continue;
    }
    if (!options.flag("json")) console.out << end_sentence(*job) << "\n";
    jobs.push_back(std::move(*job));
  }
  if (options.flag("json")) {
    if (auto printed = print_json({{"jobs", std::move(jobs)}}, console); !printed) return printed;
  }
  if (failure) return tl::unexpected(std::move(*failure));
  return {};
}

}  // namespace weir::cli
