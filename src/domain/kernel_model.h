// SPDX-License-Identifier: Apache-2.0
//
// A fitted model of the kernels of one device, as data: what a model file holds. predict/kernels fits it
// and predicts with it; formats/kernel_model_json writes and reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "domain/kernel_call.h"

namespace weir {

// What a data sheet says. Models are fitted: these only scale features, and predictions to another GPU.
struct DeviceSpec {
  std::string name{};  // as the driver and the tables spell it
  double sms = 0;
  double clock_mhz = 0;
  double bytes_per_second = 0;  // of DRAM
  double l2_bytes = 0;
  std::map<std::string, double> flops{};  // per second, by number format
  double max_warps_per_sm = 64;

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

// How a kernel cuts its work, without its grid: with a shape it gives the grid again.
struct LaunchSketch {
  std::string algorithm{};     // the sequence of kernels, by digests of their names
  std::string kernel{};        // name of the main kernel, shortened
  std::int32_t tile_rows = 0;  // of the output; 0: not known
  std::int32_t tile_columns = 0;
  std::int32_t tile_depth = 0;  // of the reduction at a time; 0: not known
  std::int32_t split = 1;       // slices of the reduction
  std::int32_t occupancy = 1;   // blocks on an SM; 0: not known
  std::int32_t threads = 0;     // of a block
  std::int32_t kernels = 1;     // launched for one call

  friend auto operator<=>(const LaunchSketch&, const LaunchSketch&) = default;
};

inline constexpr std::size_t kWorkColumns = 8;

struct ValueRange {
  double least = 0;
  double most = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// Seconds per unit of each column of work (predict/kernels/kernel_features.h), for calls that one key covers.
struct KernelGroup {
  std::string key{};
  std::int64_t samples = 0;
  double error = 0;  // mean relative error within the group, cross-validated
  std::array<double, kWorkColumns> seconds{};
  // Where most samples wait for memory, those have a fit of their own; the two meet in a soft maximum.
  bool has_traffic = false;
  std::array<double, kWorkColumns> traffic_seconds{};
  ValueRange flops{};  // seen
  ValueRange bytes{};

  friend bool operator==(const KernelGroup&, const KernelGroup&) = default;
};

// What trees look at: numbers about a call and its launch (predict/kernels/kernel_features.h).
inline constexpr std::size_t kTreeFeatures = 32;

// Regression trees that are added up, all of one depth, each with every node: 2^depth - 1 nodes in the order
// of levels, 2^depth leaves. A value above the threshold goes right.
struct BoostedTrees {
  std::int32_t depth = 0;
  double offset = 0;
  std::vector<std::int32_t> features{};
  std::vector<float> thresholds{};
  std::vector<float> leaves{};

  friend bool operator==(const BoostedTrees&, const BoostedTrees&) = default;
};

// What the library launched for measured shapes of one operator, number format and variant.
struct DispatchEntry {
  KernelSizes sizes{};
  std::int32_t sketch = 0;  // in KernelModel::sketches
  std::int64_t blocks = 0;  // of the grid
  std::int64_t helper_threads = 0;
  double residual = 0;  // log of measured over fitted
  friend auto operator<=>(const DispatchEntry&, const DispatchEntry&) = default;
};

struct ErrorFigures {
  std::int64_t samples = 0;
  double mean = 0;  // of |predicted / measured - 1|
  double median = 0;
  double p90 = 0;
  double bias = 0;  // mean of log(predicted / measured)
  double within_10_percent = 0;
  friend bool operator==(const ErrorFigures&, const ErrorFigures&) = default;
};

// How long the CPU needs to launch an iteration, in times of the probe's small training step (tools/collect/cpu_probe.py):
// so a machine needs to measure only that.
struct HostModel {
  double probe_microseconds = 0;  // the probe's step, where it was fitted
  double op_probes = 0;           // for each operator called
  double tensor_probes =
      0;  // for each tensor of parameters: its cast, its gradient, its part of the step
  friend bool operator==(const HostModel&, const HostModel&) = default;
};

// A measured call holds more than its kernels, and the more the later its row stands in its table
// (predict/kernels/overhead_drift.h): so many milliseconds in the first row, in the last, and in rows evenly between.
struct OverheadGrowth {
  std::int64_t last_row = 0;
  std::vector<double> milliseconds{};  // at least two, the first 0, never falling

  double last_milliseconds() const { return milliseconds.empty() ? 0 : milliseconds.back(); }
  friend bool operator==(const OverheadGrowth&, const OverheadGrowth&) = default;
};

struct KernelModel {
  DeviceSpec device{};
  std::map<std::string, std::string> versions{};       // of the libraries that were measured
  std::map<std::string, double> roofline_flops{};      // fitted, by number format
  double roofline_bytes_per_second = 0;                // fitted
  std::vector<KernelGroup> groups{};                   // by key
  std::map<std::string, BoostedTrees> known_launch{};  // corrections by "family/dtype/pass"
  std::map<std::string, BoostedTrees> predicted_launch{};
  std::map<std::string, BoostedTrees> by_shape{};  // of the roofline, without a launch
  std::vector<LaunchSketch> sketches{};
  std::map<std::string, std::vector<DispatchEntry>> dispatch{};  // by "family/op/dtype/variant"
  std::map<std::string, OverheadGrowth> drift{};  // by "family/op": not in what is predicted
  HostModel host{};
  std::map<std::string, ErrorFigures>
      errors{};  // of held-out shapes, by family; "gemm predicted": launch not known

  friend bool operator==(const KernelModel&, const KernelModel&) = default;
};

}  // namespace weir
