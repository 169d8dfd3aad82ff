// SPDX-License-Identifier: Apache-2.0
//
// How fast a kernel computes beside a collective that holds c SMs and moves some GB/s: a rate in (0, 1],
// where 1 is alone.
//
// Where the kernel's kind was measured beside a collective, a ContentionCurve says it. Elsewhere:
//
//   rate   = min(SM part, memory part) * (1 - residual)
//   SM     = waves(all SMs) / waves(SMs - c),   waves = blocks / (blocks per SM * SMs), whole ones where
//                                               the kernel alone has up to 8
//   memory = (memory_gbps - q * wire GB/s) / demand,   demand: GB/s of the kernel alone
//
// The SM part has steps: a kernel that fills all SMs once takes twice as long as soon as one is missing.
// So rates belong to single kernels; a mean over many hides the steps. Source: docs/models/overlap.md.
//
// The blocks of a cluster run together, on SMs of one part of the GPU, so what a few held SMs cost depends on which they
// are, and that on who was there first. Where clusters have no place left, the kernel stands still until the collective
// is over. Only curves know of clusters.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace weir::predict {

enum class CollectivePlace {
  spread,  // it was there before the kernel: SMs of all parts of the GPU
  between,  // it came while clusters ran: SMs that no cluster uses, then those of whole clusters, as they end
};

// A kernel of the computation.
struct OverlapKernel {
  double ms = 0;           // alone
  std::string curve{};     // the measured curve it follows; empty: the formula
  int blocks = 0;          // 0: unknown, then the SM part is that of very many blocks
  int blocks_per_sm = 1;   // that fit on an SM at once
  int cluster = 1;         // blocks that run together
  double memory_gbps = 0;  // that it moves alone
};

struct ContendedGpu {
  int sms = 132;
  double memory_gbps = 4800;
  double residual = 0.02;  // what is lost beside SMs and memory
  double memory_per_wire_byte =
      2.5;  // what a ring all-reduce moves in memory for a byte on the wire
};

// A collective may hold this many SMs at most.
inline constexpr int most_ctas(const ContendedGpu& gpu) {
  return gpu.sms / 2;
}

// What a kernel's time grows to when only `left` of `sms` SMs are free, by its waves.
double wave_growth(int blocks, int blocks_per_sm, int sms, int left);

// The formula. Requires: 0 <= ctas <= most_ctas(gpu).
double modelled_rate(const ContendedGpu& gpu, const OverlapKernel& kernel, int ctas, double gbps);
// What is left for the collective of its speed alone, by the same formula; in (0, 1].
double modelled_collective_share(const ContendedGpu& gpu, const OverlapKernel& kernel, double rate,
                                 double gbps);

// The rate of a kernel that stands still: above 0, and far too little to get anywhere.
inline constexpr double kStandstill = 1e-6;

struct MeasuredRate {
  int ctas = 0;
  double target_gbps = 0;  // below 0: holds SMs only; 0: as fast as it can
  double gbps = 0;         // that it moved
  double rate = 0;
  CollectivePlace place = CollectivePlace::spread;
};

// Rates of one kind of kernel, interpolated: linear in GB/s and in the logarithm of CTAs, constant outside what was
// measured. Measurements that rise with either are smoothed by the mean of the monotone curves above and below. A kernel
// that was hardly seen to move stands still.
class ContentionCurve {
 public:
  // Requires: at least one row, ctas >= 1.
  explicit ContentionCurve(const std::vector<MeasuredRate>& rows);

  // 1 for no CTAs; never rises with ctas or gbps. A place that was not measured is as the other.
  double rate(int ctas, double gbps, CollectivePlace place = CollectivePlace::spread) const;
  // Both were measured.
  bool knows_places() const { return !spread_.empty() && !between_.empty(); }
  // The most that was measured.
  int most_ctas() const { return most_ctas_; }

 private:
  struct AtCtas {
    int ctas = 0;
    std::vector<double> gbps;  // ascending
    std::vector<double> rates;
  };
  using Columns = std::vector<AtCtas>;  // ctas ascending
  static Columns columns_of(const std::vector<MeasuredRate>& rows, CollectivePlace place);

  Columns spread_;
  Columns between_;
  int most_ctas_ = 0;
};

using ContentionCurves = std::map<std::string, ContentionCurve, std::less<>>;

// Its rate depends on who was there first: its blocks are in clusters, and its curve knows both.
bool needs_places(const ContentionCurves& curves, const OverlapKernel& kernel);

// By its curve where there is one, otherwise by the formula. Beside more CTAs than were measured, what is less of the two:
// more SMs are taken, and the curve does not know what they were worth.
double contended_rate(const ContendedGpu& gpu, const ContentionCurves& curves,
                      const OverlapKernel& kernel, int ctas, double gbps,
                      CollectivePlace place = CollectivePlace::spread);

}  // namespace weir::predict
