// SPDX-License-Identifier: Apache-2.0
//
// serve_soak WEIR [RATE [SECONDS [LEAST_RATE [CLUSTER]]]]: submits RATE short jobs each second to the real server, over
// HTTP, and waits until all have finished. Fails when the server does not keep up, when a job does not end
// well, or when something is left behind: processes, descriptors, threads, or memory that grows more than
// what is kept of each job. Prints what a job costs.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "http_load.h"
#include "running_server.h"
#include "transport/http_client.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// What the server remembers of a job that is over, at most: it stays in the scheduler's state.
constexpr double kMostBytesPerJob = 4096;
// Memory that comes and goes, or grows once.
constexpr double kMemorySlackMib = 16;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The sum of all lines of a counter with this text in its name or labels.
double counter(std::string_view text, std::string_view name, std::string_view label) {
  double sum = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(name) || line.find(label) == std::string_view::npos) continue;
    sum += std::strtod(std::string{line.substr(line.rfind(' ') + 1)}.c_str(), nullptr);
  }
  return sum;
}

struct Sample {
  double at = 0;  // seconds since the beginning of the load
  double resident_mib = 0;
  long descriptors = 0;
  long threads = 0;
  long zombies = 0;
  double ended = 0;
  double ended_well = 0;
};

// Children of the server that have ended and that nobody has waited for.
long zombies_of(int parent) {
  long count = 0;
  std::error_code error;
  const fs::path tasks = fmt::format("/proc/{}/task", parent);
  for (const auto& task : fs::directory_iterator{tasks, error}) {
    std::ifstream children{task.path() / "children"};
    int child = 0;
    while (children >> child) {
      std::ifstream file{fmt::format("/proc/{}/stat", child)};
      std::string stat;
      std::getline(file, stat);
      const std::size_t name_end = stat.rfind(')');
      if (name_end != std::string::npos && stat.substr(name_end + 2, 1) == "Z") ++count;
    }
  }
  return count;
}

// One thread looks at the server once a second, from outside.
class Observer {
 public:
  explicit Observer(const bench::RunningServer& server)
      : server_{server},
        client_{fmt::format("http://127.0.0.1:{}", server.port()), server.token()} {}

  Sample look() {
    Sample sample;
    const auto reply = client_.get("/metrics");
    const std::string text = reply && reply->status == 200 ? reply->body : "";
    sample.ended_well = counter(text, "weir_runs_ended_total", "\"well\"");
    sample.ended = counter(text, "weir_runs_ended_total", "");
    sample.resident_mib = server_.resident_mib();
    sample.descriptors = server_.descriptors();
    sample.threads = server_.threads();
    sample.zombies = zombies_of(server_.pid());
    return sample;
  }
  // Nothing when it does not come true.
  template <class Condition>
  bool eventually(Condition condition, std::chrono::seconds patience) {
    const auto until = Clock::now() + patience;
    while (!condition(look())) {
      if (Clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    return true;
  }
  void watch(Clock::time_point begin, const std::atomic<bool>& is_over) {
    while (!is_over.load()) {
      samples.push_back(look());
      samples.back().at = seconds_since(begin);
      std::this_thread::sleep_for(std::chrono::seconds{1});
    }
  }

  std::vector<Sample> samples;

 private:
  const bench::RunningServer& server_;
  transport::HttpClient client_;
};

// MiB per second over the samples after `from` seconds: the line through them.
double memory_slope(const std::vector<Sample>& samples, double from) {
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const Sample& sample : samples) {
    if (sample.at < from) continue;
    n += 1;
    x += sample.at;
    y += sample.resident_mib;
    xx += sample.at * sample.at;
    xy += sample.at * sample.resident_mib;
  }
  const double spread = n * xx - x * x;
  return spread > 0 ? (n * xy - x * y) / spread : 0;
}

// Submissions at an even rate: the load's own thread waits until each is due.
Result<bench::HttpLoadOutcome> submit(const bench::RunningServer& server, std::size_t count,
                                      double rate) {
  bench::HttpLoad load;
  load.port = server.port();
  load.requests = count;
  load.longest = std::chrono::minutes{30};
  const std::string headers = server.authorization();
  const auto begin = Clock::now();
  load.fill = [&](std::size_t n, std::string& out) {
    std::this_thread::sleep_until(begin + std::chrono::nanoseconds{static_cast<std::int64_t>(
                                              1e9 * static_cast<double>(n) / rate)});
    bench::append_post(out, "/v1/jobs", headers, R"({"name":"short","command":["/bin/true"]})");
  };
  return bench::run_http_load(load);
}

struct Wanted {
  double rate = 200;
  double seconds = 5;
  double least_rate = 0;  // of finished jobs; 0: any
  std::string cluster = "4x16xCPU";
};

int soak(const fs::path& program, const fs::path& folder, const Wanted& wanted) {
  auto started =
      bench::RunningServer::start(program, folder / "state", {"--cluster", wanted.cluster});
  if (!started) {
    fmt::print(stderr, "{}", to_string(started.error().details));
    return 1;
  }
  const bench::RunningServer& server = *started;
  int mistakes = 0;
  const auto check = [&](bool is_good, std::string_view what) {
    if (is_good) return;
    fmt::print(stderr, "wrong: {}\n", what);
    ++mistakes;
  };

  // Once through everything, so that what is made on first use is there.
  constexpr std::int32_t kFirst = 50;
  constexpr std::chrono::seconds kPatience{120};
  Observer before{server};
  if (const auto outcome = submit(server, kFirst, wanted.rate);
      !outcome || outcome->succeeded != std::size_t{kFirst} ||
      !before.eventually([&](const Sample& now) { return now.ended == kFirst; }, kPatience)) {
    fmt::print(stderr, "the first {} jobs did not all end; see {}\n", kFirst, folder.string());
    return 1;
  }
  before.eventually([&](const Sample& now) { return now.zombies == 0; }, kPatience);
  std::this_thread::sleep_for(std::chrono::milliseconds{300});  // their connections are closed
  Observer observer{server};
  observer.look();  // opens its connection
  const Sample first = before.look();
  const double cpu_before = server.cpu_seconds();
  const double children_before = server.children_cpu_seconds();

  const auto begin = Clock::now();
  std::atomic<bool> is_over{false};
  std::thread watching{[&] { observer.watch(begin, is_over); }};
  const auto count = static_cast<std::size_t>(wanted.rate * wanted.seconds);
  const auto outcome = submit(server, count, wanted.rate);
  const double submitted_in = seconds_since(begin);
  const double all = kFirst + static_cast<double>(count);
  const bool have_ended =
      before.eventually([&](const Sample& now) { return now.ended >= all; }, kPatience);
  const double took = seconds_since(begin);
  is_over = true;
  watching.join();
  const bool is_tidy = before.eventually(
      [&](const Sample& now) {
        return now.zombies == 0 && now.descriptors <= first.descriptors &&
               now.threads <= first.threads && server.job_processes().empty();
      },
      std::chrono::seconds{20});
  const Sample last = before.look();
  const std::vector<int> left = server.job_processes();

  double most_behind = 0;
  long most_zombies = 0;
  long most_descriptors = 0;
  for (const Sample& sample : observer.samples) {
    const double due = kFirst + std::min(wanted.rate * sample.at, static_cast<double>(count));
    most_behind = std::max(most_behind, due - sample.ended);
    most_zombies = std::max(most_zombies, sample.zombies);
    most_descriptors = std::max(most_descriptors, sample.descriptors);
  }
  const double jobs = static_cast<double>(count);
  const double rate = jobs / took;
  const double slope = memory_slope(observer.samples, wanted.seconds / 5);
  const double growth = last.resident_mib - first.resident_mib;
  fmt::print(
      "{} jobs on {}: submitted in {:.1f} s, finished in {:.1f} s ({:.0f}/s), at most {:.0f} "
      "behind\n",
      count, wanted.cluster, submitted_in, took, rate, most_behind);
  fmt::print("CPU per job: server {:.2f} ms, supervisor and job {:.2f} ms\n",
             (server.cpu_seconds() - cpu_before) * 1000 / jobs,
             (server.children_cpu_seconds() - children_before) * 1000 / jobs);
  fmt::print(
      "memory {:.1f} MiB, {:+.1f} MiB in all, {:+.0f} bytes per job by the slope after a fifth "
      "of the time\n",
      last.resident_mib, growth, slope * (1 << 20) / wanted.rate);
  fmt::print(
      "descriptors {} ({:+} left, at most {}), threads {} ({:+}), zombies {} (at most {}), job "
      "processes left {}\n",
      last.descriptors, last.descriptors - first.descriptors, most_descriptors, last.threads,
      last.threads - first.threads, last.zombies, most_zombies, left.size());

  check(outcome && outcome->succeeded == count, "not every submission was accepted");
  check(have_ended && last.ended == all, "not every job ended");
  check(last.ended_well == all, "not every job ended well");
  check(is_tidy, "something is left behind");
  check(growth * (1 << 20) < kMemorySlackMib * (1 << 20) + kMostBytesPerJob * jobs, "memory grows");
  check(rate >= wanted.least_rate,
        fmt::format("fewer than {} jobs finished each second", wanted.least_rate));
  return mistakes == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::Wanted wanted;
  if (argc > 2) wanted.rate = std::atof(argv[2]);
  if (argc > 3) wanted.seconds = std::atof(argv[3]);
  if (argc > 4) wanted.least_rate = std::atof(argv[4]);
  if (argc > 5) wanted.cluster = argv[5];
  if (argc < 2 || wanted.rate < 1 || wanted.seconds < 1) {
    fmt::print(stderr, "serve_soak WEIR [RATE [SECONDS [LEAST_RATE [CLUSTER]]]]\n");
    return 2;
  }
  std::string name = (std::filesystem::temp_directory_path() / "weir-serve-soak-XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(name.data());
  const int result = weir::soak(argv[1], folder, wanted);
  std::fflush(stdout);  // to remove the folders of many jobs takes minutes on some disks
  std::error_code ignored;
  if (result == 0 || std::getenv("KEEP") == nullptr) std::filesystem::remove_all(folder, ignored);
  return result;
}
