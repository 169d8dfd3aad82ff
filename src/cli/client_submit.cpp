// SPDX-License-Identifier: Apache-2.0
#include "cli/client_submit.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/client_api.h"
#include "cli/client_context.h"
#include "cli/client_job_text.h"
#include "formats/job_document.h"

namespace weir::cli {
namespace {

using formats::JobDocument;
using namespace std::chrono_literals;

// Options that are fields of a job of the same name.
constexpr std::array kSubmittedTexts = {"name", "tenant", "duration", "deadline",
                                        "kind", "ranks",  "grace",    "memory"};
constexpr std::array kNumberFields = {"priority", "gpus", "retries", "iterations"};

// A name that is free of what names may not have: "train.py" of "/srv/train.py".
std::string name_after(const std::string& program) {
  std::string name = std::filesystem::path{program}.filename().string();
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return !is_allowed(c); }, '-');
  name.resize(std::min(name.size(), formats::kLongestJobName));
  return name;
}

// The mistakes of a job that was made from options, named after them.
tl::unexpected<Error> of_options(const Error& error) {
  Diagnostics mistakes;
  for (Diagnostic mistake : error.details.list()) {
    mistake.file.clear();
    mistake.line = 0;
    mistake.field = (mistake.field.starts_with("command") ? "" : "--") + mistake.field;
    mistakes.add(std::move(mistake));
  }
  return tl::unexpected(Error{error.code, std::move(mistakes)});
}

Result<std::vector<JobDocument>> job_of_options(const OptionValues& options) {
  ApiJson json = {{"name", name_after(options.texts("command").front())},
                  {"command", options.texts("command")}};
  for (const char* field : kSubmittedTexts) {
    if (options.has(field)) json[field] = options.text(field);
  }
  for (const char* field : kNumberFields) {
    if (options.has(field)) json[field] = options.integer(field);
  }
  const auto job = formats::read_job_json(
      json.dump(-1, ' ', false, ApiJson::error_handler_t::replace), "command line");
  if (!job) return of_options(job.error());
  return std::vector{*job};
}

// All of them, or all their mistakes.
Result<std::vector<JobDocument>> jobs_of_files(const OptionValues& options) {
  std::vector<JobDocument> jobs;
  Diagnostics mistakes;
  for (const std::string& file : options.texts("file")) {
    auto read = formats::read_job_yaml(std::filesystem::path{file});
    if (!read) {
      mistakes.append(read.error().details);
    } else {
      std::move(read->begin(), read->end(), std::back_inserter(jobs));
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return jobs;
}

Result<std::vector<JobDocument>> read_jobs(const OptionValues& options) {
  Diagnostics mistakes;
  if (options.has("file") == options.has("command")) {
    mistakes.add({{},
                  0,
                  "submit",
                  options.has("file") ? "both files and a command" : "",
                  "a job file, or -- and a command"});
  }
  const auto needs_command = [&](const char* option) {
    if (options.has("file") && options.is_given(option)) {
      mistakes.add({{},
                    0,
                    fmt::format("--{}", option),
                    "beside a file",
                    fmt::format("the field {} in the file", option)});
    }
  };
  for (const char* option : kSubmittedTexts) needs_command(option);
  for (const char* option : kNumberFields) needs_command(option);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  auto jobs = options.has("file") ? jobs_of_files(options) : job_of_options(options);
  if (!jobs) return jobs;
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  for (JobDocument& job : *jobs) {
    if (job.launch.directory.empty()) job.launch.directory = here;
  }
  return jobs;
}

// Makes a submission that is sent twice one job only.
std::string new_key() {
  std::array<std::uint64_t, 2> bits{};
  if (getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) return "";
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

// The job, also when it is refused. When no answer comes, it is sent again with the same key.
Result<ApiJson> submit(ApiClient& client, const JobDocument& job) {
  constexpr int kTries = 4;
  const std::string body = formats::write_job_json(job);
  const std::string key = new_key();
  const transport::HeaderList headers{{"Idempotency-Key", key}};
  for (int i = 1;; ++i) {
    const auto reply =
        client.send("POST", "/v1/jobs", body, key.empty() ? transport::HeaderList{} : headers);
    const bool may_try_again = i < kTries && !key.empty();
    if (!reply && !may_try_again) return tl::unexpected(reply.error());
    if (reply && !(reply->status == 503 && may_try_again)) {
      const ApiJson json = ApiJson::parse(reply->body, nullptr, false);
      if (reply->status == 422 && text_in(json, "phase") == "refused") return json;
      return client.json_of(*reply);
    }
    std::this_thread::sleep_for(200ms * i);
  }
}

bool is_refused(const ApiJson& answer) {
  return text_in(answer, "phase") == "refused" || text_in(answer, "answer") == "refused";
}

Result<void> dry_run(ApiClient& client, const std::vector<JobDocument>& jobs,
                     const OptionValues& options, Console& console) {
  ApiJson answers = ApiJson::array();
  bool any_is_refused = false;
  for (const JobDocument& job : jobs) {
    auto answer = client.post("/v1/dry-run", formats::write_job_json(job));
    if (!answer) return tl::unexpected(answer.error());
    any_is_refused = any_is_refused || is_refused(*answer);
    if (!options.flag("json")) console.out << dry_run_sentence(job.name, *answer) << "\n";
    ApiJson named = {{"name", job.name}};
    named.update(*answer);
    answers.push_back(std::move(named));
  }
  if (options.flag("json")) {
    if (auto printed = print_json({{"jobs", std::move(answers)}}, console); !printed)
      return printed;
  }
  if (any_is_refused) return only_code(ErrorCode::infeasible);
  return {};
}

// Until all are over. `jobs` is brought up to date.
Result<void> wait_for(ApiClient& client, ApiJson& jobs, bool tells, Console& console) {
  constexpr auto kLongest = 2'000ms;
  auto pause = 50ms;
  std::size_t over = 0;
  while (true) {
    for (ApiJson& job : jobs) {
      if (is_over(job)) continue;
      auto now = client.get(job_path(fmt::format("{}", integer_in(job, "id").value_or(0))));
      if (!now) return tl::unexpected(now.error());
      job = std::move(*now);
      if (tells && is_over(job)) console.out << end_sentence(job) << std::endl;
    }
    over = static_cast<std::size_t>(std::count_if(jobs.begin(), jobs.end(), is_over));
    if (over == jobs.size()) return {};
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::milliseconds>(pause * 2, kLongest);
  }
}

Result<void> submit_all(ApiClient& client, const std::vector<JobDocument>& documents,
                        const OptionValues& options, Console& console) {
  const bool is_for_people = !options.flag("json");
  ApiJson jobs = ApiJson::array();
  std::optional<Error> failure;
  for (const JobDocument& document : documents) {
    auto job = submit(client, document);
    if (!job) {
      failure = job.error();
      break;
    }
    if (is_for_people) console.out << answer_sentence(*job) << "\n";
    jobs.push_back(std::move(*job));
  }
  console.out.flush();
  if (!failure && options.flag("wait")) {
    if (auto waited = wait_for(client, jobs, is_for_people, console); !waited) {
      failure = waited.error();
    }
  }
  const bool any_is_refused = std::any_of(jobs.begin(), jobs.end(), is_refused);
  const bool any_went_wrong = std::any_of(jobs.begin(), jobs.end(), [](const ApiJson& job) {
    return text_in(job, "phase") == "failed" || text_in(job, "phase") == "cancelled";
  });
  if (!is_for_people) {
    if (auto printed = print_json({{"jobs", std::move(jobs)}}, console); !printed) return printed;
  }
  if (failure) return tl::unexpected(std::move(*failure));
  if (any_is_refused) return only_code(ErrorCode::infeasible);
  if (options.flag("wait") && any_went_wrong) return only_code(ErrorCode::failure);
  return {};
}

}  // namespace

CommandSpec submit_spec() {
  CommandSpec spec = {
      .name = "submit",
      .summary = "Submit jobs to the server.",
      .about =
          "Reads job files (docs/reference/job.schema.json describes them), or makes one job from "
          "the options and the command after --, and hands them to the server. The answer comes "
          "when the decision is durable: promised, queued, or refused with the earliest deadline "
          "that could be promised (exit code 3). A job runs in the folder in which it is "
          "submitted, unless it names another.",
      .options = {{.name = "file",
                   .type = OptionType::file_list,
                   .help = "Job files (YAML). Nothing is submitted when any of them has a mistake.",
                   .positional = true},
                  {.name = "command",
                   .type = OptionType::words,
                   .help = "The program to run and its arguments, instead of a file."},
                  {.name = "name",
                   .type = OptionType::text,
                   .help = "The job's name. Otherwise that of the program."},
                  {.name = "tenant",
                   .type = OptionType::text,
                   .help = "The group the job belongs to. Default: that of your token."},
                  {.name = "priority",
                   .type = OptionType::integer,
                   .least = -1000,
                   .most = 1000,
                   .help = "Jobs with a larger one go first, within what their tenants may have. "
                           "Default: 0."},
                  {.name = "gpus",
                   .type = OptionType::integer,
                   .least = 1,
                   .most = 65536,
                   .help = "How many GPUs it needs."},
                  {.name = "duration",
                   .type = OptionType::text,
                   .unit = "time",
                   .help = "How long it takes, such as 30m. Needed with a deadline."},
                  {.name = "deadline",
                   .type = OptionType::text,
                   .unit = "time",
                   .help = "By when: 6h after submission, or 2026-11-15T09:00:00Z."},
                  {.name = "kind",
                   .type = OptionType::text,
                   .choices = {"hard", "soft"},
                   .help = "hard: promised or refused. soft: promised where possible, else late."},
                  {.name = "iterations",
                   .type = OptionType::integer,
                   .least = 1,
                   .help = "Of a training job, instead of a duration; the server must know its "
                           "throughput."},
                  {.name = "ranks",
                   .type = OptionType::text,
                   .choices = {"one", "per-gpu", "torchrun"},
                   .help = "One process, one for each GPU, or a command that is torchrun."},
                  {.name = "retries",
                   .type = OptionType::integer,
                   .least = 0,
                   .most = 10000,
                   .help = "Restarts after a failure."},
                  {.name = "grace",
                   .type = OptionType::text,
                   .unit = "time",
                   .help = "To save a checkpoint when asked to stop."},
                  {.name = "memory",
                   .type = OptionType::text,
                   .help = "Killed beyond that, such as 4GiB."},
                  {.name = "dry-run",
                   .type = OptionType::flag,
                   .help = "Only tell what would become of the jobs."},
                  {.name = "wait",
                   .type = OptionType::flag,
                   .help = "Wait until all are over; exit code 1 when one failed."},
                  client_json_option()},
      .examples = {
          {"weir submit job.yaml --wait", "Submit what the file describes, and wait for it."},
          {"weir submit --name hello -- echo hello", "Run one command."},
          {"weir submit --gpus 2 --duration 30m --deadline 2h --dry-run -- python3 train.py",
           "Would that be done in time?"}}};
  const std::vector<OptionSpec> server = server_options();
  spec.options.insert(spec.options.end(), server.begin(), server.end());
  return spec;
}

Result<void> submit_command(const OptionValues& options, Console& console) {
  const auto jobs = read_jobs(options);
  if (!jobs) return tl::unexpected(jobs.error());
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  return options.flag("dry-run") ? dry_run(*client, *jobs, options, console)
                                 : submit_all(*client, *jobs, options, console);
}

}  // namespace weir::cli
