// SPDX-License-Identifier: Apache-2.0
#include "control/observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "control/api.h"
#include "control/api_testing.h"
#include "control/controller_testing.h"
#include "control/faulty_vfs.h"

namespace weir::control {
namespace {

using ::testing::ElementsAre;
using testing::HandClocks;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::Waiting;

// A cluster as its own scheduler runs it: a test does what that one would do.
class PlayedCluster final : public ObservationSource {
 public:
  void start(std::function<void()> wake) override {
    const std::lock_guard lock{mutex_};
    wake_ = std::move(wake);
    is_known_ = false;
  }
  void stop() override {
    const std::lock_guard lock{mutex_};
    wake_ = {};
  }
  std::optional<ObservedChanges> take_changes(bool everything) override {
    const std::lock_guard lock{mutex_};
    if (!is_synced_) return std::nullopt;
    ObservedChanges all;
    all.is_all = everything || !is_known_;
    is_known_ = true;
    if (all.is_all) {
      for (const auto& [name, node] : nodes_) all.nodes.push_back(node);
      for (const auto& [uid, task] : tasks_) all.tasks.push_back(task);
    } else {
      add_changed(nodes_, changed_nodes_, all.nodes, all.nodes_gone);
      add_changed(tasks_, changed_tasks_, all.tasks, all.tasks_gone);
    }
    changed_nodes_.clear();
    changed_tasks_.clear();
    return all;
  }
  std::optional<ClusterInsight> take_insight() override {
    const std::lock_guard lock{mutex_};
    return std::exchange(insight_, std::nullopt);
  }
  std::string trouble() const override {
    const std::lock_guard lock{mutex_};
    return trouble_;
  }
  std::string describe() const override { return "a played cluster"; }

  void node(const std::string& name, std::int32_t gpus, bool is_up = true) {
    change([&] {
      ObservedNode node{
          {},   name, "pool", "rack", gpus > 0 ? "A100" : "", MilliCpu{32'000}, Mebibytes{1 << 17},
          gpus, {},   is_up};
      nodes_[name] = node;
      changed_nodes_.insert(name);
    });
  }
  void node_goes(const std::string& name) {
    change([&] {
      nodes_.erase(name);
      changed_nodes_.insert(name);
    });
  }
  void task(const std::string& uid, std::int32_t gpus, bool is_shown = true) {
    ObservedTask task;
    task.uid = uid;
    task.name = "default/" + uid;
    task.cpu = MilliCpu{1000};
    task.gpu_count = gpus;
    task.gpu_share = gpus > 0 ? kWholeGpu : MilliGpu{0};
    task.created = Time{std::chrono::hours{489'999}};
    task.is_shown = is_shown;
    task.detail = R"({"uid":")" + uid + R"("})";
    put(task);
  }
  void places(const std::string& uid, const std::string& node, GpuMask gpus = {}) {
    ObservedTask task = tasks_.at(uid);
    task.node = node;
    task.gpus = gpus;
    task.phase = ObservedPhase::running;
    task.started = task.created + std::chrono::minutes{1};
    put(task);
  }
  void ends(const std::string& uid, bool is_well = true) {
    ObservedTask task = tasks_.at(uid);
    task.phase = is_well ? ObservedPhase::finished : ObservedPhase::failed;
    task.ended = task.created + std::chrono::minutes{5};
    put(task);
  }
  void deletes(const std::string& uid) {
    change([&] {
      tasks_.erase(uid);
      changed_tasks_.insert(uid);
    });
  }
  void insight(ClusterInsight insight) {
    change([&] { insight_ = std::move(insight); });
  }
  void trouble(std::string why) {
    change([&] { trouble_ = std::move(why); });
  }
  void is_synced(bool is_synced) {
    change([&] { is_synced_ = is_synced; });
  }
  const std::map<std::string, ObservedTask>& tasks() const { return tasks_; }
  const std::map<std::string, ObservedNode>& nodes() const { return nodes_; }

 private:
  void put(const ObservedTask& task) {
    change([&] {
      tasks_[task.uid] = task;
      changed_tasks_.insert(task.uid);
    });
  }
  template <class There, class Thing>
  static void add_changed(const There& there, const std::set<std::string>& changed,
                          std::vector<Thing>& are, std::vector<std::string>& gone) {
    for (const std::string& key : changed) {
      const auto at = there.find(key);
      at != there.end() ? are.push_back(at->second) : gone.push_back(key);
    }
  }
  template <class Change>
  void change(Change change) {
    std::function<void()> wake;
    {
      const std::lock_guard lock{mutex_};
      change();
      wake = wake_;
    }
    if (wake) wake();
  }

  mutable std::mutex mutex_;
  std::function<void()> wake_;
  bool is_synced_ = true;
  bool is_known_ = false;
  std::map<std::string, ObservedNode> nodes_;
  std::map<std::string, ObservedTask> tasks_;
  std::set<std::string> changed_nodes_;
  std::set<std::string> changed_tasks_;
  std::optional<ClusterInsight> insight_;
  std::string trouble_;
};

class ObserverRig {
 public:
  explicit ObserverRig(std::string vfs = {})
      : options_{testing::options_in(folder_, std::move(vfs))} {
    config_.least_pause = Duration{0};
    config_.snapshot_every = 40;
    open();
  }
  ~ObserverRig() { close(); }
  ObserverRig(const ObserverRig&) = delete;
  ObserverRig& operator=(const ObserverRig&) = delete;

  void open() {
    auto store = Store::open(options_);
    ASSERT_TRUE(store) << testing::error_of(store);
    store_ = std::move(*store);
    auto reader = StoreReader::open(options_);
    ASSERT_TRUE(reader);
    reader_ = std::move(*reader);
    auto observer = Observer::start(config_, *store_, *reader_, cluster_, metrics_, clocks_);
    ASSERT_TRUE(observer) << testing::error_of(observer);
    observer_ = std::move(*observer);
    auto own = StoreReader::open(options_);
    ASSERT_TRUE(own);
    own_ = std::move(*own);
  }
  void close() {
    own_.reset();
    observer_.reset();
    reader_.reset();
    store_.reset();
  }
  void restart() {
    close();
    open();
  }
  PlayedCluster& cluster() { return cluster_; }
  Observer& observer() { return *observer_; }
  Metrics& metrics() { return metrics_; }
  Store& store() { return *store_; }
  const StoreOptions& options() const { return options_; }
  HandClocks& clocks() { return clocks_; }

  // Everything told before has been looked at: the second look began after it.
  std::vector<NodeUse> nodes() {
    for (int i = 0;; ++i) {
      Waiting<std::vector<NodeUse>> waiting;
      observer_->nodes(waiting.callback());
      auto shown = waiting.get();
      if (i == 1) return shown;
    }
  }
  Overview overview() {
    nodes();
    Waiting<std::optional<Overview>> waiting;
    observer_->overview(waiting.callback());
    return waiting.get().value();
  }
  nlohmann::json view(const std::string& name) {
    nodes();
    const auto job = own_->job_named(name);
    if (!job || !*job) return nullptr;
    const auto text = own_->job_view(**job);
    return text && *text ? nlohmann::json::parse(**text) : nlohmann::json{};
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    JobQuery query;
    query.limit = 10'000;
    const auto page = own_->jobs(query);
    for (const std::string& text : page->views)
      all.push_back(nlohmann::json::parse(text).at("name").get<std::string>());
    return all;
  }

 private:
  formats::TemporaryFolder folder_;
  StoreOptions options_;
  ObserverConfig config_;
  HandClocks clocks_;
  Metrics metrics_;
  PlayedCluster cluster_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
  std::unique_ptr<StoreReader> own_;
  std::unique_ptr<Observer> observer_;
};

TEST(Observer, ShowsWhoHasWhichGpus) {
  ObserverRig rig;
  rig.cluster().node("n1", 4);
  rig.cluster().node("n2", 0);
  rig.cluster().task("a", 2);
  rig.cluster().places("a", "n1", GpuMask{0b1010});
  const auto nodes = rig.nodes();
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(nodes[0].name, "n1");
  ASSERT_THAT(nodes[0].users, SizeIs(1));
  EXPECT_THAT(nodes[0].users[0].gpus, ElementsAre(1, 3));
  const Overview overview = rig.overview();
  EXPECT_EQ(overview.gpus, 4);
  EXPECT_EQ(overview.figures.gpus_in_use, 2);
  EXPECT_EQ(overview.figures.running, 1);
}

TEST(Observer, ATaskWaitsRunsAndEnds) {
  ObserverRig rig;
  rig.cluster().node("n1", 1);
  rig.cluster().task("a", 1);
  EXPECT_EQ(rig.view("default/a").at("phase"), "queued");
  rig.cluster().places("a", "n1");
  auto view = rig.view("default/a");
  EXPECT_EQ(view.at("phase"), "running");
  EXPECT_THAT(view.at("nodes"), ElementsAre("n1"));
  EXPECT_EQ(view.at("observed").at("uid"), "a");
  rig.cluster().ends("a");
  view = rig.view("default/a");
  EXPECT_EQ(view.at("phase"), "finished");
  EXPECT_TRUE(view.contains("ended"));
  EXPECT_EQ(rig.overview().figures.gpus_in_use, 0);
}

TEST(Observer, WhatFailsAndWhatIsDeletedIsToldApart) {
  ObserverRig rig;
  rig.cluster().node("n1", 2);
  for (const char* uid : {"a", "b", "c"}) rig.cluster().task(uid, 1);
  rig.cluster().places("a", "n1");
  rig.cluster().places("b", "n1");
  rig.nodes();
  rig.cluster().ends("a", false);
  rig.cluster().deletes("b");
  rig.cluster().deletes("c");
  EXPECT_EQ(rig.view("default/a").at("phase"), "failed");
  EXPECT_EQ(rig.view("default/b").at("exit"), "deleted");
  EXPECT_EQ(rig.view("default/c").at("phase"), "cancelled");
}

TEST(Observer, WhatEveryNodeRunsForItselfCountsButIsNotListed) {
  ObserverRig rig;
  rig.cluster().node("n1", 1);
  rig.cluster().task("daemon", 0, false);
  rig.cluster().places("daemon", "n1");
  rig.nodes();
  EXPECT_THAT(rig.names(), IsEmpty());
  EXPECT_EQ(rig.overview().figures.running, 0);
}

TEST(Observer, TellsWhyATaskWaitsAndWhenItMayStart) {
  ObserverRig rig;
  rig.cluster().node("n1", 1);
  rig.cluster().task("a", 8);
  rig.nodes();
  const Time soon = rig.clocks().wall() + std::chrono::minutes{10};
  rig.cluster().insight({R"({"cluster":{}})", 0.5, {{"a", R"({"constraint":"too_large"})", soon}}});
  const auto view = rig.view("default/a");
  EXPECT_EQ(view.at("waits").at("constraint"), "too_large");
  EXPECT_TRUE(view.contains("expected_start"));
  EXPECT_EQ(rig.observer().observation(), R"({"cluster":{}})");
  EXPECT_EQ(rig.overview().figures.gpus_fragmented, 0.5);
  rig.cluster().places("a", "n1");
  EXPECT_FALSE(rig.view("default/a").contains("waits")) << "it waits no more";
}

TEST(Observer, ChangesNothing) {
  ObserverRig rig;
  Waiting<SubmitAnswer> submitted;
  rig.observer().submit({}, submitted.callback());
  EXPECT_EQ(submitted.get().kind, SubmitAnswer::Kind::unavailable);
  Waiting<CancelAnswer> cancelled;
  rig.observer().cancel(JobId{1}, cancelled.callback());
  EXPECT_THAT(cancelled.get().detail, HasSubstr("only observes"));
  EXPECT_TRUE(rig.observer().is_observing());
}

TEST(Observer, SaysWhenThePictureMayBeOld) {
  ObserverRig rig;
  rig.cluster().trouble("pods: the API server does not answer since 02:10:00");
  rig.nodes();
  EXPECT_TRUE(rig.observer().health().is_ok) << "it goes on";
  EXPECT_THAT(rig.observer().health().detail, HasSubstr("does not answer"));
  EXPECT_THAT(rig.metrics().exposition(), HasSubstr("weir_observe_degraded 1"));
}

TEST(Observer, KnowsItsTasksAgainAfterARestart) {
  ObserverRig rig;
  rig.cluster().node("n1", 4);
  for (const char* uid : {"a", "b", "c", "d"}) rig.cluster().task(uid, 1);
  rig.cluster().task("daemon", 0, false);
  rig.cluster().places("daemon", "n1");
  rig.cluster().places("a", "n1");
  rig.cluster().places("b", "n1");
  const auto before = rig.view("default/a");
  rig.close();
  rig.cluster().ends("b");
  rig.cluster().deletes("c");
  rig.cluster().node("n2", 8);
  rig.open();
  EXPECT_EQ(rig.view("default/a").at("id"), before.at("id"));
  EXPECT_EQ(rig.view("default/b").at("phase"), "finished");
  EXPECT_EQ(rig.view("default/c").at("phase"), "cancelled");
  EXPECT_EQ(rig.view("default/d").at("phase"), "queued");
  EXPECT_THAT(rig.names(), SizeIs(4));
  EXPECT_EQ(rig.overview().gpus, 12);
}

TEST(Observer, ANodeThatWentWhileNobodyLookedIsGone) {
  ObserverRig rig;
  rig.cluster().node("n1", 4);
  rig.cluster().node("n2", 4);
  rig.nodes();
  rig.close();
  rig.cluster().node_goes("n1");
  rig.open();
  ASSERT_THAT(rig.nodes(), SizeIs(1));
  EXPECT_EQ(rig.overview().figures.gpus_up, 4);
  rig.cluster().node("n1", 2);
  EXPECT_EQ(rig.overview().figures.gpus_up, 6);
}

TEST(Observer, WaitsUntilTheFirstLookIsComplete) {
  ObserverRig rig;
  rig.cluster().node("n1", 4);
  rig.cluster().task("a", 1);
  rig.nodes();
  rig.close();
  rig.cluster().is_synced(false);
  rig.open();
  EXPECT_EQ(rig.view("default/a").at("phase"), "queued")
      << "not deleted only because nobody has looked yet";
  rig.cluster().is_synced(true);
  EXPECT_EQ(rig.view("default/a").at("phase"), "queued");
}

class ObservingApi : public ::testing::Test {
 protected:
  ObservingApi() {
    ApiOptions options;
    options.token = "0123456789abcdef";
    options.version = "1.2.3";
    options.log_header = "{}";
    options.store = rig_.options();
    auto api =
        Api::make(std::move(options), rig_.observer(), rig_.store(), nullptr, rig_.metrics());
    EXPECT_TRUE(api);
    api_ = std::move(*api);
    router_ = api_->router();
  }
  transport::HttpResponse ask(std::string method, std::vector<std::string> path,
                              std::string body = {}) {
    return testing::ask(router_,
                        testing::request(std::move(method), std::move(path), std::move(body)));
  }

  ObserverRig rig_;
  std::unique_ptr<Api> api_;
  transport::Router router_;
};

TEST_F(ObservingApi, OffersNothingThatWouldChangeTheCluster) {
  rig_.cluster().node("n1", 1);
  rig_.cluster().task("a", 1);
  rig_.nodes();
  const std::string job = R"({"name":"a","command":["x"],"duration":"6m"})";
  for (const auto& answer :
       {ask("POST", {"v1", "jobs"}, job), ask("POST", {"v1", "dry-run"}, job),
        ask("POST", {"v1", "jobs", "1", "cancel"}), ask("POST", {"v1", "nodes", "n1", "drain"}),
        ask("POST", {"v1", "nodes", "n1", "undrain"})}) {
    EXPECT_EQ(answer.status, 403);
    EXPECT_THAT(answer.body, HasSubstr("only observes"));
  }
  EXPECT_EQ(ask("GET", {"v1", "jobs", "1", "logs"}).status, 404);
}

TEST_F(ObservingApi, TellsWhatItSees) {
  EXPECT_EQ(ask("GET", {"v1", "observation"}).status, 503) << "nobody has looked yet";
  EXPECT_EQ(ask("GET", {"v1", "nodes"}).status, 200) << "a cluster may have no nodes";
  rig_.cluster().node("n1", 4);
  rig_.cluster().trouble("pods cannot be read");
  rig_.cluster().insight({R"({"pending":[]})", 0, {}});
  rig_.nodes();
  EXPECT_EQ(ask("GET", {"v1", "observation"}).body, "{\"pending\":[]}\n");
  const auto overview = nlohmann::json::parse(ask("GET", {"v1", "overview"}).body);
  EXPECT_EQ(overview.at("mode"), "observe");
  EXPECT_EQ(overview.at("trouble"), "pods cannot be read");
  EXPECT_EQ(overview.at("gpus"), 4);
  EXPECT_EQ(ask("GET", {"healthz"}).status, 200) << "it goes on";
}

TEST(ObserverWithoutDisk, ShowsWhatItSeesAndStoresItLater) {
  constexpr int kFull = 13;  // SQLITE_FULL
  FaultyVfs disk{"observer-full"};
  ObserverRig rig{"observer-full"};
  rig.cluster().node("n1", 4);
  rig.cluster().task("a", 1);
  rig.nodes();
  disk.fail_from(1, kFull);
  rig.cluster().places("a", "n1");
  EXPECT_THAT(rig.nodes().front().users, SizeIs(1));
  EXPECT_FALSE(rig.observer().health().is_ok);
  disk.heal();
  for (int i = 0; i < 600 && !rig.observer().health().is_ok; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    rig.nodes();
  }
  EXPECT_TRUE(rig.observer().health().is_ok);
  EXPECT_EQ(rig.view("default/a").at("phase"), "running");
}

// Whatever the other scheduler does, and whenever the observer is restarted or misses changes: what is shown is what is
// there.
RC_GTEST_PROP(ObserverHistory, ShowsWhatIsThere, ()) {
  ObserverRig rig;
  PlayedCluster& cluster = rig.cluster();
  std::map<std::string, int> free;
  const int steps = *rc::gen::inRange(1, 50);
  int next = 0;
  const auto pick = [&](auto matches) -> std::optional<std::string> {
    std::vector<std::string> all;
    for (const auto& [uid, task] : cluster.tasks()) {
      if (matches(task)) all.push_back(uid);
    }
    if (all.empty()) return std::nullopt;
    return all[*rc::gen::inRange<std::size_t>(0, all.size())];
  };
  const auto runs = [](const ObservedTask& task) { return task.phase == ObservedPhase::running; };
  for (int step = 0; step < steps; ++step) {
    switch (*rc::gen::inRange(0, 7)) {
      case 0: {
        const std::string name = "n" + std::to_string(*rc::gen::inRange(0, 4));
        if (!cluster.nodes().contains(name)) {
          free[name] = 4;
          cluster.node(name, 4);
        }
        break;
      }
      case 1:
      case 2:
        cluster.task("t" + std::to_string(next++), *rc::gen::inRange(0, 3));
        break;
      case 3:
        if (const auto uid = pick(
                [](const ObservedTask& task) { return task.phase == ObservedPhase::waiting; })) {
          for (auto& [name, room] : free) {
            if (room < cluster.tasks().at(*uid).gpu_count) continue;
            room -= cluster.tasks().at(*uid).gpu_count;
            cluster.places(*uid, name);
            break;
          }
        }
        break;
      case 4:
        if (const auto uid = pick(runs)) {
          free[cluster.tasks().at(*uid).node] += cluster.tasks().at(*uid).gpu_count;
          *rc::gen::arbitrary<bool>() ? cluster.ends(*uid) : cluster.deletes(*uid);
        }
        break;
      case 5:
        rig.restart();
        break;
      default:
        rig.nodes();
    }
  }
  double in_use = 0;
  for (const auto& [uid, task] : cluster.tasks()) in_use += runs(task) ? task.gpu_count : 0;
  RC_ASSERT(rig.overview().figures.gpus_in_use == in_use);
  RC_ASSERT(rig.nodes().size() == cluster.nodes().size());
  for (const NodeUse& node : rig.nodes()) {
    std::size_t held = 0;
    for (const NodeUse::User& user : node.users) held += user.gpus.size();
    RC_ASSERT(held == static_cast<std::size_t>(4 - free[node.name]));
  }
  for (const auto& [uid, task] : cluster.tasks()) {
    const auto view = rig.view("default/" + uid);
    if (view.is_null()) {  // it was over before anybody looked
      RC_ASSERT(!runs(task) && task.phase != ObservedPhase::waiting);
      continue;
    }
    const char* phase = task.phase == ObservedPhase::waiting   ? "queued"
                        : task.phase == ObservedPhase::running ? "running"
                                                               : "finished";
    RC_ASSERT(view.at("phase") == phase);
  }
}

}  // namespace
}  // namespace weir::control
