// SPDX-License-Identifier: Apache-2.0
//
// How long predictions of kernels take, each beside its limit: an iteration of up to 1,000 kernels (1 ms; longer ones 1 ms
// for every 1,000), reading a traced network, and fitting all public tables (60 s). Times are of the CPU, which one thread
// uses, predictions the fastest of 200: a machine that is busy with other things makes them longer, but not by much.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "cli/embedded_kernel_models.h"
#include "domain/source_folder_testing.h"
#include "formats/data_dir.h"
#include "formats/kernel_tables_csv.h"
#include "formats/traced_training_json.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/fit_kernels.h"
#include "predict/kernels/iteration_prediction.h"
#include "predict/kernels/known_networks.h"
#include "predict/kernels/overhead_drift.h"
#include "predict/kernels/traced_ops.h"

namespace {

using namespace weir;  // NOLINT: a small program

constexpr double kMostMs = 1;  // of 1,000 kernels
constexpr double kMostReadingMs = 20;
constexpr double kMostFitSeconds = 60;
constexpr int kRepeats = 200;
constexpr int kBatch = 8;

bool is_within = true;

double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

double ms_since(double start) {
  return cpu_ms() - start;
}

void show(const std::string& what, double value, double limit, const char* unit) {
  const bool is_good = value <= limit;
  is_within = is_within && is_good;
  fmt::print("{:<50}{:>9.3f} {:<2}  limit {:>6.3f} {}{}\n", what, value, unit, limit, unit,
             is_good ? "" : "  TOO LONG");
}

[[noreturn]] void stop(const std::string& why) {
  fmt::print(stderr, "kernels_bench: {}\n", why);
  std::exit(1);
}

template <class Value>
Value must(Result<Value> result) {
  if (!result) stop(to_string(result.error().details));
  return std::move(*result);
}

void predict_networks(const predict::KernelPredictor& predictor) {
  for (const std::string_view name : predict::known_networks()) {
    const auto ops = predict::known_network(name, kBatch);
    double kernels = 0;
    std::vector<double> times;
    for (int i = 0; i < kRepeats; ++i) {
      const auto start = cpu_ms();
      const auto iteration = predict::predict_iteration(predictor, *ops, 0);
      times.push_back(ms_since(start));
      kernels = iteration.kernels;
      if (iteration.seconds <= 0) stop("an iteration takes no time");
    }
    show(fmt::format("{} at batch {}: {:.0f} kernels, {} calls", name, kBatch, kernels,
                     ops->ops.size()),
         *std::min_element(times.begin(), times.end()), kMostMs * std::max(1.0, kernels / 1000),
         "ms");
  }
}

// No two alike: what an iteration costs where no call repeats. Only told.
void predict_different_calls(const predict::KernelPredictor& predictor) {
  constexpr std::int64_t kCalls = 1000;
  predict::TrainingOps ops;
  for (std::int64_t i = 0; i < kCalls; ++i)
    ops.ops.push_back({{KernelFamily::gemm, "linear", "bf16", "nt", {1, 512 + 8 * i, 1024, 4096}}});
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = cpu_ms();
    if (predict::predict_iteration(predictor, ops, 0).seconds <= 0) stop("calls take no time");
    times.push_back(ms_since(start));
  }
  fmt::print("{:<50}{:>9.3f} ms\n", "1,000 different products",
             *std::min_element(times.begin(), times.end()));
}

void read_trace(const std::filesystem::path& path, const predict::KernelPredictor& predictor) {
  const auto start = cpu_ms();
  const auto traced = must(formats::read_traced_training(must(formats::InputFile::open(path))));
  const auto ops = predict::ops_of_trace(traced);
  if (predict::predict_iteration(predictor, ops, 0).seconds <= 0) stop("a trace takes no time");
  show(fmt::format("{}: read and predicted, once", path.filename().string()), ms_since(start),
       kMostReadingMs, "ms");
}

void fit_public_tables() {
  const auto data = formats::data_dir();
  if (!data || !std::filesystem::exists(*data / "kernels")) {
    fmt::print("fitting: no public tables, WEIR_DATA has no folder \"kernels\"\n");
    return;
  }
  auto start = cpu_ms();
  const auto tables = must(formats::read_kernel_tables(*data / "kernels"));
  fmt::print("{:<50}{:>9.1f} s\n", "reading the public tables", ms_since(start) / 1e3);
  start = cpu_ms();
  std::size_t samples = 0;
  std::size_t groups = 0;
  predict::KernelFitOptions options;  // as `weir kernels check --trees 300` has them
  options.boosting.trees = 300;
  for (const KernelTable& table : tables) {
    const auto device = predict::find_device(table.device);
    if (!device) stop("a device that is not known: " + table.device);
    std::vector<const KernelSample*> fitting;
    for (const KernelSample& sample : table.samples) fitting.push_back(&sample);
    samples += fitting.size();
    groups += predict::fit_kernels_alone(fitting, *device, options).groups.size();
  }
  if (groups == 0) stop("nothing was fitted");
  show(fmt::format("fitting {} kernels of {} GPUs", samples, tables.size()), ms_since(start) / 1e3,
       kMostFitSeconds, "s");
}

}  // namespace

int main() {
  const auto repository = source_folder();
  const auto start = cpu_ms();
  const KernelModel model = must(cli::embedded_kernel_model("h200"));
  fmt::print("{:<50}{:>9.1f} ms\n", "reading the model of the H200", ms_since(start));
  const predict::KernelPredictor predictor{model};
  predict_networks(predictor);
  predict_different_calls(predictor);
  read_trace(repository / "examples/ops/resnet50-8.json.gz", predictor);
  fit_public_tables();
  return is_within ? 0 : 1;
}
