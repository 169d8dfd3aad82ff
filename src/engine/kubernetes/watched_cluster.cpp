// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/watched_cluster.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <unordered_map>

#include "engine/kubernetes/look_at_cluster.h"
#include "formats/time_text.h"
#include "observe/kubernetes/observed_values.h"
#include "observe/kubernetes/pending.h"

namespace weir::engine::kubernetes {
namespace {

using observe::ClusterObjects;
using NodePointer = std::shared_ptr<const observe::Node>;
using PodPointer = std::shared_ptr<const observe::Pod>;

// What the pod belongs to, as far as its own labels and owner tell.
std::string workload_text(const observe::Pod& pod) {
  for (const std::string_view label : {observe::kCoschedulingGroup, observe::kKueueGroup}) {
    if (const std::string* group = pod.meta.labels.find(label))
      return fmt::format("PodGroup {}/{}", pod.meta.ns, *group);
  }
  if (const std::string* group = pod.meta.annotations.find(observe::kVolcanoGroup))
    return fmt::format("PodGroup {}/{}", pod.meta.ns, *group);
  if (!pod.meta.owner) return {};
  return fmt::format("{} {}/{}", pod.meta.owner->kind, pod.meta.ns, pod.meta.owner->name);
}

template <class Object>
std::shared_ptr<const Object> as(const AnyObject& object) {
  const auto* held = std::get_if<std::shared_ptr<const Object>>(&object);
  return held == nullptr ? nullptr : *held;
}

class LiveCluster final : public WatchedCluster {
 public:
  LiveCluster(WatchedClusterOptions options, std::string version, ClusterLooker looker)
      : options_{std::move(options)},
        version_{std::move(version)},
        looker_{std::move(looker)},
        cache_{options_.server, settings_of(options_)} {
    cache_.on_change([this](const ObjectChange& change) { note(change); });
  }
  ~LiveCluster() override { stop(); }

  void start(std::function<void()> wake) override {
    {
      const std::lock_guard lock{mutex_};
      wake_ = std::move(wake);
    }
    cache_.start();
    thread_ = std::thread{[this] { look_again_and_again(); }};
  }

  void stop() override {
    {
      const std::lock_guard lock{mutex_};
      if (is_stopping_) return;
      is_stopping_ = true;
      stopped_.notify_all();
    }
    cache_.stop();
    if (thread_.joinable()) thread_.join();
    const std::lock_guard lock{mutex_};
    wake_ = {};
  }

  std::optional<ObservedChanges> take_changes(bool everything) override {
    if (!cache_.wait_until_synced(std::chrono::milliseconds{0})) return std::nullopt;
    ObservedChanges changes;
    changes.is_all = everything;
    if (everything) {
      {
        const std::lock_guard lock{mutex_};
        changed_nodes_.clear();
        changed_pods_.clear();
      }
      const ClusterObjects all = cache_.snapshot();
      for (const auto& [name, node] : all.nodes) add_node(node, changes);
      for (const auto& [name, pod] : all.pods) add_pod(pod, changes);
      return changes;
    }
    std::unordered_map<std::string, NodePointer> nodes;
    std::unordered_map<std::string, PodPointer> pods;
    {
      const std::lock_guard lock{mutex_};
      nodes.swap(changed_nodes_);
      pods.swap(changed_pods_);
    }
    for (const auto& [name, node] : nodes) {
      node == nullptr ? changes.nodes_gone.push_back(name) : add_node(node, changes);
    }
    for (const auto& [uid, pod] : pods) {
      pod == nullptr ? changes.tasks_gone.push_back(uid) : add_pod(pod, changes);
    }
    return changes;
  }

  std::optional<ClusterInsight> take_insight() override {
    const std::lock_guard lock{mutex_};
    return std::exchange(insight_, std::nullopt);
  }

  std::string trouble() const override { return trouble_of(cache_.sources()); }
  std::string describe() const override {
    return fmt::format("observes Kubernetes {}{}", version_.empty() ? "" : version_ + " ",
                       "at " + options_.server.url);
  }
  CacheFigures figures() const override { return cache_.figures(); }
  std::vector<SourceStatus> sources() const override { return cache_.sources(); }

 private:
  static ClusterCacheSettings settings_of(const WatchedClusterOptions& options) {
    ClusterCacheSettings settings;
    settings.client.user_agent = options.user_agent;
    settings.seed = static_cast<std::uint64_t>(system_now().time_since_epoch().count());
    settings.log = options.log;
    return settings;
  }

  // On a thread that watches: quick.
  void note(const ObjectChange& change) {
    std::function<void()> wake;
    {
      const std::lock_guard lock{mutex_};
      if (change.kind == ResourceKind::nodes) {
        changed_nodes_[change.key] = as<observe::Node>(change.after);
      } else if (change.kind == ResourceKind::pods) {
        const PodPointer before = as<observe::Pod>(change.before);
        const PodPointer after = as<observe::Pod>(change.after);
        if (after != nullptr) {
          changed_pods_[after->meta.uid] = after;
        } else if (before != nullptr) {
          changed_pods_[before->meta.uid] = nullptr;
        }
        looker_.learn(before, after);
      } else {
        return;  // it changes explanations only, which are made anew all the time
      }
      wake = wake_;
    }
    if (wake) wake();
  }

  void add_node(const NodePointer& node, ObservedChanges& changes) {
    share_units_ = std::max(share_units_, observe::share_units_of(*node));
    changes.nodes.push_back(observe::observed_node(*node));
  }
  void add_pod(const PodPointer& pod, ObservedChanges& changes) const {
    changes.tasks.push_back(observe::observed_task(*pod, workload_text(*pod), share_units_));
  }

  void look_again_and_again() {
    Duration pause{0};
    while (true) {
      {
        std::unique_lock lock{mutex_};
        if (stopped_.wait_for(lock, pause, [&] { return is_stopping_; })) break;
      }
      pause = std::chrono::milliseconds{100};
      if (!cache_.wait_until_synced(std::chrono::milliseconds{0})) continue;
      const auto begun = std::chrono::steady_clock::now();
      look();
      pause =
          std::max<Duration>(options_.look_every, 4 * (std::chrono::steady_clock::now() - begun));
    }
    keep_what_was_learnt();
  }

  void look() {
    ClusterObjects objects = cache_.snapshot();
    objects.at = system_now();
    const std::vector<SourceStatus> sources = cache_.sources();
    ClusterLook made;
    // Watching comes before explaining. A thread of its own, since nobody gets back from being nice, and whoever holds the
    // cache's lock must not be.
    std::thread{[&] {
      constexpr int kNice = 10;
      (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
      made = looker_.look(objects, sources, version_);
    }}.join();
    std::function<void()> wake;
    {
      const std::lock_guard lock{mutex_};
      insight_ = std::move(made.insight);
      wake = wake_;
    }
    if (wake) wake();
    if (objects.at < keep_at_) return;
    keep_at_ = objects.at + std::chrono::minutes{1};
    keep_what_was_learnt();
  }

  void keep_what_was_learnt() {
    if (options_.learned.empty()) return;
    if (auto kept = looker_.save(options_.learned); !kept && options_.log)
      options_.log(to_string(kept.error().details));
  }

  WatchedClusterOptions options_;
  std::string version_;
  ClusterLooker looker_;
  Time keep_at_{};
  std::int64_t share_units_ = 0;  // of the thread that takes changes

  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  std::function<void()> wake_;
  std::unordered_map<std::string, NodePointer> changed_nodes_;  // by name; null: gone
  std::unordered_map<std::string, PodPointer> changed_pods_;    // by uid; null: gone
  std::optional<ClusterInsight> insight_;
  bool is_stopping_ = false;

  ClusterCache cache_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<WatchedCluster>> WatchedCluster::make(WatchedClusterOptions options) {
  ClusterLooker looker{options.observe};
  if (!options.learned.empty()) {
    if (auto read = looker.load(options.learned); !read)
      return tl::unexpected<Error>(std::move(read.error()));
  }
  std::string version = server_version(options.server, options.user_agent);
  return std::make_unique<LiveCluster>(std::move(options), std::move(version), std::move(looker));
}

std::string trouble_of(const std::vector<SourceStatus>& sources) {
  std::string trouble;
  for (const SourceStatus& source : sources) {
    const bool is_old = source.state == SourceState::retrying ||
                        (source.state == SourceState::listing && source.is_known);
    if (!is_old && source.state != SourceState::forbidden) continue;
    if (!trouble.empty()) trouble += "; ";
    const std::string_view name = info_of(source.kind).name;
    if (source.state == SourceState::forbidden) {
      trouble += fmt::format("{} cannot be read: {}", name, source.detail);
    } else {
      trouble += fmt::format("{} as of {}{}{}", name, formats::format_time(source.since),
                             source.detail.empty() ? "" : ": ", source.detail);
    }
  }
  return trouble;
}

std::string server_version(ApiServer server, const std::string& user_agent) {
  ApiClientSettings settings;
  settings.user_agent = user_agent;
  settings.answer_time = std::chrono::seconds{5};
  const auto reply = ApiClient{std::move(server), std::move(settings)}.get("/version");
  if (!reply || !reply->succeeded()) return {};
  const auto json = nlohmann::json::parse(reply->body, nullptr, false);
  if (!json.is_object() || !json.contains("gitVersion") || !json["gitVersion"].is_string())
    return {};
  return json["gitVersion"].get<std::string>();
}

}  // namespace weir::engine::kubernetes
