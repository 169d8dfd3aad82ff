// SPDX-License-Identifier: Apache-2.0
//
// Flow starts and ends per second of processor time, beside SimGrid with the same links, paths and
// flows in the same run. For each case both of SimGrid's ways (Lazy, Full) are measured and the
// better one counts. Before that, rates are compared after every re-fill of the first flows.
//
//   network_bench [quick]      quick: an eighth of the work
//
// SimGrid also models latency, TCP windows, cross traffic, processors and actors; all but the actors
// are off. weir's flow run has none of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "network_workload.h"

namespace weir::bench {
namespace {

constexpr unsigned kMostSeconds = 120;

struct Promise {
  double times = 0;              // as fast as the peer
  double events_per_second = 0;  // of processor time
};

double rate_of(const NetworkRun& run) {
  return static_cast<double>(run.events) / run.cpu_seconds;
}

// The largest relative difference between the rates of two runs at one time.
double rate_difference(const NetworkRun& ours, const NetworkRun& peer, std::size_t& compared) {
  double worst = 0;
  std::size_t at = 0;
  for (const NetworkRun::Interval& interval : peer.intervals) {
    // The peer's rates are differences of what is left: too short an interval has no digits.
    if (interval.to - interval.from < 1e-6) continue;
    const double middle = (interval.from + interval.to) / 2;
    while (at < ours.intervals.size() && ours.intervals[at].to < middle) ++at;
    if (at == ours.intervals.size()) break;
    ++compared;
    for (std::size_t slot = 0; slot < interval.rates.size(); ++slot) {
      const double own = ours.intervals[at].rates[slot];
      worst = std::max(worst, std::abs(own - interval.rates[slot]) / own);
    }
  }
  return worst;
}

bool compare_rates(std::uint32_t flows) {
  const NetworkWorkload workload = unsynchronised(16, 16, flows, std::min(flows * 2U, 2048U));
  const NetworkRun ours = play(workload, true);
  NetworkRun peer;
  if (!play_on_peer(workload, "Full", true, kMostSeconds, peer)) return false;
  std::size_t compared = 0;
  const double worst = rate_difference(ours, peer, compared);
  const bool is_equal = worst < 1e-6 && compared + 10 > peer.intervals.size() * 9 / 10;
  fmt::print("rates of {} flows after {} re-fills: largest difference {:.1e}{}\n", flows, compared,
             worst, is_equal ? "" : "   NOT EQUAL");
  return is_equal;
}

bool measure(const NetworkWorkload& workload, std::string_view name, const Promise& promise) {
  NetworkRun ours = play(workload, false);
  // Short runs: the best of three, as noise only adds.
  for (int i = 0; i < 2 && ours.cpu_seconds < 2; ++i) {
    const NetworkRun again = play(workload, false);
    if (again.cpu_seconds < ours.cpu_seconds) ours = again;
  }
  fmt::print("{:<44} weir {:>11.0f} /s", name, rate_of(ours));
  bool is_kept = true;
  if (has_peer()) {
    double best = 0;
    double difference = 0;
    for (const char* way : {"Lazy", "Full"}) {
      NetworkRun peer;
      if (!play_on_peer(workload, way, false, kMostSeconds, peer)) {
        fmt::print("  {} > {} s", way, kMostSeconds);
        continue;
      }
      best = std::max(best, rate_of(peer));
      difference = std::max(difference, std::abs(peer.end_time - ours.end_time) / ours.end_time);
      fmt::print("  {} {:>8.0f} /s", way, rate_of(peer));
    }
    const bool is_stepped = !workload.steps.empty();
    is_kept = best == 0 || rate_of(ours) >= promise.times * best;
    if (best > 0) {
      fmt::print("  {:.1f}x (promised {:.0f}x)  end times differ by {:.0e}", rate_of(ours) / best,
                 promise.times, difference);
      if (is_stepped && difference > 1e-6) is_kept = false;
    }
  }
  if (!is_kept) fmt::print("   BROKEN");
  if (rate_of(ours) < promise.events_per_second)
    fmt::print("   below {:.0f} /s", promise.events_per_second);
  fmt::print("\n");
  return is_kept;
}

int run_all(bool is_quick) {
  const std::uint64_t part = is_quick ? 8 : 1;
  if (!has_peer()) fmt::print("built without SimGrid (tools/fetch_simgrid.sh): weir alone\n");
  bool is_kept = true;
  if (has_peer()) {
    for (const std::uint32_t flows : {64U, 512U, 1024U, 4096U}) is_kept &= compare_rates(flows);
  }
  const auto flows = [&](std::uint32_t count, std::uint64_t ends, const Promise& promise) {
    is_kept &= measure(unsynchronised(16, 16, count, std::max<std::uint64_t>(ends / part, count)),
                       fmt::format("16x16, {} flows unsynchronised", count), promise);
  };
  flows(64, 200'000, {6, 1.5e6});
  flows(512, 40'000, {15, 200e3});
  flows(1024, 20'000, {10, 35e3});
  flows(4096, 8'000, {3, 5e3});
  const Promise steps{6, 4e6};
  is_kept &= measure(stepped(SteppedKind::ring_in_order, 16, 16),
                     "ring of 256 in steps, leaf order", steps);
  is_kept &= measure(stepped(SteppedKind::ring_shuffled, 16, 16),
                     "ring of 256 in steps, random order", steps);
  is_kept &= measure(stepped(SteppedKind::all_to_all, 16, 16), "all-to-all of 256 in steps", steps);
  is_kept &=
      measure(stepped(SteppedKind::all_to_all_at_once, 8, 8), "all-to-all of 64 at once", {6, 1e6});
  if (!is_quick) {
    const NetworkRun large = play(stepped(SteppedKind::all_to_all_at_once, 16, 16), false);
    fmt::print("{:<44} weir {:>11.0f} /s  ({:.2f} s)\n", "all-to-all of 256 at once",
               rate_of(large), large.cpu_seconds);
  }
  const NetworkWorkload crowded = crowded_paths(20'000 / part);
  const NetworkRun plain = play(crowded, false);
  const NetworkRun classed = play_classed(crowded);
  fmt::print("{:<44} weir {:>11.0f} /s  one flow per path {:.0f} /s  end times differ by {:.0e}\n",
             "2,048 flows on 240 paths", rate_of(plain), rate_of(classed),
             std::abs(classed.end_time - plain.end_time) / plain.end_time);
  is_kept &=
      measure(isolated_jobs(24'000 / part), "8,192 GPUs, isolated jobs of 8 to 256", {40, 300e3});
  return is_kept ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  const bool is_quick = count > 1 && std::string_view{arguments[1]} == "quick";
  return weir::bench::run_all(is_quick);
}
