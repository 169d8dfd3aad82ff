// SPDX-License-Identifier: Apache-2.0
//
// A busy server without a cluster, for benchmarks and browser tests of the page: the real controller, store, API and
// dashboard on an engine that only plays (played_engine.h).
//
//   page_server --state DIR [--port 0] [--gpus 10000] [--jobs 10000] [--events 500] [--seconds N]
//
// Submits that many jobs to a cluster of 8-GPU nodes: most run, some wait, some are over, some were refused. Then it writes
// DIR/url and DIR/token as `weir serve` does, and keeps the decisions coming at about so many records each second, with
// about as many jobs that are not over, until it is stopped or the seconds have passed. It says every 10 s how many
// records it made.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cli/live_log_header.h"
#include "cli/live_story.h"
#include "cli/state_folder.h"
#include "cli/version.h"
#include "control/api.h"
#include "control/controller.h"
#include "control/store.h"
#include "dashboard/dashboard.h"
#include "formats/cluster_shorthand.h"
#include "played_engine.h"
#include "played_workload.h"
#include "transport/http_server.h"

namespace {

using namespace weir;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Options {
  fs::path state;
  std::uint16_t port = 0;
  std::int64_t gpus = 10'000;
  std::int64_t jobs = 10'000;
  double events = 500;
  double seconds = 0;  // 0: until it is stopped
  std::uint64_t seed = 42;
};

constexpr std::int64_t kGpusPerNode = 8;
constexpr double kRefusedShare = 0.02;   // of the jobs at the start
constexpr double kFinishedShare = 0.05;  // likewise
constexpr double kRunningShare = 0.9;    // of those that are not over, about
constexpr double kChurnShare =
    0.4;  // of the records come with jobs that come and go; the rest is progress
constexpr std::uint64_t kOneInSoManyIsCancelled = 40;
constexpr milliseconds kTick{20};

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}", to_string(result.error().details));
  std::exit(1);
}
void must(const Result<void>& result) {
  if (result) return;
  fmt::print(stderr, "{}", to_string(result.error().details));
  std::exit(1);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Submits, cancels and asks for progress so that the records come evenly.
class Load {
 public:
  Load(const Options& options, control::Controller& controller, bench::PlayedEngine& engine)
      : options_{options},
        controller_{controller},
        engine_{engine},
        workload_{options.seed},
        rng_{SeededRng{options.seed}.fork("load")} {
    const auto jobs = static_cast<double>(options.jobs);
    wanted_live_ = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(jobs * (1 - kRefusedShare - kFinishedShare)));
    const double running = std::max(1.0, static_cast<double>(wanted_live_) * kRunningShare);
    shape_.mean_gpus = std::max(1.0, static_cast<double>(options.gpus) / running);
    shape_.mean_seconds = seconds_for(kFirstGuessOfRecords);
  }

  // The jobs there are at the start. Returns when all are answered.
  void fill() {
    const auto jobs = static_cast<double>(options_.jobs);
    const auto finished = static_cast<std::int64_t>(jobs * kFinishedShare);
    const auto refused = static_cast<std::int64_t>(jobs * kRefusedShare);
    constexpr double kAlmostDone = 0.001;
    // Those first: they are to be over when the others have come.
    for (std::int64_t i = 0; i < finished; ++i) submit(workload_.next(shape_, kAlmostDone));
    for (std::int64_t i = 0; i < wanted_live_; ++i) {
      submit(workload_.next(shape_, rng_.uniform()));
      wait_while_more_than(1000);
    }
    for (std::int64_t i = 0; i < refused; ++i) submit(workload_.hopeless(shape_));
    wait_while_more_than(0);
    wait_until_all_have_started();
  }

  // Keeps the records coming for a tick. What came too much or too little in the last second is made up for, not more: the
  // flow is to be even.
  void go_on() {
    const auto now = Clock::now();
    const std::uint64_t made = records() - records_at_last_tick_;
    missing_ += std::chrono::duration<double>(now - std::exchange(last_tick_, now)).count() *
                options_.events;
    missing_ = std::clamp(missing_ - static_cast<double>(made), -options_.events, options_.events);
    records_at_last_tick_ += made;
    replace_jobs();
    // What was asked for a moment ago is on its way.
    const double to_ask = missing_ - static_cast<double>(asked_in_last_tick_);
    asked_in_last_tick_ =
        to_ask >= 1 ? engine_.report_progress(static_cast<std::size_t>(to_ask)) : 0;
    progress_ += asked_in_last_tick_;
    adjust_now_and_then();
  }

  void begin() {
    last_tick_ = Clock::now();
    first_record_ = controller_.log_end().record;
    ends_then_ = engine_.ended();
  }
  std::uint64_t records() const { return controller_.log_end().record - first_record_; }
  std::int64_t live() const {
    return accepted_ - cancelled_ - static_cast<std::int64_t>(engine_.ended());
  }
  std::int64_t refused() const { return refused_; }
  std::int64_t unavailable() const { return unavailable_; }

 private:
  static constexpr double kFirstGuessOfRecords = 8;  // from the coming of a job to its end

  double seconds_for(double records_per_job) const {
    const double running = static_cast<double>(wanted_live_) * kRunningShare;
    const double ends_per_second = options_.events * kChurnShare / std::max(records_per_job, 4.0);
    return std::max(2.0, running / std::max(ends_per_second, 0.01));
  }

  // Jobs live so long that their coming and going makes its share of the records.
  void adjust_now_and_then() {
    constexpr std::uint64_t kEnoughEnds = 100;
    const std::uint64_t ends = engine_.ended() - ends_then_;
    if (ends < kEnoughEnds) return;
    const std::uint64_t all = records() - records_then_;
    const std::uint64_t churn = all - std::min(all, progress_);
    shape_.mean_seconds = seconds_for(static_cast<double>(churn) / static_cast<double>(ends));
    ends_then_ += ends;
    records_then_ += all;
    progress_ = 0;
  }

  void submit(control::Submission submission) {
    ++asked_;
    controller_.submit(std::move(submission), [this](const control::SubmitAnswer& answer) {
      using Kind = control::SubmitAnswer::Kind;
      if (answer.kind == Kind::accepted)
        ++accepted_;
      else if (answer.kind == Kind::refused)
        ++refused_;
      else
        ++unavailable_;
      --asked_;
    });
  }

  void wait_while_more_than(std::int64_t waiting) const {
    while (asked_ > waiting) std::this_thread::sleep_for(milliseconds{1});
  }

  // Until no burst of starts is left.
  void wait_until_all_have_started() const {
    constexpr milliseconds kLook{500};
    std::uint64_t before = 0;
    std::uint64_t now = controller_.log_end().record;
    do {
      std::this_thread::sleep_for(kLook);
      before = std::exchange(now, controller_.log_end().record);
    } while (static_cast<double>(now - before) > std::max(options_.events, 10.0));
  }

  void replace_jobs() {
    constexpr std::int64_t kMostAtOnce = 50;
    const std::int64_t missing = wanted_live_ - live() - asked_;
    for (std::int64_t i = 0; i < std::min(missing, kMostAtOnce); ++i) {
      if (rng_.uniform() < kRefusedShare) submit(workload_.hopeless(shape_));
      submit(workload_.next(shape_));
      if (rng_.below(kOneInSoManyIsCancelled) == 0) cancel_one();
    }
  }

  void cancel_one() {
    const auto job = engine_.any_job();
    if (!job) return;
    controller_.cancel(*job, [this](const control::CancelAnswer& answer) {
      if (!answer.is_unavailable) ++cancelled_;
    });
  }

  const Options& options_;
  control::Controller& controller_;
  bench::PlayedEngine& engine_;
  bench::PlayedWorkload workload_;
  SeededRng rng_;
  bench::WorkloadShape shape_;
  std::int64_t wanted_live_ = 0;
  Clock::time_point last_tick_;
  std::uint64_t first_record_ = 0;
  std::uint64_t records_at_last_tick_ = 0;
  double missing_ = 0;  // records
  std::size_t asked_in_last_tick_ = 0;
  std::uint64_t progress_ = 0;      // reports since the last adjustment
  std::uint64_t ends_then_ = 0;     // at the last adjustment
  std::uint64_t records_then_ = 0;  // likewise
  std::atomic<std::int64_t> asked_{0};
  std::atomic<std::int64_t> accepted_{0};
  std::atomic<std::int64_t> refused_{0};
  std::atomic<std::int64_t> cancelled_{0};
  std::atomic<std::int64_t> unavailable_{0};
};

// One line every ten seconds.
class Account {
 public:
  Account(const Load& load, const bench::PlayedEngine& engine) : load_{load}, engine_{engine} {}

  void tell_if_due() {
    constexpr double kEvery = 10;
    const double seconds = seconds_since(since_);
    if (seconds < kEvery) return;
    const std::uint64_t records = load_.records();
    const double cpu = cpu_seconds();
    fmt::print(
        stderr,
        "page_server: {} records in {:.1f} s, {:.0f} per second; {} jobs run, {} are not over, {} "
        "refused; {:.0f} % of a core\n",
        records - records_, seconds, static_cast<double>(records - records_) / seconds,
        engine_.running(), load_.live(), load_.refused(), (cpu - cpu_) / seconds * 100);
    since_ = Clock::now();
    records_ = records;
    cpu_ = cpu;
  }

 private:
  const Load& load_;
  const bench::PlayedEngine& engine_;
  Clock::time_point since_ = Clock::now();
  std::uint64_t records_ = 0;
  double cpu_ = cpu_seconds();
};

Options read_options(int argc, char** argv) {
  Options options;
  CLI::App app{"A busy server that only plays, for tests of the page"};
  app.add_option("--state", options.state, "A new folder, for the store, url and token")
      ->required();
  app.add_option("--port", options.port, "Where to listen; 0: any free port");
  app.add_option("--gpus", options.gpus, "In nodes of 8")->check(CLI::Range(8, 1'000'000));
  app.add_option("--jobs", options.jobs, "At the start, with those that are over")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--events", options.events, "Records each second")
      ->check(CLI::Range(0.0, 100'000.0));
  app.add_option("--seconds", options.seconds, "How long; 0: until it is stopped")
      ->check(CLI::Range(0.0, 1e7));
  app.add_option("--seed", options.seed, "Other jobs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  if (fs::exists(cli::store_file(options.state))) {
    fmt::print(stderr, "page_server: {} has a store already; write a new folder after --state\n",
               options.state.string());
    std::exit(2);
  }
  return options;
}

control::ControllerConfig config_for(const Options& options) {
  control::ControllerConfig config;
  config.cluster = must(formats::parse_cluster_shorthand(
      fmt::format("{}x{}xA100", (options.gpus + kGpusPerNode - 1) / kGpusPerNode, kGpusPerNode)));
  config.curves = {bench::played_curves()};
  config.rescale_cost = {milliseconds{300}, milliseconds{0}};
  return config;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGINT);
  sigaddset(&stops, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  signal(SIGPIPE, SIG_IGN);

  must(cli::make_state_folder(options.state));
  const std::string token = must(cli::read_or_make_token(cli::token_file(options.state)));
  control::StoreOptions store_options;
  store_options.file = cli::store_file(options.state);
  store_options.build = cli::kVersion;
  const auto store = must(control::Store::open(store_options));
  const auto reader = must(control::StoreReader::open(store_options));
  control::Metrics metrics;
  bench::PlayedEngine engine{bench::played_models(), options.seed};
  const auto controller =
      must(control::Controller::start(config_for(options), *store, *reader, engine, metrics));

  control::ApiOptions api_options;
  api_options.token = token;
  api_options.version = cli::kVersion;
  api_options.log_header = cli::live_log_header(controller->config(), "", "");
  api_options.store = store_options;
  api_options.story = cli::live_story_json;
  const auto api =
      must(control::Api::make(std::move(api_options), *controller, *store, &engine, metrics));
  transport::HttpServerOptions http;
  http.port = options.port;
  http.default_headers = control::api_headers();
  http.gate = [&](transport::HttpRequest& request) { return api->authorise(request); };
  http.on_access = [&](const transport::AccessEntry& entry) { api->note_access(entry); };
  transport::Router router = api->router();
  dashboard::add_dashboard(router);
  const auto server = must(transport::HttpServer::start(std::move(http), std::move(router)));

  Load load{options, *controller, engine};
  const auto began = Clock::now();
  load.fill();
  std::ofstream{cli::url_file(options.state)} << server->url() << "\n";
  fmt::print(stderr, "page_server: {} jobs submitted in {:.1f} s\n", options.jobs,
             seconds_since(began));
  fmt::print("{}/\ntoken in {}\n", server->url(), cli::token_file(options.state).string());
  std::fflush(stdout);

  load.begin();
  Account account{load, engine};
  const auto loaded = Clock::now();
  const timespec tick{0, std::chrono::nanoseconds{kTick}.count()};
  while (options.seconds == 0 || seconds_since(loaded) < options.seconds) {
    load.go_on();
    account.tell_if_due();
    if (sigtimedwait(&stops, nullptr, &tick) > 0) break;
  }
  if (load.unavailable() > 0) {
    fmt::print(stderr, "page_server: {} submissions were not answered as they should\n",
               load.unavailable());
  }
  api->stop();
  server->stop();
  controller->stop();
  engine.stop();
  return load.unavailable() > 0 ? 1 : 0;
}
