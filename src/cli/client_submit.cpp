// SPDX-License-Identifier: Apache-2.0
#include "cli/client_submit.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/client_api.h"
#include "cli/client_context.h"
#include "cli/client_job_text.h"
#include "cli/client_refusal.h"
#include "formats/job_document.h"

namespace weir::cli {
namespace {

using formats::JobDocument;
using formats::PlacedJob;
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

Result<std::vector<PlacedJob>> job_of_options(const OptionValues& options) {
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
  return std::vector{PlacedJob{*job, nullptr}};
}

// All of them, or all their mistakes.
Result<std::vector<PlacedJob>> jobs_of_files(const OptionValues& options) {
  std::vector<PlacedJob> jobs;
  Diagnostics mistakes;
  for (const std::string& file : options.texts("file")) {
    auto read = formats::read_placed_jobs(file);
    if (!read) {
      mistakes.append(read.error().details);
    } else {
      std::move(read->begin(), read->end(), std::back_inserter(jobs));
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return jobs;
}

// A server refuses the second model of a name while a job has the first. It is asked about jobs one by one, so it sees
// that only when one of them is submitted already.
Result<void> check_names_of_models(const std::vector<PlacedJob>& jobs) {
  Diagnostics mistakes;
  std::map<CurveKey, const JobDocument*> first;
  for (const auto& [job, place] : jobs) {
    if (!job.planned) continue;
    const auto [at, is_new] = first.emplace(job.curve, &job);
    if (is_new || at->second->planned == job.planned) continue;
    mistakes.add({place ? place->file : "", place ? place->line_of("model.name") : 0, "model.name",
                  job.curve.model,
                  fmt::format("another name: job {} has this one with batch {}, and its model is "
                              "another one (other dimensions, sequence or gpu)",
                              at->second->name, job.curve.global_batch)});
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return {};
}

Result<std::vector<PlacedJob>> read_jobs(const OptionValues& options) {
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
  if (auto checked = check_names_of_models(*jobs); !checked)
    return tl::unexpected(std::move(checked.error()));
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  for (auto& [job, place] : *jobs) {
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

// When no answer comes, it is sent again: with a key that makes no second job of it, where that matters.
Result<transport::HttpReply> ask(ApiClient& client, std::string_view path, const std::string& body,
                                 const std::string& key, bool may_try_again) {
  constexpr int kTries = 4;
  const transport::HeaderList headers{{"Idempotency-Key", key}};
  for (int i = 1;; ++i) {
    auto reply = client.send("POST", path, body, key.empty() ? transport::HeaderList{} : headers);
    const bool is_last = i == kTries || !may_try_again;
    if (is_last || (reply && reply->status != 503)) return reply;
    std::this_thread::sleep_for(200ms * i);
  }
}

// The JSON of an answer, or why there is none.
tl::expected<ApiJson, Refusal> answer_of(const Result<transport::HttpReply>& reply,
                                         const formats::JobPlace* place) {
  if (!reply) return tl::unexpected(Refusal{"", reply.error()});
  ApiJson json = ApiJson::parse(reply->body, nullptr, false);
  const bool is_answer = reply->status == 422 && text_in(json, "phase") == "refused";
  if (!reply->succeeded() && !is_answer) return tl::unexpected(refusal_of(*reply, place));
  if (json.is_object()) return json;
  return tl::unexpected(Refusal{"the answer is no JSON object; is that a weir server?",
                                Error{ErrorCode::failure, {}}});
}

// The job, also when it is refused.
tl::expected<ApiJson, Refusal> submit(ApiClient& client, const PlacedJob& job) {
  const std::string key = new_key();
  return answer_of(ask(client, "/v1/jobs", formats::write_job_json(job.job), key, !key.empty()),
                   job.place.get());
}

tl::expected<ApiJson, Refusal> dry_run(ApiClient& client, const PlacedJob& job) {
  return answer_of(ask(client, "/v1/dry-run", formats::write_job_json(job.job), "", true),
                   job.place.get());
}

Result<void> fail(const Refusal& refusal, ApiJson jobs, const OptionValues& options,
                  Console& console) {
  if (options.flag("json")) {
    const ApiJson all = {{"jobs", std::move(jobs)}, {"errors", errors_of(refusal)}};
    if (auto printed = print_json(all, console); !printed) return printed;
  }
  return tell(refusal, console);
}

// What the server calls mistakes of any job, before the first is submitted. Of jobs that differ only in their name one
// is asked about. What is no mistake of a job is for the submission to say: a server that does not answer about one
// would not about the next.
Refusal mistakes_of(ApiClient& client, const std::vector<PlacedJob>& jobs) {
  Refusal all;
  std::set<std::string> asked;
  for (const PlacedJob& job : jobs) {
    JobDocument nameless = job.job;
    // A curve that nobody named is called as the job.
    if (!nameless.planned && nameless.curve.model == nameless.name) nameless.curve.model.clear();
    nameless.name.clear();
    if (!asked.insert(formats::write_job_json(nameless)).second) continue;
    const auto answer = dry_run(client, job);
    if (answer) continue;
    if (answer.error().error.code != ErrorCode::bad_input) break;
    if (!answer.error().error.details.empty()) add_to(all, answer.error());
  }
  return all;
}

bool is_refused(const ApiJson& answer) {
  return text_in(answer, "phase") == "refused" || text_in(answer, "answer") == "refused";
}

Result<void> dry_run_all(ApiClient& client, const std::vector<PlacedJob>& jobs,
                         const OptionValues& options, Console& console) {
  ApiJson answers = ApiJson::array();
  bool any_is_refused = false;
  std::optional<Refusal> failure;
  for (const PlacedJob& placed : jobs) {
    auto answer = dry_run(client, placed);
    if (!answer) {
      if (!failure) failure.emplace();
      add_to(*failure, answer.error());
      if (answer.error().error.code != ErrorCode::bad_input) break;
      continue;
    }
    const std::string& name = placed.job.name;
    any_is_refused = any_is_refused || is_refused(*answer);
    if (!options.flag("json")) console.out << dry_run_sentence(name, *answer) << "\n";
    ApiJson named = {{"name", name}};
    named.update(*answer);
    answers.push_back(std::move(named));
  }
  if (failure) return fail(*failure, std::move(answers), options, console);
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

Result<void> submit_all(ApiClient& client, const std::vector<PlacedJob>& documents,
                        const OptionValues& options, Console& console) {
  const bool is_for_people = !options.flag("json");
  ApiJson jobs = ApiJson::array();
  if (documents.size() > 1) {
    const Refusal mistakes = mistakes_of(client, documents);
    if (!mistakes.error.details.empty()) return fail(mistakes, jobs, options, console);
  }
  std::optional<Refusal> failure;
  for (const PlacedJob& document : documents) {
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
      failure = Refusal{"", waited.error()};
    }
  }
  const bool any_is_refused = std::any_of(jobs.begin(), jobs.end(), is_refused);
  const bool any_went_wrong = std::any_of(jobs.begin(), jobs.end(), [](const ApiJson& job) {
    return text_in(job, "phase") == "failed" || text_in(job, "phase") == "cancelled";
  });
  if (failure) return fail(*failure, std::move(jobs), options, console);
  if (!is_for_people) {
    if (auto printed = print_json({{"jobs", std::move(jobs)}}, console); !printed) return printed;
  }
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
      .options =
          {{.name = "file",
            .type = OptionType::file_list,
            .help = "Job files (YAML). Nothing is submitted when any job has a mistake, also one "
                    "that only the server can see: of several jobs it is asked first.",
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
  if (!jobs) return fail({"", jobs.error()}, ApiJson::array(), options, console);
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  return options.flag("dry-run") ? dry_run_all(*client, *jobs, options, console)
                                 : submit_all(*client, *jobs, options, console);
}

}  // namespace weir::cli
