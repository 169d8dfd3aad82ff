// SPDX-License-Identifier: Apache-2.0
//
// The control plane as its clients see it: durable submissions per second at 64 clients, pages of jobs out of
// 100,000, and a restart after a kill. The peer (Slurm on the same machine) is measured by
// bench/slurm_submit.sh; tools/bench.sh runs both and prints the ratio.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "formats/cluster_yaml.h"
#include "http_load.h"
#include "running_server.h"
#include "store_fill.h"

namespace {

using namespace weir;
namespace fs = std::filesystem;

bool is_ok = true;

void check(bool holds, std::string_view what) {
  if (holds) return;
  fmt::print("  NOT MET: {}\n", what);
  is_ok = false;
}

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}", to_string(result.error().details));
  std::exit(1);
}

void print(std::string_view name, const bench::HttpLoadOutcome& outcome) {
  fmt::print("{:<44} {:>8.0f} /s   p50 {:>7.2f} ms   p99 {:>7.2f} ms   {} answered well\n", name,
             outcome.per_second(), outcome.latency_ms(0.5), outcome.latency_ms(0.99),
             outcome.succeeded);
}

// Every submission is decided and on disk before it is answered.
void submissions(const fs::path& program, const fs::path& folder, std::string_view name,
                 std::string_view body, std::size_t requests) {
  const fs::path state = folder / name;
  const auto server = must(bench::RunningServer::start(program, state, {"--cluster", "1x4xCPU"}));
  bench::HttpLoad load;
  load.port = server.port();
  load.requests = requests;
  const std::string headers = server.authorization();
  load.fill = [&](std::size_t n, std::string& out) {
    bench::append_post(out, "/v1/jobs", headers + fmt::format("Idempotency-Key: k{}\r\n", n), body);
  };
  const double before = server.cpu_seconds();
  const auto outcome = must(bench::run_http_load(load));
  print(fmt::format("submit, durable: {}", name), outcome);
  fmt::print("  server CPU {:.0f} us per submission, memory {:.0f} MiB\n",
             (server.cpu_seconds() - before) * 1e6 / static_cast<double>(outcome.answered),
             server.resident_mib());
  check(outcome.answered == requests, "every request was answered");
}

void long_past(const fs::path& program, const fs::path& folder) {
  const fs::path state = folder / "past";
  fs::create_directories(state);
  {
    control::StoreOptions options;
    options.file = state / "weir.db";
    options.build = "bench";
    auto store = must(control::Store::open(options));
    must(bench::fill_store(*store, {}));
    std::ostringstream cluster;
    formats::write_cluster_yaml(cluster, bench::fill_cluster());
    if (!store->set_setting("cluster", cluster.str()) || !store->set_setting("policy", "weir"))
      std::exit(1);
  }
  // Once to settle what the fill left open, then killed: what is measured is a restart after a crash.
  {
    auto settled =
        must(bench::RunningServer::start(program, state, {"--snapshot-every", "10000000"}));
    settled.kill_now();
  }
  const auto server =
      must(bench::RunningServer::start(program, state, {"--snapshot-every", "10000000"}));
  fmt::print("{:<44} {:>8.2f} s    memory {:.0f} MiB\n", "restart: 100,000 jobs, 1,000,000 records",
             server.start_seconds(), server.resident_mib());
  check(server.start_seconds() < 3, "a restart takes less than 3 s");
  bench::HttpLoad load;
  load.port = server.port();
  load.requests = 20'000;
  const std::string headers = server.authorization();
  for (const std::size_t connections : {std::size_t{1}, std::size_t{8}}) {
    load.connections = connections;
    load.fill = [&](std::size_t n, std::string& out) {
      bench::append_get(out, fmt::format("/v1/jobs?limit=100&after={}", 200 + (n * 7919) % 99'000),
                        headers);
    };
    const auto outcome = must(bench::run_http_load(load));
    print(fmt::format("GET /v1/jobs, pages of 100, {} clients", connections), outcome);
    check(outcome.succeeded == load.requests, "every page was answered");
    if (connections == 1) check(outcome.latency_ms(0.99) < 5, "p99 of a page is under 5 ms");
  }
}

}  // namespace

// serve_bench WEIR [REQUESTS [PART]]; parts are submissions and past, or all
int main(int argc, char** argv) {
  const std::string_view part = argc > 3 ? argv[3] : "all";
  if (argc < 2 || (part != "submissions" && part != "past" && part != "all")) {
    fmt::print(stderr, "serve_bench WEIR [REQUESTS [submissions|past|all]]\n");
    return 2;
  }
  const fs::path program = fs::absolute(argv[1]);
  const std::size_t requests = argc > 2 ? std::stoul(argv[2]) : 50'000;
  std::string name = (fs::temp_directory_path() / "weir-serve-bench-XXXXXX").string();
  const fs::path folder = mkdtemp(name.data());
  if (part != "past") {
    submissions(program, folder, "without deadline", R"({"name":"x","command":["sleep","100000"]})",
                requests);
    submissions(program, folder, "deadline promised or refused",
                R"({"name":"x","command":["sleep","60"],"duration":"60s","deadline":"6h"})",
                requests / 10);
  }
  if (part != "submissions") long_past(program, folder);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return is_ok ? 0 : 1;
}
