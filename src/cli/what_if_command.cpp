// SPDX-License-Identifier: Apache-2.0
#include "cli/what_if_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <utility>

#include "cli/client_api.h"
#include "cli/client_context.h"
#include "cli/gpu_file.h"
#include "cli/output_files.h"
#include "cli/version.h"
#include "cli/what_if_log.h"
#include "cli/what_if_text.h"
#include "control/what_if.h"
#include "formats/job_document.h"
#include "schedule/policies/training_policies.h"

namespace weir::cli {
namespace {

// "4", or "a100:4" where there are several pools.
std::optional<control::WhatIfQuestion::More> more_nodes(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string pool = colon == std::string::npos ? "" : text.substr(0, colon);
  const std::string count = colon == std::string::npos ? text : text.substr(colon + 1);
  std::int32_t nodes = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), nodes);
  const bool is_number = error == std::errc{} && end == count.data() + count.size();
  if (!is_number || nodes < 1 || nodes > control::kMostAddedNodes || colon == 0)
    return std::nullopt;
  return control::WhatIfQuestion::More{pool, nodes};
}

Result<control::WhatIfQuestion> question_of(const OptionValues& options) {
  control::WhatIfQuestion question;
  Diagnostics mistakes;
  if (options.has("add-nodes")) {
    for (const std::string& text : options.texts("add-nodes")) {
      if (const auto more = more_nodes(text)) {
        question.add_nodes.push_back(*more);
      } else {
        mistakes.add({{},
                      0,
                      "--add-nodes",
                      text,
                      fmt::format("a number of nodes from 1 to {}, or POOL:NUMBER",
                                  control::kMostAddedNodes)});
      }
    }
  }
  for (const auto& more : question.add_nodes) {
    const auto same = std::count_if(question.add_nodes.begin(), question.add_nodes.end(),
                                    [&](const auto& other) { return other.pool == more.pool; });
    const bool is_clear = same == 1 && (!more.pool.empty() || question.add_nodes.size() == 1);
    if (is_clear) continue;
    mistakes.add({{},
                  0,
                  "--add-nodes",
                  fmt::format("{}", fmt::join(options.texts("add-nodes"), ",")),
                  "one number, or each pool once: POOL:NUMBER,POOL:NUMBER"});
    break;
  }
  if (options.has("lose")) question.lose = options.texts("lose");
  if (options.has("policy")) question.policy = options.text("policy");
  if (options.has("submit")) {
    for (const std::string& file : options.texts("submit")) {
      auto jobs = formats::read_job_yaml(std::filesystem::path{file});
      if (!jobs) mistakes.append(jobs.error().details);
      if (jobs) std::move(jobs->begin(), jobs->end(), std::back_inserter(question.submit));
    }
    if (question.submit.size() > control::kMostSupposedJobs) {
      mistakes.add({{},
                    0,
                    "--submit",
                    fmt::format("{} jobs", question.submit.size()),
                    fmt::format("at most {} jobs", control::kMostSupposedJobs)});
    }
  }
  const bool asks = options.has("add-nodes") || options.has("lose") || options.has("policy") ||
                    options.has("submit");
  if (!asks) {
    mistakes.add({{},
                  0,
                  "what-if",
                  "nothing to suppose",
                  "one or more of --add-nodes, --lose, --policy, --submit"});
  }
  if (options.has("from-log")) {
    for (const char* option : {"server", "context"}) {
      if (options.is_given(option)) {
        mistakes.add(
            {{}, 0, "option", fmt::format("--{}", option), "no such option beside --from-log"});
      }
    }
  }
  if (options.has("gpu-file") && !options.has("from-log")) {
    mistakes.add({{},
                  0,
                  "--gpu-file",
                  options.text("gpu-file"),
                  "to be left out without --from-log: the server knows its GPUs"});
  }
  if (options.has("report")) {
    std::vector<std::filesystem::path> inputs;
    if (options.has("gpu-file")) inputs.emplace_back(options.text("gpu-file"));
    if (options.has("from-log")) inputs.emplace_back(options.text("from-log"));
    if (options.has("submit")) {
      for (const std::string& file : options.texts("submit")) inputs.emplace_back(file);
    }
    check_output("--report", options.text("report"), inputs, mistakes);
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  question.wants_records = options.has("report");
  return question;
}

std::string body_of(const control::WhatIfQuestion& question) {
  ApiJson json = ApiJson::object();
  for (const auto& more : question.add_nodes) {
    if (more.pool.empty()) {
      json["add_nodes"] = more.nodes;
    } else {
      json["add_nodes"][more.pool] = more.nodes;
    }
  }
  if (!question.lose.empty()) json["lose"] = question.lose;
  if (!question.policy.empty()) json["policy"] = question.policy;
  for (const formats::JobDocument& job : question.submit)
    json["submit"].push_back(ApiJson::parse(formats::write_job_json(job)));
  if (question.wants_records) json["records"] = true;
  return json.dump(-1, ' ', false, ApiJson::error_handler_t::replace);
}

Result<ApiJson> ask_server(const control::WhatIfQuestion& question, const OptionValues& options,
                           Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  return client->post("/v1/what-if", body_of(question));
}

Result<ApiJson> ask_log(const control::WhatIfQuestion& question, const OptionValues& options,
                        Console& console) {
  const auto gpus = read_gpu_file(options);
  if (!gpus) return tl::unexpected(gpus.error());
  std::set<std::string> notes;
  const auto answer = what_if_in_log(options.text("from-log"), question, gpus->catalogue, notes);
  if (!answer) return tl::unexpected(answer.error());
  for (const std::string& note : notes) console.err << "note: " << note << "\n";
  return ApiJson::parse(control::to_json(*answer, question.wants_records));
}

}  // namespace

CommandSpec what_if_spec() {
  std::vector<std::string> policies;
  for (const schedule::TrainingPolicyRow& row : schedule::training_policies())
    policies.emplace_back(row.name);
  CommandSpec spec{
      .name = "what-if",
      .summary = "Tell how things would go on if something were different.",
      .about =
          "Plays the cluster forward twice, as it is and as it would be, and tells which jobs "
          "would "
          "be done at another time and which promises would be kept. Nothing happens: the server "
          "tries it on a copy of what it knows. With --from-log the day in the log is played "
          "instead, "
          "from its beginning. Several changes may be combined.",
      .options =
          {{.name = "add-nodes",
            .type = OptionType::text_list,
            .unit = "nodes",
            .help = "So many nodes more, like the largest of the pool: 4, or a100:4 where there "
                    "are several pools."},
           {.name = "lose",
            .type = OptionType::text_list,
            .help = "Nodes that are gone, by name; the name of a rack means all of its nodes."},
           {.name = "policy",
            .type = OptionType::text,
            .choices = policies,
            .help = "Another policy. The server's jobs are handed to it with what is left of "
                    "them; those that run start anew."},
           {.name = "submit",
            .type = OptionType::file_list,
            .help = "Jobs that come now (with --from-log: at the beginning), a job file."},
           {.name = "from-log",
            .type = OptionType::file,
            .help = "The log of a live run (`weir trace export`), instead of the server."},
           gpu_file_option("With --from-log: types of GPU of its cluster that weir does not know "
                           "(YAML), for jobs of --submit whose model is planned."),
           {.name = "report",
            .type = OptionType::file,
            .help = "Write a page with both charts side by side there.",
            .in_recipe = false},
           client_json_option()},
      .examples = {
          {"weir what-if --add-nodes 4", "Which jobs would be done sooner?"},
          {"weir what-if --lose n1,n2 --report what-if.html", "Which promises would break?"},
          {"weir what-if --from-log live.jsonl --policy edf-admission",
           "What would another policy have done?"}}};
  const std::vector<OptionSpec> server = server_options();
  spec.options.insert(spec.options.end(), server.begin(), server.end());
  return spec;
}

Result<void> what_if_command(const OptionValues& options, Console& console) {
  const auto question = question_of(options);
  if (!question) return tl::unexpected(question.error());
  auto answer = options.has("from-log") ? ask_log(*question, options, console)
                                        : ask_server(*question, options, console);
  if (!answer) return tl::unexpected(answer.error());
  if (options.has("report")) {
    const report::ReportHeader header{
        "weir what-if " + options.recipe(), std::string{kVersion}, {}};
    auto page = what_if_page(*answer, header);
    if (!page) return tl::unexpected(page.error());
    const OutputFile file{options.text("report"), std::move(*page)};
    if (auto written = write_files({&file, 1}); !written) return written;
  }
  if (options.flag("json")) {
    for (const char* side : {"now", "then"}) {
      for (const char* key : {"records", "pools"}) (*answer)[side].erase(key);
    }
    return print_json(*answer, console);
  }
  console.out << what_if_text(*answer);
  return {};
}

}  // namespace weir::cli
