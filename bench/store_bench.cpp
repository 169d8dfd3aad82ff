// SPDX-License-Identifier: Apache-2.0
//
// What durability costs: submissions committed 64 at a time, beside the bare fsync of as many bytes;
// how long the slowest commits take while the write-ahead log is copied; and a restart with 100,000
// jobs and 1,000,000 records, with a page of 100 jobs read from it.
//
//   store_bench [FOLDER]      default: a temporary folder
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "control/store.h"
#include "store_fill.h"

namespace weir::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

template <class T>
T ok(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}", to_string(result.error().details));
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double quantile(std::vector<double>& values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// Appends and syncs `bytes` again and again: what the disk can do.
double bare_sync_ms(const std::filesystem::path& file, std::size_t bytes) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string content(bytes, 'x');
  constexpr int kTimes = 100;
  const auto start = Clock::now();
  for (int i = 0; i < kTimes; ++i) {
    if (::pwrite(descriptor, content.data(), bytes,
                 static_cast<off_t>(i) * static_cast<off_t>(bytes)) < 0)
      std::exit(1);
    ::fdatasync(descriptor);
  }
  const double each = seconds_since(start) * 1e3 / kTimes;
  ::close(descriptor);
  return each;
}

void measure_commits(const std::filesystem::path& folder, int per_batch, int batches) {
  control::StoreOptions options;
  options.file = folder / fmt::format("commits-{}.db", per_batch);
  options.build = "0.1.0";
  auto store = ok(control::Store::open(options));
  Time now{std::chrono::hours{24 * 365 * 50}};
  std::uint64_t number = 0;
  std::vector<double> times;
  double cpu = 0;
  const auto start = Clock::now();
  for (int i = 0; i < batches; ++i) {
    control::Batch batch;
    for (int k = 0; k < per_batch; ++k) add_submission(batch, ++number, now += Duration{1'000'000});
    const double cpu_before = cpu_seconds();
    const auto begin = Clock::now();
    ok(store->commit(batch));
    times.push_back(seconds_since(begin) * 1e3);
    cpu += cpu_seconds() - cpu_before;
  }
  const double all = seconds_since(start);
  fmt::print(
      "commit of {:>3}: {:>7.0f} submissions/s, {:>6.0f} commits/s, {:>5.1f} us CPU per submission "
      "(all threads), commit p50 {:.2f} p99 {:.2f} max {:.2f} ms, {:.0f} bytes each\n",
      per_batch, static_cast<double>(number) / all, batches / all,
      cpu * 1e6 / static_cast<double>(number), quantile(times, 0.5), quantile(times, 0.99),
      quantile(times, 1), static_cast<double>(store->size_bytes()) / static_cast<double>(number));
}

void measure_restart(const std::filesystem::path& folder) {
  control::StoreOptions options;
  options.file = folder / "big.db";
  options.build = "0.1.0";
  if (!std::filesystem::exists(options.file)) {
    auto store = ok(control::Store::open(options));
    const auto start = Clock::now();
    const FilledStore filled = ok(fill_store(*store, {}));
    fmt::print("filled: {} entries, {} records in {:.1f} s, {:.0f} MB\n", filled.end.entry,
               filled.end.record, seconds_since(start),
               static_cast<double>(store->size_bytes()) / 1e6);
  }
  const auto start = Clock::now();
  auto store = ok(control::Store::open(options));
  const double opened = seconds_since(start);
  const auto recovery = ok(store->recover(fill_initial_state()));
  fmt::print(
      "restart: {:.2f} s (open and check {:.2f} s, recover {:.2f} s), {} records folded, {} jobs, "
      "peak memory {:.0f} MB\n",
      seconds_since(start), opened, seconds_since(start) - opened, recovery.records_folded,
      recovery.state.jobs.size(), peak_mb());
  const auto write_start = Clock::now();
  const std::string snapshot = control::write_snapshot(recovery.state);
  fmt::print("snapshot: {:.0f} kB in {:.1f} ms\n", static_cast<double>(snapshot.size()) / 1e3,
             seconds_since(write_start) * 1e3);

  auto reader = ok(control::StoreReader::open(options));
  for (const char* phase : {"", "running", "finished"}) {
    std::vector<double> times;
    for (int i = 0; i < 1000; ++i) {
      control::JobQuery query;
      query.phase = phase;
      query.newest_first = i % 2 == 0;
      query.after = static_cast<std::uint64_t>(i) * 97 % 100'000;
      const auto begin = Clock::now();
      ok(reader->jobs(query));
      times.push_back(seconds_since(begin) * 1e3);
    }
    fmt::print("page of 100 jobs, phase '{}': p50 {:.3f} p99 {:.3f} ms\n", phase,
               quantile(times, 0.5), quantile(times, 0.99));
  }
  const auto count_start = Clock::now();
  ok(reader->count_by_phase());
  fmt::print("count by phase: {:.1f} ms\n", seconds_since(count_start) * 1e3);
}

int run(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  fmt::print("bare write and fdatasync of 4 kB: {:.2f} ms, of 400 kB: {:.2f} ms\n",
             bare_sync_ms(folder / "bare", 4096), bare_sync_ms(folder / "bare", 400'000));
  measure_commits(folder, 1, 2000);
  measure_commits(folder, 64, 1500);
  measure_restart(folder);
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  if (argc > 1) return weir::bench::run(argv[1]);
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("weir-store-bench-{}", ::getpid());
  const int result = weir::bench::run(folder);
  std::filesystem::remove_all(folder);
  return result;
}
