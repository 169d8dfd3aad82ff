// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/fair_shares.h"

#include <algorithm>

#include "domain/work.h"

namespace weir::schedule {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 40;  // milliseconds
// Ratios have this many binary digits after the point. At the largest nobody gets a millionth.
constexpr int kRatioDigits = 20;
constexpr std::int64_t kLargestRatio = std::int64_t{1} << 62;

struct Scaled {
  std::int64_t age;
  std::int64_t left;
  std::int64_t ideal;
  std::int64_t gpus;
};

std::int64_t clamped_milliseconds(Duration time) {
  return std::clamp<std::int64_t>(time / std::chrono::milliseconds{1}, 0, kLongest);
}

Scaled scaled(const FairJob& job) {
  Scaled made{clamped_milliseconds(job.age), clamped_milliseconds(job.left),
              clamped_milliseconds(job.ideal), job.gpus};
  made.ideal = std::max({made.ideal, (made.age + made.left) / kWholeTime, std::int64_t{1}});
  return made;
}

// What the job needs so that its ratio is no larger; all the time where even that is too little.
std::int64_t share_at(std::int64_t ratio, const Scaled& job) {
  const WideInteger finish = (static_cast<WideInteger>(job.ideal) * ratio) >> kRatioDigits;
  const WideInteger from_now = finish - job.age;
  if (from_now <= job.left) return kWholeTime;
  constexpr WideInteger kFarAway = kLargestRatio;
  return job.left * kWholeTime / static_cast<std::int64_t>(std::min(from_now, kFarAway));
}

bool fits(std::span<const Scaled> jobs, std::int64_t ratio, std::int64_t gpus) {
  std::int64_t room = gpus * kWholeTime;
  for (const Scaled& job : jobs) {
    room -= share_at(ratio, job) * job.gpus;
    if (room < 0) return false;
  }
  return true;
}

std::int64_t least_ratio(std::span<const Scaled> jobs, std::int64_t gpus) {
  std::int64_t fitting = 1;
  while (fitting < kLargestRatio && !fits(jobs, fitting, gpus)) fitting *= 2;
  std::int64_t too_small = fitting / 2;
  while (fitting - too_small > 1) {
    const std::int64_t middle = too_small + (fitting - too_small) / 2;
    (fits(jobs, middle, gpus) ? fitting : too_small) = middle;
  }
  return fitting;
}

}  // namespace

std::vector<std::int64_t> fair_shares(std::span<const FairJob> jobs, std::int64_t gpus) {
  std::vector<Scaled> all;
  all.reserve(jobs.size());
  std::int64_t wanted = 0;
  for (const FairJob& job : jobs) {
    all.push_back(scaled(job));
    wanted += job.gpus;
  }
  if (wanted <= gpus) return std::vector<std::int64_t>(jobs.size(), kWholeTime);
  const std::int64_t ratio = least_ratio(all, gpus);
  std::vector<std::int64_t> shares;
  shares.reserve(jobs.size());
  for (const Scaled& job : all) shares.push_back(share_at(ratio, job));
  return shares;
}

}  // namespace weir::schedule
