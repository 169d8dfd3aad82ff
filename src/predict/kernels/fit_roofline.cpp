// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/fit_roofline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "predict/kernels/kernel_work.h"

namespace weir::predict {
namespace {

constexpr std::size_t kEnoughRows = 3000;  // taken evenly
constexpr int kRooflinePasses = 4;

struct RooflineRow {
  double flops;
  double bytes;
  double seconds;
};

bool has_arithmetic(KernelFamily family) {
  return family == KernelFamily::gemm || family == KernelFamily::conv ||
         family == KernelFamily::attention;
}

double roofline_error(const std::vector<RooflineRow>& rows, double flops, double bytes) {
  double sum = 0;
  for (const RooflineRow& row : rows)
    sum += std::abs(std::max(row.flops / flops, row.bytes / bytes) / row.seconds - 1);
  return sum;
}

// The value on a finer and finer scale between both that errs least.
template <class Error>
double least_between(double low, double high, const Error& error) {
  double best = low;
  for (int pass = 0; pass < kRooflinePasses; ++pass) {
    constexpr int kSteps = 12;
    const double factor = std::pow(high / low, 1.0 / kSteps);
    double least = INFINITY;
    double value = low;
    for (int step = 0; step <= kSteps; ++step, value *= factor) {
      const double here = error(value);
      if (here < least) {
        least = here;
        best = value;
      }
    }
    low = best / factor;
    high = best * factor;
  }
  return best;
}

std::vector<RooflineRow> evenly(const std::vector<RooflineRow>& rows) {
  if (rows.size() <= kEnoughRows) return rows;
  std::vector<RooflineRow> some;
  for (std::size_t i = 0; i < kEnoughRows; ++i) some.push_back(rows[i * rows.size() / kEnoughRows]);
  return some;
}

}  // namespace

void fit_roofline(std::span<const KernelSample* const> samples, KernelModel& model) {
  std::map<std::string, std::vector<RooflineRow>> by_format;
  std::vector<RooflineRow> streaming;
  for (const KernelSample* sample : samples) {
    const KernelWork work = kernel_work(sample->call);
    const RooflineRow row{work.flops, work.bytes, sample->milliseconds * 1e-3};
    if (has_arithmetic(sample->call.family))
      by_format[sample->call.dtype].push_back(row);
    else
      streaming.push_back({0, row.bytes, row.seconds});
  }
  if (streaming.empty() && by_format.empty()) return;
  // Without kernels that only stream, all tell how fast memory is.
  std::vector<RooflineRow> memory = evenly(streaming);
  if (memory.empty()) memory = evenly(by_format.begin()->second);
  double most = 0;
  for (const RooflineRow& row : memory) most = std::max(most, row.bytes / row.seconds);
  if (!(most > 0)) return;
  double bytes = streaming.empty() ? most : least_between(most / 100, most, [&](double value) {
    return roofline_error(memory, 1e30, value);
  });
  for (const auto& [format, all] : by_format) {
    const std::vector<RooflineRow> rows = evenly(all);
    double fastest = 0;
    for (const RooflineRow& row : rows) fastest = std::max(fastest, row.flops / row.seconds);
    if (!(fastest > 0)) continue;
    double flops = fastest;
    for (int pass = 0; pass < 2; ++pass) {
      flops = least_between(fastest / 100, fastest,
                            [&](double value) { return roofline_error(rows, value, bytes); });
      if (streaming.empty())
        bytes = least_between(most / 100, most,
                              [&](double value) { return roofline_error(rows, flops, value); });
    }
    model.roofline_flops[format] = flops;
  }
  model.roofline_bytes_per_second = bytes;
}

}  // namespace weir::predict
