// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/job_document.h"
#include "formats/quantity_text.h"

namespace weir::cli {
namespace {

using formats::JobDocument;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostSlots = 1024;
// Options that are fields of a job file, with _ for -.
constexpr std::array kTextsOfARun = {"ranks", "progress-line", "announce", "grace", "hang-after"};
constexpr std::array kOtherFields = {"reports-progress", "warm-start", "retries"};

std::string with(std::string text, char old_character, char new_character) {
  std::replace(text.begin(), text.end(), old_character, new_character);
  return text;
}

std::string field_of(std::string_view option) {
  return with(std::string{option}, '-', '_');
}

// The mistakes of a job that was made from options, named after them.
Diagnostics named_after_options(const Diagnostics& of_fields) {
  Diagnostics mistakes;
  for (Diagnostic mistake : of_fields.list()) {
    mistake.file.clear();
    mistake.line = 0;
    if (!mistake.field.starts_with("command")) {
      mistake.field = "--" + with(mistake.field, '_', '-');
    }
    mistakes.add(std::move(mistake));
  }
  return mistakes;
}

class PlanReader {
 public:
  PlanReader(const OptionValues& options, std::int32_t gpus_here)
      : options_{options}, gpus_here_{gpus_here} {}

  Result<RunJobPlan> read() {
    read_job();
    read_sizes();
    read_times();
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(plan_);
  }

 private:
  void wrong(std::string field, std::string found, std::string expected) {
    mistakes_.add({{}, 0, std::move(field), std::move(found), std::move(expected)});
  }

  void read_job() {
    const bool has_file = options_.has("job");
    if (has_file == options_.has("command")) {
      return wrong("run", has_file ? "both a file and a command" : "",
                   "-- and a command, or --job and a file");
    }
    auto job = has_file ? job_of_file() : job_of_options();
    if (!job) return;
    plan_.launch = std::move(job->launch);
    plan_.course.retries = job->retries;
    plan_.course.sizes = {job->gpus};
    if (plan_.launch.directory.empty()) {
      std::error_code ignored;
      plan_.launch.directory = std::filesystem::current_path(ignored).string();
    }
  }

  std::optional<JobDocument> job_of_file() {
    const std::string& file = options_.text("job");
    const auto refuse = [&](const char* option) {
      if (!options_.is_given(option)) return;
      wrong(fmt::format("--{}", option), "beside --job",
            fmt::format("the field {} in the file", field_of(option)));
    };
    for (const char* option : kTextsOfARun) refuse(option);
    for (const char* option : kOtherFields) refuse(option);
    auto jobs = formats::read_job_yaml(std::filesystem::path{file});
    if (!jobs) {
      mistakes_.append(jobs.error().details);
      return std::nullopt;
    }
    if (jobs->size() != 1) {
      mistakes_.add({file, 0, "jobs", fmt::format("{} jobs", jobs->size()), "one job"});
      return std::nullopt;
    }
    if (options_.has("at-steps") && !jobs->front().launch.reports_progress) {
      wrong("--at-steps", "a job that does not tell its steps",
            fmt::format("reports_progress: true, or a progress_line, in {}", file));
    }
    return std::move(jobs->front());
  }

  std::optional<JobDocument> job_of_options() {
    Json json = {{"name", "run"}, {"command", options_.texts("command")}};
    for (const char* option : kTextsOfARun) {
      if (options_.has(option)) json[field_of(option)] = options_.text(option);
    }
    if (options_.has("warm-start")) json["warm_start"] = options_.texts("warm-start");
    if (options_.has("retries")) json["retries"] = options_.integer("retries");
    const bool tells = options_.has("at-steps") || options_.has("hang-after");
    if (tells || options_.flag("reports-progress")) json["reports_progress"] = true;
    auto job = formats::read_job_json(json.dump(-1, ' ', false, Json::error_handler_t::replace),
                                      "command line");
    if (job) return std::move(*job);
    mistakes_.append(named_after_options(job.error().details));
    return std::nullopt;
  }

  void read_sizes() {
    if (options_.has("gpus") && options_.has("sizes")) {
      wrong("--gpus", "beside --sizes", "one of them");
    }
    if (options_.has("gpus")) {
      plan_.course.sizes = {static_cast<std::int32_t>(options_.integer("gpus"))};
    }
    if (options_.has("sizes")) read_list_of_sizes(options_.text("sizes"));
    const auto largest = std::ranges::max(plan_.course.sizes);
    if (gpus_here_ > 0 && largest > gpus_here_) {
      wrong(options_.has("sizes") ? "--sizes" : "--gpus", fmt::format("{}", largest),
            fmt::format("at most {}: this machine has no more GPUs", gpus_here_));
    }
  }

  // Not a list of the option table: those have each value once.
  void read_list_of_sizes(std::string_view text) {
    std::vector<std::int32_t> sizes;
    sizes_are_wrong_ = true;
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      const auto size = formats::parse_count(text.substr(from, comma - from));
      if (!size || *size < 1 || *size > kMostSlots) {
        return wrong("--sizes", std::string{text},
                     fmt::format("numbers of GPUs from 1 to {}, such as 1,2,1", kMostSlots));
      }
      if (!sizes.empty() && sizes.back() == *size) {
        return wrong("--sizes", std::string{text}, "each size different from the one before it");
      }
      sizes.push_back(static_cast<std::int32_t>(*size));
      from = comma + 1;
    }
    plan_.course.sizes = std::move(sizes);
    sizes_are_wrong_ = false;
  }

  void read_times() {
    const std::size_t changes = plan_.course.sizes.size() - 1;
    const bool has_every = options_.has("every");
    const bool has_steps = options_.has("at-steps");
    if (has_every) read_every();
    if (has_steps) plan_.course.at_steps = options_.integers("at-steps");
    if (has_every && has_steps) return wrong("--every", "beside --at-steps", "one of them");
    if (sizes_are_wrong_) return;  // noted
    if (changes == 0 && (has_every || has_steps)) {
      return wrong("--sizes", "",
                   fmt::format("two sizes or more beside {}, such as 1,2,1",
                               has_every ? "--every" : "--at-steps"));
    }
    if (changes > 0 && !has_every && !has_steps) {
      return wrong("--every", "", "when sizes change, such as 10s, or --at-steps, such as 100,200");
    }
    if (has_steps) check_steps(changes);
  }

  void read_every() {
    const auto every = formats::parse_duration(options_.text("every"));
    if (every && *every > Duration{0}) {
      plan_.course.every = every;
    } else {
      wrong("--every", options_.text("every"), "a duration of more than 0s, such as 10s");
    }
  }

  void check_steps(std::size_t changes) {
    const std::vector<std::int64_t>& steps = plan_.course.at_steps;
    if (steps.size() != changes) {
      wrong("--at-steps", fmt::format("{} steps", steps.size()),
            fmt::format("{}, one for each change of size", changes));
    } else if (!std::ranges::is_sorted(steps)) {
      wrong("--at-steps", "out of order", "steps that rise");
    }
  }

  const OptionValues& options_;
  const std::int32_t gpus_here_;
  bool sizes_are_wrong_ = false;
  Diagnostics mistakes_;
  RunJobPlan plan_;
};

}  // namespace

std::vector<OptionSpec> run_job_plan_options() {
  return {{.name = "command",
           .type = OptionType::words,
           .help = "The program to run and its arguments."},
          {.name = "job",
           .type = OptionType::file,
           .help = "What to run, from a job file as for `weir submit`, instead of a command."},
          {.name = "gpus",
           .type = OptionType::integer,
           .least = 1,
           .most = static_cast<double>(kMostSlots),
           .help = "On how many GPUs; on a machine without any, slots. Otherwise 1, or what the "
                   "file says."},
          {.name = "sizes",
           .type = OptionType::text,
           .unit = "GPUs",
           .help = "Change the number of GPUs while it runs: 1,2,1. Needs --every or --at-steps."},
          {.name = "every",
           .type = OptionType::text,
           .unit = "time",
           .help = "Change the size so long after the job was ready, such as 10s."},
          {.name = "at-steps",
           .type = OptionType::integer_list,
           .least = 0,
           .help = "Change the size when the job tells these steps: 100,200."},
          {.name = "ranks",
           .type = OptionType::text,
           .default_text = "per-gpu",
           .choices = {"one", "per-gpu", "torchrun"},
           .help = "One process, one for each GPU as torchrun starts them, or a command that is "
                   "torchrun."},
          {.name = "reports-progress",
           .type = OptionType::flag,
           .help = "It tells its steps itself, and is ready at the first. Goes without saying with "
                   "--at-steps and --hang-after."},
          {.name = "progress-line",
           .type = OptionType::text,
           .help = "Read them from what the first rank prints: \"step {step} loss {loss}\"."},
          {.name = "announce",
           .type = OptionType::text,
           .unit = "time",
           .help = "SIGUSR1, \"save soon\", so long before it is asked to stop."},
          {.name = "grace",
           .type = OptionType::text,
           .unit = "time",
           .help = "Between the request to stop and the kill. Otherwise 30s, or twice what saving "
                   "took if that is more."},
          {.name = "hang-after",
           .type = OptionType::text,
           .unit = "time",
           .help = "It has failed when it makes no step for so long."},
          {.name = "warm-start",
           .type = OptionType::text_list,
           .help = "Modules of Python to import ahead of time, such as torch."},
          {.name = "retries",
           .type = OptionType::integer,
           .least = 0,
           .most = formats::kMostRetries,
           .help = "Restarts after a failure."}};
}

Result<RunJobPlan> read_run_job_plan(const OptionValues& options, std::int32_t gpus_here) {
  return PlanReader{options, gpus_here}.read();
}

}  // namespace weir::cli
