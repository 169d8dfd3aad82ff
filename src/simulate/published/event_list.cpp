// SPDX-License-Identifier: Apache-2.0
#include "simulate/published/event_list.h"

#include <algorithm>
#include <utility>

namespace weir::simulate::published {

EventList::EventList(const std::vector<PublishedJob>& jobs) {
  for (JobIndex job = 0; job < jobs.size(); ++job) {
    if (moments_.empty() || moments_.back().time != jobs[job].submitted)
      moments_.push_back({jobs[job].submitted, {}, {}});
    moments_.back().come.push_back(job);
  }
}

Moment* EventList::at(Seconds time) {
  const auto found = std::find_if(moments_.begin(), moments_.end(),
                                  [&](const Moment& moment) { return moment.time == time; });
  return found == moments_.end() ? nullptr : &*found;
}

Moment EventList::take_first() {
  Moment first = std::move(moments_.front());
  moments_.erase(moments_.begin());
  return first;
}

Moment EventList::take(Seconds time) {
  const auto found = std::find_if(moments_.begin(), moments_.end(),
                                  [&](const Moment& moment) { return moment.time == time; });
  if (found == moments_.end()) return {time, {}, {}};
  Moment taken = std::move(*found);
  moments_.erase(found);
  return taken;
}

void EventList::add(Seconds time) {
  if (at(time) == nullptr) moments_.push_back({time, {}, {}});
}

void EventList::add_end(JobIndex job, Seconds time) {
  Moment* moment = at(time);
  if (moment == nullptr) moment = &moments_.emplace_back(Moment{time, {}, {}});
  if (std::find(moment->end.begin(), moment->end.end(), job) == moment->end.end())
    moment->end.push_back(job);
}

void EventList::move_end(JobIndex job, Seconds from, Seconds to) {
  if (from == to) return;
  if (Moment* moment = at(from)) {
    std::erase(moment->end, job);
    if (moment->end.empty() && moment->come.empty())
      moments_.erase(moments_.begin() + (moment - moments_.data()));
  }
  add_end(job, to);
}

void EventList::sort() {
  std::stable_sort(moments_.begin(), moments_.end(),
                   [](const Moment& a, const Moment& b) { return a.time < b.time; });
}

void EventList::coalesce(Seconds now, Seconds slot) {
  sort();
  if (moments_.empty()) return;
  Seconds next = moments_[0].time;
  while (next - now <= slot && moments_.size() > 1) {
    moments_[0].time = now + slot;
    if (moments_[1].time - now > slot) break;
    next = moments_[1].time;
    const auto append = [](std::vector<JobIndex>& to, const std::vector<JobIndex>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(moments_[0].come, moments_[1].come);
    append(moments_[0].end, moments_[1].end);
    moments_.erase(moments_.begin() + 1);
  }
}

}  // namespace weir::simulate::published
