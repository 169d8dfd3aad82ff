// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/durations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numeric>

#include "observe/kubernetes/cluster_model.h"

namespace weir::observe {
namespace {

using SortedJson = nlohmann::json;

constexpr std::string_view kAll = "all";

// "bert-0017-x7k2p" and "bert-0018-q9" are runs of the same thing: what follows the first digit is left out.
std::string stem(std::string_view name) {
  const auto digit =
      std::ranges::find_if(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  std::string_view kept = name.substr(0, static_cast<std::size_t>(digit - name.begin()));
  while (!kept.empty() && (kept.back() == '-' || kept.back() == '.')) kept.remove_suffix(1);
  return std::string{kept};
}

std::string size_text(const Pod& pod) {
  std::string text;
  for (const auto& [name, quantity] : pod.requests) {
    if (is_gpu(name)) text += name + "=" + to_string(quantity) + ";";
  }
  return text.empty() ? "no gpu" : text;
}

SortedJson resources_to_json(const Resources& resources) {
  SortedJson all = SortedJson::object();
  for (const auto& [name, quantity] : resources) all[name] = to_string(quantity);
  return all;
}

SortedJson arrival_to_json(const Pod& pod) {
  SortedJson labels = SortedJson::object();
  for (const auto& [key, value] : pod.node_selector) labels[key] = value;
  return {{"namespace", pod.meta.ns},
          {"name", pod.meta.name},
          {"created", pod.meta.created.time_since_epoch().count()},
          {"priority", pod.priority},
          {"node_selector", labels},
          {"requests", resources_to_json(pod.requests)}};
}

PodPointer arrival_from_json(const SortedJson& entry) {
  auto pod = std::make_shared<Pod>();
  pod->meta.ns = entry.at("namespace").get<std::string>();
  pod->meta.name = entry.at("name").get<std::string>();
  pod->meta.created = Time{Duration{entry.at("created").get<std::int64_t>()}};
  pod->priority = entry.at("priority").get<std::int32_t>();
  for (const auto& [key, value] : entry.at("node_selector").items())
    pod->node_selector.set(key, value.get<std::string>());
  for (const auto& [name, text] : entry.at("requests").items()) {
    if (const auto quantity = read_quantity(text.get<std::string>()))
      pod->requests.set(name, *quantity);
  }
  return pod;
}

}  // namespace

std::vector<std::string> LearnedDurations::likenesses(const Pod& pod) {
  const auto& owner = pod.meta.owner ? pod.meta.owner->name : pod.meta.name;
  const auto gpus = size_text(pod);
  std::vector<std::string> kinds;
  kinds.push_back(fmt::format("name {}/{} {}", pod.meta.ns, stem(owner), gpus));
  if (const auto* app = pod.meta.labels.find("app"))
    kinds.push_back(fmt::format("app {} {}", *app, gpus));
  kinds.push_back(fmt::format("namespace {} {}", pod.meta.ns, gpus));
  kinds.push_back(fmt::format("size {}", gpus));
  kinds.emplace_back(kAll);
  return kinds;
}

double LearnedDurations::seconds_run(const Pod& pod, Time now) {
  const auto from = pod.started ? pod.started : pod.scheduled;
  if (!from) return 0;
  return std::max(0.0, to_seconds(pod.ended.value_or(now) - *from));
}

void LearnedDurations::learn(const Pod& pod) {
  if (!pod.is_over() || !pod.ended || (!pod.started && !pod.scheduled)) return;
  const auto seconds = std::max(0.001, seconds_run(pod, *pod.ended));
  ++ended_pods_;
  for (auto& kind : likenesses(pod)) {
    auto& kept = kept_[std::move(kind)];
    kept.seconds.push_back(seconds);
    kept.last_learnt = ended_pods_;
    if (kept.seconds.size() > kKeptPerLikeness) kept.seconds.pop_front();
  }
  if (kept_.size() > kKeptLikenesses) forget_the_oldest();
}

// A tenth at a time, so that it happens seldom.
void LearnedDurations::forget_the_oldest() {
  std::vector<std::uint64_t> ages;
  for (const auto& [kind, kept] : kept_) ages.push_back(kept.last_learnt);
  std::ranges::nth_element(ages, ages.begin() + kKeptLikenesses / 10);
  const auto limit = ages[kKeptLikenesses / 10];
  std::erase_if(kept_, [&](const auto& entry) {
    return entry.second.last_learnt < limit && entry.first != kAll;
  });
}

void LearnedDurations::learn_arrival(const PodPointer& pod) {
  arrivals_.push_back(pod);
  if (arrivals_.size() > kKeptArrivals) arrivals_.pop_front();
}

const std::deque<double>* LearnedDurations::like(const Pod& pod, std::string* likeness) const {
  const std::deque<double>* found = nullptr;
  for (const auto& kind : likenesses(pod)) {
    const auto at = kept_.find(kind);
    if (at == kept_.end()) continue;
    found = &at->second.seconds;
    if (likeness != nullptr) *likeness = kind;
    if (found->size() >= kEnough) break;
  }
  return found;
}

double LearnedDurations::mean_seconds() const {
  const auto at = kept_.find(kAll);
  if (at == kept_.end()) return 0;
  const auto& all = at->second.seconds;
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

std::string LearnedDurations::to_json() const {
  SortedJson kinds = SortedJson::object();
  for (const auto& [kind, kept] : kept_)
    kinds[kind] = {{"seconds", kept.seconds}, {"last", kept.last_learnt}};
  SortedJson arrivals = SortedJson::array();
  for (const auto& pod : arrivals_) arrivals.push_back(arrival_to_json(*pod));
  return SortedJson{{"ended_pods", ended_pods_}, {"kinds", kinds}, {"arrivals", arrivals}}.dump(
      -1, ' ', false, SortedJson::error_handler_t::replace);
}

Result<LearnedDurations> LearnedDurations::from_json(std::string_view text,
                                                     const std::string& file) {
  LearnedDurations learned;
  try {
    const auto all = SortedJson::parse(text);
    learned.ended_pods_ = all.at("ended_pods").get<std::size_t>();
    for (const auto& [kind, entry] : all.at("kinds").items()) {
      auto& kept = learned.kept_[kind];
      kept.seconds = entry.at("seconds").get<std::deque<double>>();
      while (kept.seconds.size() > kKeptPerLikeness) kept.seconds.pop_front();
      kept.last_learnt = entry.at("last").get<std::uint64_t>();
    }
    for (const auto& entry : all.at("arrivals")) learned.learn_arrival(arrival_from_json(entry));
  } catch (const SortedJson::exception& error) {
    return bad_input(
        {file, 0, "", error.what(), "what weir wrote there, or no file: it learns anew"});
  }
  return learned;
}

DurationModel::DurationModel(const LearnedDurations& learned, const ClusterObjects& objects)
    : learned_{learned} {
  for (const auto& [name, pod] : objects.pods) {
    if (!pod->holds_resources() || (!pod->started && !pod->scheduled)) continue;
    std::string likeness;
    if (learned.like(*pod, &likeness) == nullptr) continue;
    const auto seconds = LearnedDurations::seconds_run(*pod, objects.at);
    for (auto& kind : LearnedDurations::likenesses(*pod))
      running_[std::move(kind)].push_back(seconds);
  }
  knows_anything_ = learned.ended_pods() > 0;
}

const Survival* DurationModel::of(const Pod& pod) {
  std::string likeness;
  const auto* seconds = learned_.like(pod, &likeness);
  auto& curve = curves_[likeness];
  if (!curve) {
    const auto running = running_.find(likeness);
    curve = std::make_unique<Survival>(
        seconds != nullptr ? std::vector<double>(seconds->begin(), seconds->end())
                           : std::vector<double>{},
        running != running_.end() ? running->second : std::vector<double>{});
  }
  return curve.get();
}

}  // namespace weir::observe
