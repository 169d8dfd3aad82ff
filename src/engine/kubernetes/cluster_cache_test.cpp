// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/cluster_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/kubernetes/fake_api_server_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::engine::kubernetes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const std::string kPods = "/api/v1/pods";

ApiServer at(const FakeApiServer& server,
             std::shared_ptr<CredentialSource> credentials = fixed_credentials({})) {
  ApiServer where;
  where.url = server.url();
  where.credentials = std::move(credentials);
  return where;
}

ClusterCacheSettings quick() {
  ClusterCacheSettings settings;
  settings.reflector.page_size = 7;
  settings.reflector.first_wait = 5ms;
  settings.reflector.longest_wait = 50ms;
  settings.reflector.slow_wait = 100ms;
  return settings;
}

FakeVersions versions_of(const observe::ObjectMap<observe::Pod>& pods) {
  FakeVersions all;
  for (const auto& [key, pod] : pods) all[key] = {pod->meta.uid, pod->meta.version};
  return all;
}

template <class Condition>
bool becomes_true(Condition condition, std::chrono::milliseconds at_most = 30s) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

bool equals_server(const ClusterCache& cache, FakeApiServer& server) {
  return becomes_true([&] { return versions_of(cache.snapshot().pods) == server.versions(kPods); });
}

SourceStatus source(const ClusterCache& cache, ResourceKind kind) {
  for (const SourceStatus& status : cache.sources()) {
    if (status.kind == kind) return status;
  }
  ADD_FAILURE() << "not watched";
  return {};
}

bool is_retrying(const ClusterCache& cache, std::string_view because) {
  const SourceStatus pods = source(cache, ResourceKind::pods);
  return pods.state == SourceState::retrying && pods.detail.find(because) != std::string::npos;
}

// What somebody knows who hears of changes only. Notes every change that does not fit what was told before.
class Listener {
 public:
  void hear(const ObjectChange& change) {
    const std::lock_guard lock{mutex_};
    const observe::ObjectMeta* before = meta_of(change.before);
    const observe::ObjectMeta* after = meta_of(change.after);
    const std::string name = std::string{info_of(change.kind).name} + " " + change.key;
    const auto known = known_.find(name);
    const bool fits = before == nullptr
                          ? known == known_.end()
                          : known != known_.end() && known->second.second == before->version;
    if (!fits) misfits_.push_back(name);
    if (before != nullptr && after != nullptr && before->uid != after->uid)
      misfits_.push_back(name + " is another");
    if (after == nullptr) {
      known_.erase(name);
      log_.push_back("- " + name);
    } else {
      known_[name] = {after->uid, after->version};
      log_.push_back((before == nullptr ? "+ " : "~ ") + name);
    }
  }
  FakeVersions pods() const {
    const std::lock_guard lock{mutex_};
    FakeVersions all;
    for (const auto& [name, version] : known_) {
      if (name.starts_with("pods ")) all[name.substr(5)] = version;
    }
    return all;
  }
  std::vector<std::string> misfits() const {
    const std::lock_guard lock{mutex_};
    return misfits_;
  }
  std::vector<std::string> log() const {
    const std::lock_guard lock{mutex_};
    return log_;
  }

 private:
  mutable std::mutex mutex_;
  FakeVersions known_;
  std::vector<std::string> misfits_;
  std::vector<std::string> log_;
};

TEST(ClusterCache, ListsEveryKindAndFollowsIt) {
  FakeApiServer server{100};
  server.add_group("kueue.x-k8s.io/v1beta1", "workloads");
  server.change(kPods, [](FakeStore& store) {
    for (int i = 0; i < 20; ++i) store.put("team/p" + std::to_string(i), i);
  });
  server.change("/api/v1/nodes", [](FakeStore& store) { store.put("/n1", 1); });
  server.change("/apis/kueue.x-k8s.io/v1beta1/workloads",
                [](FakeStore& store) { store.put("team/w", 1); });
  ClusterCacheSettings settings = quick();
  settings.client.user_agent = "weir/1.2.3 (observe)";
  ClusterCache cache{at(server), settings};
  Listener listener;
  cache.on_change([&](const ObjectChange& change) { listener.hear(change); });
  EXPECT_FALSE(cache.wait_until_synced(1ms));
  cache.start();
  ASSERT_TRUE(cache.wait_until_synced(30s));
  observe::ClusterObjects all = cache.snapshot();
  EXPECT_EQ(versions_of(all.pods), server.versions(kPods));
  EXPECT_EQ(all.nodes.count("n1"), 1U);
  EXPECT_EQ(all.kueue_workloads.count("team/w"), 1U);
  EXPECT_EQ(source(cache, ResourceKind::job_sets).state, SourceState::absent);
  EXPECT_EQ(source(cache, ResourceKind::pods).objects, 20U);
  EXPECT_EQ(server.count_requests("/api/v1/pods?limit=7"), 3U);

  server.change(kPods, [](FakeStore& store) {
    store.put("team/p3", 77);
    store.erase("team/p4");
  });
  ASSERT_TRUE(equals_server(cache, server));
  EXPECT_EQ(*cache.snapshot().pods.at("team/p3")->meta.labels.find("value"), "77");
  EXPECT_TRUE(becomes_true([&] { return listener.pods() == server.versions(kPods); }));
  EXPECT_THAT(listener.misfits(), ElementsAre());
  EXPECT_THAT(server.user_agents(), ElementsAre("weir/1.2.3 (observe)"));
  const CacheFigures figures = cache.figures();
  const auto& pods = figures.events[static_cast<std::size_t>(ResourceKind::pods)];
  EXPECT_EQ(pods[static_cast<std::size_t>(WatchEventType::modified)], 1U);
  EXPECT_EQ(pods[static_cast<std::size_t>(WatchEventType::deleted)], 1U);
  EXPECT_TRUE(becomes_true([&] { return cache.figures().apply.count() == 2; }));
  EXPECT_GT(figures.requests.at({"get", 200}).count(), 5U);
  cache.stop();
}

TEST(ClusterCache, OneLookListsAndDoesNotWatch) {
  FakeApiServer server{100};
  server.change(kPods, [](FakeStore& store) { store.put("a/1", 1); });
  ClusterCacheSettings settings = quick();
  settings.watches = false;
  ClusterCache cache{at(server), settings};
  cache.start();
  ASSERT_TRUE(cache.wait_until_synced(30s));
  const auto begin = std::chrono::steady_clock::now();
  cache.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 500ms) << "nothing is open";
  EXPECT_EQ(cache.snapshot().pods.size(), 1U);
  EXPECT_EQ(server.count_requests("watch=1"), 0U);
}

// The same object in one list and another of the same name in the next.
TEST(ClusterCache, TellsThatAnObjectWasReplacedByAnotherOfItsName) {
  FakeApiServer server{100};
  server.change(kPods, [](FakeStore& store) {
    store.put("a/kept", 1);
    store.put("a/reborn", 1);
    store.put("a/gone", 1);
  });
  ClusterCacheSettings settings = quick();
  settings.kinds = {ResourceKind::pods};
  ClusterCache cache{at(server), settings};
  Listener listener;
  cache.on_change([&](const ObjectChange& change) { listener.hear(change); });
  cache.start();
  ASSERT_TRUE(becomes_true([&] { return server.count_requests("watch=1") == 1; }));
  server.be_silent(true);
  server.change(kPods, [](FakeStore& store) {
    store.erase("a/reborn");
    store.put("a/reborn", 2);
    store.erase("a/gone");
    store.put("a/new", 1);
  });
  server.be_silent(false);
  server.expire_watches();
  ASSERT_TRUE(equals_server(cache, server));
  ASSERT_TRUE(becomes_true([&] { return listener.log().size() == 7; }));
  EXPECT_THAT(listener.log(),
              ElementsAre("+ pods a/gone", "+ pods a/kept", "+ pods a/reborn", "- pods a/gone",
                          "- pods a/reborn", "+ pods a/new", "+ pods a/reborn"));
  EXPECT_THAT(listener.misfits(), ElementsAre());
}

// A history of ten changes, five writers, and watches that break: in the end both are equal, and who heard of the
// changes knows the same.
TEST(ClusterCache, EqualsTheServerAfterAStorm) {
  FakeApiServer server{10};
  ClusterCacheSettings settings = quick();
  settings.kinds = {ResourceKind::pods, ResourceKind::nodes};
  ClusterCache cache{at(server), settings};
  Listener listener;
  cache.on_change([&](const ObjectChange& change) { listener.hear(change); });
  cache.start();
  std::vector<std::thread> writers;
  for (std::uint64_t writer = 0; writer < 5; ++writer) {
    writers.emplace_back([&server, writer] {
      SeededRng rng{writer};
      for (int i = 0; i < 150; ++i) {
        server.change(kPods, [&](FakeStore& store) {
          for (std::uint64_t n = rng.below(15); n > 0; --n) {
            const std::string key = fmt::format("n{}/p{}", rng.below(3), rng.below(9));
            if (rng.below(3) == 0) {
              store.erase(key);
            } else {
              store.put(key, static_cast<int>(rng.below(1000)));
            }
          }
        });
        if (rng.below(20) == 0) server.drop_watches();
        if (rng.below(20) == 0) server.expire_watches();
        std::this_thread::sleep_for(std::chrono::microseconds{rng.below(4000)});
      }
    });
  }
  std::atomic<bool> is_over{false};
  std::thread reader{[&] {
    while (!is_over) {
      cache.snapshot();
      cache.sources();
      std::this_thread::sleep_for(1ms);
    }
  }};
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(equals_server(cache, server));
  EXPECT_TRUE(becomes_true([&] { return listener.pods() == server.versions(kPods); }));
  is_over = true;
  reader.join();
  EXPECT_THAT(listener.misfits(), ElementsAre());
  const SourceStatus pods = source(cache, ResourceKind::pods);
  EXPECT_GT(pods.lost, 3U) << "else this was no storm";
  EXPECT_GT(pods.restarts(), 3U);
}

TEST(ClusterCache, WhatIsForbiddenIsToldOnceAndHidesNothingElse) {
  FakeApiServer server{100};
  server.change(kPods, [](FakeStore& store) { store.put("a/1", 1); });
  server.refuse(
      [](const transport::HttpRequest& request) -> std::optional<transport::HttpResponse> {
        if (request.target.find("/nodes") == std::string::npos) return std::nullopt;
        return transport::HttpResponse{
            403,
            "application/json",
            fake_status(403, "Forbidden", "nodes is forbidden: ask an administrator").body,
            {}};
      });
  std::mutex mutex;
  std::vector<std::string> lines;
  ClusterCacheSettings settings = quick();
  settings.log = [&](const std::string& line) {
    const std::lock_guard lock{mutex};
    lines.push_back(line);
  };
  ClusterCache cache{at(server), settings};
  cache.start();
  ASSERT_TRUE(cache.wait_until_synced(30s)) << "nobody waits for what never comes";
  EXPECT_EQ(cache.snapshot().pods.size(), 1U);
  EXPECT_TRUE(becomes_true([&] { return server.count_requests("/nodes") >= 3; }))
      << "asked again, slowly";
  EXPECT_EQ(source(cache, ResourceKind::nodes).state, SourceState::forbidden);
  EXPECT_EQ(source(cache, ResourceKind::nodes).detail, "nodes is forbidden: ask an administrator");
  {
    const std::lock_guard lock{mutex};
    EXPECT_THAT(lines, ElementsAre("nodes: forbidden: nodes is forbidden: ask an administrator"));
  }
  server.refuse({});
  EXPECT_TRUE(becomes_true(
      [&] { return source(cache, ResourceKind::nodes).state == SourceState::watching; }));
}

// Answers 401 to everybody without that token.
FakeApiServer::Refusal only(std::string token) {
  return [token = std::move(token)](
             const transport::HttpRequest& request) -> std::optional<transport::HttpResponse> {
    if (request.headers.find("Authorization") == "Bearer " + token) return std::nullopt;
    return transport::HttpResponse{
        401, "application/json", fake_status(401, "Unauthorized", "Unauthorized").body, {}};
  };
}

TEST(ClusterCache, ATokenThatIsReplacedIsReadAgain) {
  const formats::TemporaryFolder folder;
  const std::filesystem::path file = folder.write("token", "first\n");
  FakeApiServer server{100};
  server.refuse(only("first"));
  server.change(kPods, [](FakeStore& store) { store.put("a/1", 1); });
  ClusterCacheSettings settings = quick();
  settings.kinds = {ResourceKind::pods};
  ClusterCache cache{at(server, credentials_from_files({.token = file})), settings};
  cache.start();
  ASSERT_TRUE(cache.wait_until_synced(30s));

  server.refuse(only("second"));  // revoked, and the new one is not there yet
  server.drop_watches();
  EXPECT_TRUE(becomes_true([&] { return is_retrying(cache, "401 Unauthorized"); }));
  EXPECT_EQ(cache.snapshot().pods.size(), 1U) << "what is known stays";
  folder.write("token", "second\n");
  server.change(kPods, [](FakeStore& store) { store.put("a/2", 1); });
  EXPECT_TRUE(equals_server(cache, server));
  EXPECT_TRUE(becomes_true(
      [&] { return source(cache, ResourceKind::pods).state == SourceState::watching; }));
}

TEST(ClusterCache, HealsWhenTheServerComesBack) {
  FakeApiServer server{10};
  server.change(kPods, [](FakeStore& store) { store.put("a/1", 1); });
  ClusterCacheSettings settings = quick();
  settings.kinds = {ResourceKind::pods};
  ClusterCache cache{at(server), settings};
  cache.start();
  ASSERT_TRUE(cache.wait_until_synced(30s));
  server.stop();
  EXPECT_TRUE(becomes_true([&] { return is_retrying(cache, "cannot reach"); }));
  server.start();
  server.change(kPods, [](FakeStore& store) {
    store.erase("a/1");
    for (int i = 0; i < 30; ++i) store.put("b/" + std::to_string(i), i);
  });
  EXPECT_TRUE(equals_server(cache, server));
  EXPECT_TRUE(becomes_true(
      [&] { return source(cache, ResourceKind::pods).state == SourceState::watching; }));
}

TEST(ClusterCache, AConnectionThatIsSilentForTooLongIsGivenUp) {
  FakeApiServer server{100};
  server.be_silent(true);
  ClusterCacheSettings settings = quick();
  settings.kinds = {ResourceKind::pods};
  settings.client.silence_time = 1s;
  ClusterCache cache{at(server), settings};
  cache.start();
  ASSERT_TRUE(becomes_true([&] { return server.count_requests("watch=1") == 1; }));
  server.change(kPods, [](FakeStore& store) { store.put("a/1", 1); });
  server.be_silent(false);  // the old connection knows nothing of it: its news were swallowed
  EXPECT_TRUE(equals_server(cache, server));
  EXPECT_GE(source(cache, ResourceKind::pods).restarts(), 1U);
}

}  // namespace
}  // namespace weir::engine::kubernetes
