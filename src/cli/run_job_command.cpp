// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>

#include "cli/client_api.h"
#include "cli/run_job_course.h"
#include "cli/run_job_display.h"
#include "cli/run_job_folder.h"
#include "cli/run_job_output.h"
#include "cli/run_job_plan.h"
#include "cli/run_job_summary.h"
#include "cli/run_job_wakeup.h"
#include "engine/local/gpu_inventory.h"
#include "engine/local/local_engine.h"
#include "report/clock_text.h"
#include "report/gpus_text.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

using namespace std::chrono_literals;

constexpr JobId kJob{1};
constexpr NodeId kNode{1};
constexpr Duration kLook = 100ms;  // between looks at what the job prints

// Runs one job from its first start to its end.
class JobRunner {
 public:
  JobRunner(const RunJobPlan& plan, engine::LocalEngine& engine, RunWakeup& wakeup,
            const RunFolder& folder, RunDisplay& display)
      : launch_{std::make_shared<const LaunchSpec>(plan.launch)},
        engine_{engine},
        wakeup_{wakeup},
        folder_{folder},
        display_{display},
        course_{plan.course, folder.next_generation(kJob)},
        output_{engine, kJob,
                [this](std::int32_t rank, std::string_view line) { display_.line(rank, line); }} {}

  const RunCourse& run() {
    obey(course_.begin(now()));
    while (!course_.outcome()) {
      wakeup_.wait(std::min(kLook, course_.next_time().value_or(Duration::max()) - now()));
      while (const auto signal = wakeup_.take_signal()) on_signal(*signal);
      for (const RunReport& report : wakeup_.take_reports()) on_report(report);
      if (const auto order = course_.on_time(now())) obey(*order);
      output_.look();
      display_.flush();
      if (!display_.is_read() && !is_stopping_) on_signal(SIGPIPE);
    }
    output_.finish_before(latest_ + 1);
    display_.flush();
    return course_;
  }

  Duration now() const { return std::chrono::steady_clock::now() - began_; }

 private:
  void obey(const CourseOrder& order) {
    latest_ = order.generation;
    RunOrder run;
    run.job = kJob;
    run.generation = order.generation;
    run.restarts = order.restarts;
    for (std::int32_t gpu = 0; gpu < order.gpus; ++gpu) run.gpus.push_back({kNode, gpu});
    if (order.gpus > 0) {
      run.launch = launch_;
      gpus_ = order.gpus;
      tell_start(course_.starts().back());
      output_.expect(order.generation, launch_->ranks == Ranks::per_gpu ? order.gpus : 1);
    }
    engine_.order(run);
  }

  void tell_start(const CourseStart& start) {
    const std::string after = start.step ? fmt::format(" after step {}", *start.step) : "";
    switch (start.cause) {
      case StartCause::first:
        return;
      case StartCause::resized:
        return display_.remark(fmt::format("from {} to {}{}", report::gpus_text(start.gpus_before),
                                           report::gpus_text(start.gpus), after));
      case StartCause::resumed:
        return display_.remark(fmt::format("it left to be resumed{}; started again", after));
      case StartCause::retried:
        return display_.remark(
            fmt::format("it failed{} ({}); started again", after, last_failure_));
    }
  }

  void on_report(const RunReport& report) {
    if (report.generation > finished_before_) {
      // Nothing is told of a generation while a process of an older one lives.
      finished_before_ = report.generation;
      output_.finish_before(report.generation);
    }
    if (const auto* end = std::get_if<RunEnded>(&report.what)) {
      output_.finish_before(report.generation + 1);
      last_failure_ = end->explanation;
    }
    if (const auto* progress = std::get_if<RunProgress>(&report.what)) {
      display_.progress(report.generation, gpus_, *progress, now());
    }
    if (const auto order = course_.on_report(report, now())) obey(*order);
  }

  void on_signal(int signal) {
    is_stopping_ = true;
    if (const auto order = course_.on_interrupt(signal)) {
      display_.remark("stopping the job; once more kills it");
      obey(*order);
    } else if (course_.wants_kill()) {
      display_.remark("killing the job");
      folder_.kill(kJob);
    }
  }

  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::shared_ptr<const LaunchSpec> launch_;
  engine::LocalEngine& engine_;
  RunWakeup& wakeup_;
  const RunFolder& folder_;
  RunDisplay& display_;
  RunCourse course_;
  RunOutput output_;
  std::uint32_t latest_ = 0;
  std::uint32_t finished_before_ = 0;
  std::int32_t gpus_ = 0;
  bool is_stopping_ = false;
  std::string last_failure_;
};

void tell_outcome(const RunCourse& course, Duration took, RunDisplay& display) {
  const CourseOutcome& outcome = *course.outcome();
  if (outcome.end == CourseEnd::failed) {
    display.remark(fmt::format("the job failed: {}", outcome.explanation));
  } else if (outcome.end == CourseEnd::finished && course.was_resized()) {
    display.remark(fmt::format("the job finished after {}", report::length_text(took)));
  }
  if (outcome.end == CourseEnd::finished && course.sizes_left() > 0) {
    display.remark(
        fmt::format("it was over before {} of the changes of size: let it run longer, or "
                    "change it sooner",
                    course.sizes_left()));
  }
}

}  // namespace

CommandSpec run_job_spec() {
  CommandSpec spec = {
      .name = "run",
      .summary = "Run a script here and now, as weir would, and resize it.",
      .about =
          "Starts a command on this machine with the environment that torchrun would give it, in "
          "the foreground and without a server, and shows what its ranks print. With --sizes it is "
          "stopped and started again on other numbers of GPUs while it runs, as weir does it when "
          "others come and go: the way to find out whether a script survives that, and what it "
          "costs. The exit code is that of the job, or 128 and the number of the signal that "
          "killed it. Ctrl-C asks the job to stop, a second one kills it.",
      .options = run_job_plan_options(),
      .examples = {
          {"weir run --gpus 2 -- python3 train.py", "Two ranks, as with torchrun."},
          {"weir run --sizes 1,2,1 --every 10s -- python3 train.py",
           "Does it survive being resized?"},
          {"weir run --sizes 1,2,1 --at-steps 100,200 --progress-line 'step {step} loss {loss}' -- "
           "python3 train.py",
           "At these steps, read from what it prints."},
          {"weir run --job job.yaml --sizes 1,2,1 --every 10s --keep state",
           "What would be submitted; its checkpoints stay in state, and the next run goes on from "
           "there."}}};
  const std::vector<OptionSpec> own = {
      {.name = "keep",
       .type = OptionType::file,
       .help = "The folder for state, logs and checkpoints, which stays; a later run in it goes on "
               "from the last checkpoint. Otherwise a temporary one."},
      {.name = "quiet",
       .type = OptionType::flag,
       .help = "Do not show what the job prints.",
       .in_recipe = false},
      {.name = "json",
       .type = OptionType::flag,
       .help = "At the end, print how it went as JSON; what the job prints then goes to standard "
               "error.",
       .in_recipe = false}};
  spec.options.insert(spec.options.end(), own.begin(), own.end());
  return spec;
}

Result<void> run_job_command(const OptionValues& options, Console& console) {
  const auto gpus = engine::find_gpus();
  if (!gpus) return tl::unexpected<Error>(gpus.error());
  const auto plan = read_run_job_plan(options, static_cast<std::int32_t>(gpus->size()));
  if (!plan) return tl::unexpected<Error>(plan.error());
  const bool is_json = options.flag("json");
  auto folder = RunFolder::make(options.has("keep") ? options.text("keep") : "");
  if (!folder) return tl::unexpected<Error>(std::move(folder.error()));

  RunWakeup wakeup;
  engine::LocalEngineOptions engine_options;
  engine_options.folder = folder->path();
  for (const engine::GpuDevice& gpu : *gpus) engine_options.gpu_uuids.push_back(gpu.uuid);
  auto engine = engine::make_local_engine(std::move(engine_options));
  if (!engine) return tl::unexpected<Error>(std::move(engine.error()));
  (*engine)->start({}, wakeup);
  RunDisplay display{is_json ? console.err : console.out,
                     console.err,
                     {.shows_lines = !options.flag("quiet"),
                      .has_colour = is_json ? console.err_is_terminal : console.out_is_terminal,
                      .has_status_line = console.err_is_terminal}};
  JobRunner runner{*plan, **engine, wakeup, *folder, display};
  const RunCourse& course = runner.run();
  const Duration took = runner.now();
  if (!folder->is_kept()) (*engine)->forget(kJob);
  (*engine)->stop();

  tell_outcome(course, took, display);
  console.exit_code = course.outcome()->exit_code;
  if (is_json) return print_json(run_summary(course, took), console);
  if (course.was_resized()) console.out << report::to_text(change_table(course));
  return {};
}

}  // namespace weir::cli
