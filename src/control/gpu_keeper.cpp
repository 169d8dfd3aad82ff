// SPDX-License-Identifier: Apache-2.0
#include "control/gpu_keeper.h"

#include <utility>

#include "domain/power_table.h"

namespace weir::control {

GpuKeeper::GpuKeeper(GpuControl& gpus, Listener listener, Clock clock)
    : gpus_{gpus}, listener_{std::move(listener)}, clock_{std::move(clock)} {}

void GpuKeeper::hold(JobId job, std::uint32_t generation, std::vector<GpuAddress> gpus) {
  worker_.post([this, job, generation, gpus = std::move(gpus)]() mutable {
    Held& held = held_[job];
    if (generation < held.generation) return;
    end(held);
    held.generation = generation;
    begin(held, std::move(gpus));
    tell(job, held);
  });
}

void GpuKeeper::set_clock(JobId job, std::int32_t permille) {
  worker_.post([this, job, permille] {
    const auto at = held_.find(job);
    if (at == held_.end() || at->second.gpus.empty()) return;
    Held& held = at->second;
    if (permille == kFullClock && !held.is_limited && held.clock_problem.empty()) return;
    held.clock_problem.clear();
    for (const GpuAddress& gpu : held.gpus) {
      std::string problem = gpus_.set_clock(gpu, permille);
      if (held.clock_problem.empty()) held.clock_problem = std::move(problem);
    }
    held.is_limited = held.clock_problem.empty() && permille != kFullClock;
    held.since = clock_();
    held.joules_since = used(held).value_or(0);
    tell(job, held);
  });
}

void GpuKeeper::read(JobId job) {
  worker_.post([this, job] {
    const auto at = held_.find(job);
    if (at != held_.end() && !at->second.gpus.empty()) tell(job, at->second);
  });
}

void GpuKeeper::release(JobId job) {
  worker_.post([this, job] {
    const auto at = held_.find(job);
    if (at == held_.end()) return;
    end(at->second);
    held_.erase(at);
  });
}

void GpuKeeper::begin(Held& held, std::vector<GpuAddress> gpus) {
  held.gpus = std::move(gpus);
  held.began.clear();
  held.since = clock_();
  held.joules_since = 0;
  held.clock_problem.clear();
  for (const GpuAddress& gpu : held.gpus) {
    const auto joules = gpus_.joules(gpu);
    if (!joules) {
      held.began.clear();
      return;
    }
    held.began.push_back(*joules);
  }
}

void GpuKeeper::end(Held& held) {
  if (const auto joules = used(held)) {
    held.before += *joules;
    held.has_counted = true;
  }
  if (held.is_limited) {
    for (const GpuAddress& gpu : held.gpus) gpus_.set_clock(gpu, kFullClock);
  }
  held.is_limited = false;
  held.gpus.clear();
  held.began.clear();
}

// A driver that was started anew counts from nothing: then nobody knows.
std::optional<double> GpuKeeper::used(const Held& held) {
  if (held.began.empty()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < held.gpus.size(); ++i) {
    const auto joules = gpus_.joules(held.gpus[i]);
    if (!joules || *joules < held.began[i]) return std::nullopt;
    sum += *joules - held.began[i];
  }
  return sum;
}

void GpuKeeper::tell(JobId job, const Held& held) {
  GpuNews news;
  news.job = job;
  news.generation = held.generation;
  news.clock_problem = held.clock_problem;
  const auto joules = used(held);
  if (joules || held.has_counted) news.joules = held.before + joules.value_or(0);
  if (joules) {
    news.over = clock_() - held.since;
    if (news.over > Duration{0}) news.watts = (*joules - held.joules_since) / to_seconds(news.over);
  }
  listener_(news);
}

}  // namespace weir::control
