// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/cluster_cache.h"

#include <malloc.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace weir::engine::kubernetes {
namespace {

using Objects = std::map<std::string, AnyObject, std::less<>>;
using SteadyClock = std::chrono::steady_clock;

bool is_same_version(const AnyObject& a, const AnyObject& b) {
  const observe::ObjectMeta* first = meta_of(a);
  const observe::ObjectMeta* second = meta_of(b);
  return first != nullptr && second != nullptr && first->uid == second->uid &&
         first->version == second->version;
}

bool is_other_object(const AnyObject& a, const AnyObject& b) {
  const observe::ObjectMeta* first = meta_of(a);
  const observe::ObjectMeta* second = meta_of(b);
  return first != nullptr && second != nullptr && first->uid != second->uid;
}

// What has not changed stays the same object, so that a list does not double the memory of what is there.
void keep_known(const Objects& old, Objects& fresh) {
  for (auto& [key, object] : fresh) {
    const auto at = old.find(key);
    if (at != old.end() && is_same_version(at->second, object)) object = at->second;
  }
}

template <class Object>
void copy_into(observe::ObjectMap<Object>& into, const Objects& from) {
  for (const auto& [key, object] : from) {
    if (const auto* one = std::get_if<std::shared_ptr<const Object>>(&object)) {
      into.emplace_hint(into.end(), key, *one);
    }
  }
}

}  // namespace

class ClusterCache::Impl {
 public:
  Impl(ApiServer server, ClusterCacheSettings settings)
      : server_{std::move(server)}, settings_{std::move(settings)} {
    if (!settings_.client.now) settings_.client.now = system_now;
    if (settings_.kinds.empty()) {
      for (const ResourceKindInfo& info : resource_kinds()) settings_.kinds.push_back(info.kind);
    }
    const SeededRng rng{settings_.seed};
    for (const ResourceKind kind : settings_.kinds) {
      watchers_.push_back(std::make_unique<Watcher>(*this, kind, rng.fork(info_of(kind).name)));
    }
  }
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start() {
    for (const auto& watcher : watchers_) watcher->start();
  }

  void stop() {
    {
      const std::lock_guard lock{mutex_};
      is_stopping_ = true;
    }
    changed_.notify_all();
    for (const auto& watcher : watchers_) watcher->join();
  }

  bool wait_until_synced(std::chrono::milliseconds at_most) const {
    std::unique_lock lock{mutex_};
    const auto is_synced = [&] {
      for (const auto& watcher : watchers_) {
        if (!watcher->status.is_known) return false;
      }
      return true;
    };
    return changed_.wait_for(lock, at_most, is_synced);
  }

  observe::ClusterObjects snapshot() const {
    observe::ClusterObjects all;
    const std::lock_guard lock{mutex_};
    all.at = settings_.client.now();
    for (const auto& watcher : watchers_) watcher->copy_to(all);
    return all;
  }

  std::vector<SourceStatus> sources() const {
    std::vector<SourceStatus> all;
    const std::lock_guard lock{mutex_};
    for (const auto& watcher : watchers_) {
      all.push_back(watcher->status);
      all.back().objects = watcher->objects.size();
    }
    return all;
  }

  CacheFigures figures() const {
    CacheFigures figures;
    {
      const std::lock_guard lock{mutex_};
      figures = figures_;
    }
    figures.requests = requests_.all();
    return figures;
  }

  std::function<void(const ObjectChange&)> callback;

 private:
  // One kind: its thread, its reflector and what it has found.
  class Watcher final : public ReflectorSink {
   public:
    Watcher(Impl& cache, ResourceKind kind, SeededRng rng)
        : cache_{cache}, kind_{kind}, reflector_{kind, cache.settings_.reflector, rng, *this} {
      status = reflector_.status();
    }

    void start() {
      thread_ = std::thread{[this] { run(); }};
    }
    void join() {
      if (thread_.joinable()) thread_.join();
    }

    void replace(std::vector<AnyObject> listed, Time) override {
      Objects fresh;
      for (AnyObject& object : listed) {
        if (const observe::ObjectMeta* meta = meta_of(object)) {
          fresh.insert_or_assign(meta->full_name(), std::move(object));
        }
      }
      const std::lock_guard order{cache_.order_};
      const std::vector<ObjectChange> changes = differences(objects, fresh);
      keep_known(objects, fresh);
      {
        const std::lock_guard lock{cache_.mutex_};
        objects.swap(fresh);
      }
      for (const ObjectChange& change : changes) cache_.tell(change);
      fresh.clear();
      ::malloc_trim(0);  // a list leaves as much free memory behind as it had JSON
    }

    void put(WatchEventType type, std::string key, AnyObject object, Time now) override {
      const std::lock_guard order{cache_.order_};
      ObjectChange change{kind_, std::move(key), {}, std::move(object)};
      {
        const std::lock_guard lock{cache_.mutex_};
        count(type, now);
        AnyObject& place = objects[change.key];
        if (is_same_version(place, change.after)) return;
        change.before = std::exchange(place, change.after);
      }
      tell_apart(std::move(change));
    }

    void erase(const std::string& key, Time now) override {
      const std::lock_guard order{cache_.order_};
      ObjectChange change{kind_, key, {}, {}};
      {
        const std::lock_guard lock{cache_.mutex_};
        count(WatchEventType::deleted, now);
        const auto at = objects.find(key);
        if (at == objects.end()) return;
        change.before = std::move(at->second);
        objects.erase(at);
      }
      cache_.tell(change);
    }

    void heard(WatchEventType type, Time now) override {
      const std::lock_guard lock{cache_.mutex_};
      count(type, now);
    }

    void report(const SourceStatus& news) override {
      {
        const std::lock_guard lock{cache_.mutex_};
        status = news;
      }
      cache_.changed_.notify_all();
    }

    void say(std::string line) override {
      const std::lock_guard order{cache_.order_};
      if (cache_.settings_.log) cache_.settings_.log(line);
    }

    void line_begins() override { line_begun_ = SteadyClock::now(); }
    void line_ends() override {
      const Duration took = SteadyClock::now() - line_begun_;
      const std::lock_guard lock{cache_.mutex_};
      cache_.figures_.apply.add(took);
      status = reflector_.status();
    }

    // Requires: the cache is locked.
    void copy_to(observe::ClusterObjects& all) const {
      switch (kind_) {
        case ResourceKind::nodes:
          return copy_into(all.nodes, objects);
        case ResourceKind::pods:
          return copy_into(all.pods, objects);
        case ResourceKind::jobs:
          return copy_into(all.jobs, objects);
        case ResourceKind::job_sets:
          return copy_into(all.job_sets, objects);
        case ResourceKind::pod_groups:
          return copy_into(all.pod_groups, objects);
        case ResourceKind::volcano_pod_groups:
          for (const auto& [key, object] : objects) {
            all.pod_groups.emplace(key, std::get<std::shared_ptr<const observe::Workload>>(object));
          }
          return;
        case ResourceKind::kueue_workloads:
          return copy_into(all.kueue_workloads, objects);
        case ResourceKind::quotas:
          return copy_into(all.quotas, objects);
        case ResourceKind::priority_classes:
          return copy_into(all.priority_classes, objects);
        case ResourceKind::namespaces:
          return copy_into(all.namespaces, objects);
        case ResourceKind::volume_claims:
          return copy_into(all.volume_claims, objects);
        case ResourceKind::volumes:
          return copy_into(all.volumes, objects);
        case ResourceKind::storage_classes:
          return copy_into(all.storage_classes, objects);
      }
    }

    // Both under the cache's lock.
    Objects objects;
    SourceStatus status;

   private:
    void run() {
      ApiClient client{cache_.server_, cache_.settings_.client, &cache_.requests_};
      const auto now = [&] { return cache_.settings_.client.now(); };
      while (!cache_.is_stopping()) {
        if (!cache_.settings_.watches && reflector_.status().is_known) return;
        const ReflectorStep step = reflector_.next(now());
        if (step.what == ReflectorStep::What::wait) {
          cache_.sleep(step.wait);
        } else if (step.what == ReflectorStep::What::get) {
          reflector_.on_reply(client.get(step.path), now());
        } else {
          const auto reply = client.stream(
              step.path, [&](std::string_view bytes) { return reflector_.on_bytes(bytes, now()); },
              [&] { return cache_.is_stopping(); }, [&] { reflector_.on_watch_begin(now()); });
          if (!cache_.is_stopping()) reflector_.on_watch_end(reply, now());
        }
      }
    }

    // Requires: the cache is locked.
    void count(WatchEventType type, Time now) {
      ++cache_.figures_.events[static_cast<std::size_t>(kind_)][static_cast<std::size_t>(type)];
      status.last_event = now;
    }

    // An object of the same name that is another one: the old goes, the new comes.
    void tell_apart(ObjectChange change) {
      if (is_other_object(change.before, change.after)) {
        cache_.tell({change.kind, change.key, change.before, {}});
        change.before = {};
      }
      cache_.tell(change);
    }

    // What goes, then what is new or another version.
    std::vector<ObjectChange> differences(const Objects& old, const Objects& fresh) const {
      std::vector<ObjectChange> changes;
      for (const auto& [key, object] : old) {
        const auto at = fresh.find(key);
        if (at == fresh.end() || is_other_object(object, at->second)) {
          changes.push_back({kind_, key, object, {}});
        }
      }
      for (const auto& [key, object] : fresh) {
        const auto at = old.find(key);
        const bool was_there = at != old.end() && !is_other_object(at->second, object);
        if (was_there && is_same_version(at->second, object)) continue;
        changes.push_back({kind_, key, was_there ? at->second : AnyObject{}, object});
      }
      return changes;
    }

    Impl& cache_;
    ResourceKind kind_;
    Reflector reflector_;
    SteadyClock::time_point line_begun_;
    std::thread thread_;
  };

  void tell(const ObjectChange& change) const {
    if (callback) callback(change);
  }

  bool is_stopping() const {
    const std::lock_guard lock{mutex_};
    return is_stopping_;
  }

  void sleep(Duration time) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, time, [&] { return is_stopping_; });
  }

  ApiServer server_;
  ClusterCacheSettings settings_;
  RequestCounts requests_;

  // Held while a change is made and told, so that all see one order. Before mutex_.
  std::mutex order_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool is_stopping_ = false;
  CacheFigures figures_;  // without requests
  std::vector<std::unique_ptr<Watcher>> watchers_;
};

ClusterCache::ClusterCache(ApiServer server, ClusterCacheSettings settings)
    : impl_{std::make_unique<Impl>(std::move(server), std::move(settings))} {}
ClusterCache::~ClusterCache() = default;

void ClusterCache::on_change(std::function<void(const ObjectChange&)> callback) {
  impl_->callback = std::move(callback);
}
void ClusterCache::start() {
  impl_->start();
}
void ClusterCache::stop() {
  impl_->stop();
}
bool ClusterCache::wait_until_synced(std::chrono::milliseconds at_most) const {
  return impl_->wait_until_synced(at_most);
}
observe::ClusterObjects ClusterCache::snapshot() const {
  return impl_->snapshot();
}
std::vector<SourceStatus> ClusterCache::sources() const {
  return impl_->sources();
}
CacheFigures ClusterCache::figures() const {
  return impl_->figures();
}

}  // namespace weir::engine::kubernetes
