// SPDX-License-Identifier: Apache-2.0
//
// Submissions to Slurm (bench/slurm_submit.sh starts it), measured as ours are:
//
//   slurm_submit http CLIENTS COUNT PORT       slurmrestd, keep-alive connections; token from $SLURM_JWT
//   slurm_submit command CLIENTS COUNT WORD... a command such as sbatch, again and again from each client
//
// Every job is held: Slurm only has to take it, not to schedule it.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "http_load.h"

extern char** environ;

namespace {

using namespace weir;
using Clock = std::chrono::steady_clock;

int print(std::string_view name, const bench::HttpLoadOutcome& outcome, std::size_t wanted) {
  fmt::print("{:<44} {:>8.0f} /s   p50 {:>7.2f} ms   p99 {:>7.2f} ms   {} answered well\n", name,
             outcome.per_second(), outcome.latency_ms(0.5), outcome.latency_ms(0.99),
             outcome.succeeded);
  if (outcome.succeeded == wanted) return 0;
  fmt::print("  NOT MET: {} submissions were to succeed\n", wanted);
  return 1;
}

int over_http(std::size_t clients, std::size_t count, std::uint16_t port) {
  const char* token = std::getenv("SLURM_JWT");
  if (token == nullptr) return 2;
  const std::string headers =
      fmt::format("X-SLURM-USER-NAME: root\r\nX-SLURM-USER-TOKEN: {}\r\n", token);
  const std::string body =
      R"({"job":{"name":"x","hold":true,"current_working_directory":"/",)"
      R"("environment":{"PATH":"/bin:/usr/bin"}},"script":"#!/bin/sh\nsleep 100000\n"})";
  bench::HttpLoad load;
  load.port = port;
  load.connections = clients;
  load.requests = count;
  load.longest = std::chrono::minutes{5};
  load.fill = [&](std::size_t, std::string& out) {
    bench::append_post(out, "/slurm/v0.0.38/job/submit", headers, body);
  };
  // Answers 200 also when it took no job.
  std::size_t jobs = 0;
  load.on_answer = [&](std::size_t, int status, std::string_view answer) {
    if (status == 200 && answer.find("\"job_id\": 0") == std::string_view::npos &&
        answer.find("\"job_id\"") != std::string_view::npos)
      ++jobs;
    return true;
  };
  auto outcome = bench::run_http_load(load);
  if (!outcome) {
    fmt::print(stderr, "{}", to_string(outcome.error().details));
    return 1;
  }
  outcome->succeeded = jobs;
  return print(fmt::format("slurmrestd, {} connections", clients), *outcome, count);
}

bool run_command(std::vector<char*>& words) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error = posix_spawnp(&child, words[0], &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  return error == 0 && waitpid(child, &status, 0) == child && status == 0;
}

// Without a shell between: what a command costs is its own.
int by_command(std::size_t clients, std::size_t count, std::vector<char*> words) {
  std::atomic<std::size_t> next{0};
  std::vector<bench::HttpLoadOutcome> each(clients);
  std::vector<std::thread> threads;
  const auto begin = Clock::now();
  for (bench::HttpLoadOutcome& mine : each) {
    threads.emplace_back([&] {
      std::vector<char*> own = words;
      while (next.fetch_add(1) < count) {
        const auto sent = Clock::now();
        if (run_command(own)) ++mine.succeeded;
        ++mine.answered;
        mine.latencies_us.push_back(static_cast<std::uint32_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - sent).count()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  bench::HttpLoadOutcome all;
  all.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (const bench::HttpLoadOutcome& mine : each) {
    all.answered += mine.answered;
    all.succeeded += mine.succeeded;
    all.latencies_us.insert(all.latencies_us.end(), mine.latencies_us.begin(),
                            mine.latencies_us.end());
  }
  std::sort(all.latencies_us.begin(), all.latencies_us.end());
  const std::string_view command = words[0];
  return print(
      fmt::format("{}, {} clients", command.substr(command.find_last_of('/') + 1), clients), all,
      count);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 4 ? argv[1] : "";
  if (mode != "http" && mode != "command") {
    fmt::print(
        stderr,
        "slurm_submit http CLIENTS COUNT PORT\nslurm_submit command CLIENTS COUNT WORD...\n");
    return 2;
  }
  const std::size_t clients = std::stoul(argv[2]);
  const std::size_t count = std::stoul(argv[3]);
  if (mode == "http")
    return over_http(clients, count, static_cast<std::uint16_t>(std::stoul(argv[4])));
  std::vector<char*> words{argv + 4, argv + argc};
  words.push_back(nullptr);
  return by_command(clients, count, std::move(words));
}
