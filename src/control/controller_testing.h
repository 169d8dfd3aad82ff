// SPDX-License-Identifier: Apache-2.0
//
// For tests of the live loop: clocks that are set by hand, an engine that does nothing but take notes
// and says what it is told to say, and the loop between them on a real store. A test goes on as soon as
// the loop has done what it was asked; nothing waits for real time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "control/controller.h"
#include "control/faulty_vfs.h"
#include "control/store_testing.h"

namespace weir::control::testing {

class HandClocks final : public ClockSource {
 public:
  Time wall() const override {
    const std::lock_guard lock{mutex_};
    return wall_;
  }
  Duration since_boot() const override {
    const std::lock_guard lock{mutex_};
    return since_boot_;
  }
  std::string boot_id() const override { return "boot"; }

  void pass(Duration time) {
    const std::lock_guard lock{mutex_};
    wall_ += time;
    since_boot_ += time;
  }
  void set_wall(Duration by) {
    const std::lock_guard lock{mutex_};
    wall_ += by;
  }

 private:
  mutable std::mutex mutex_;
  Time wall_{std::chrono::hours{490'000}};
  Duration since_boot_{std::chrono::hours{5}};
};

class ScriptedEngine final : public Engine {
 public:
  void start(std::vector<RunOrder> standing, EngineListener& listener) override {
    const std::lock_guard lock{mutex_};
    standing_ = std::move(standing);
    listener_ = &listener;
    ++starts_;
  }
  void order(const RunOrder& order) override {
    const std::lock_guard lock{mutex_};
    orders_.push_back(order);
  }
  void forget(JobId job) override {
    const std::lock_guard lock{mutex_};
    forgotten_.push_back(job);
  }
  Result<LogChunk> read_log(const LogPlace&, std::size_t) override {
    return bad_input(Diagnostic{"", 0, "log", "nothing", "an engine that runs something"});
  }
  void remove_logs(const std::vector<JobId>& jobs) override {
    const std::lock_guard lock{mutex_};
    removed_.insert(removed_.end(), jobs.begin(), jobs.end());
  }
  void stop() override {
    const std::lock_guard lock{mutex_};
    listener_ = nullptr;
  }

  // As the engine's thread would.
  void report(JobId job, std::uint32_t generation, decltype(RunReport::what) what) {
    EngineListener* listener = nullptr;
    {
      const std::lock_guard lock{mutex_};
      listener = listener_;
    }
    if (listener != nullptr) listener->on_report({job, generation, std::move(what)});
  }

  std::vector<RunOrder> orders() const {
    const std::lock_guard lock{mutex_};
    return orders_;
  }
  std::vector<RunOrder> orders_of(JobId job) const {
    std::vector<RunOrder> all = orders();
    std::erase_if(all, [job](const RunOrder& order) { return order.job != job; });
    return all;
  }
  std::vector<RunOrder> standing() const {
    const std::lock_guard lock{mutex_};
    return standing_;
  }
  std::vector<JobId> forgotten() const {
    const std::lock_guard lock{mutex_};
    return forgotten_;
  }
  std::vector<JobId> removed() const {
    const std::lock_guard lock{mutex_};
    return removed_;
  }
  int starts() const {
    const std::lock_guard lock{mutex_};
    return starts_;
  }

 private:
  mutable std::mutex mutex_;
  EngineListener* listener_ = nullptr;
  std::vector<RunOrder> standing_;
  std::vector<RunOrder> orders_;
  std::vector<JobId> forgotten_;
  std::vector<JobId> removed_;
  int starts_ = 0;
};

// What a call that answers later has answered.
template <class T>
class Waiting {
 public:
  std::function<void(T)> callback() {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };
  }
  T get() {
    auto future = promise_->get_future();
    if (future.wait_for(std::chrono::seconds{120}) != std::future_status::ready) {
      ADD_FAILURE() << "no answer in two minutes";
      std::abort();  // there is nothing to return, and nothing more to learn
    }
    return future.get();
  }

 private:
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
};

inline Submission submission_of(const std::string& json, const std::string& key = {}) {
  Submission made;
  auto document = formats::read_job_json(json, "test");
  EXPECT_TRUE(document) << error_of(document) << "\n" << json;
  if (document) made.document = std::move(*document);
  made.json = formats::write_job_json(made.document);
  made.key = key;
  made.digest = "digest of " + made.json;
  return made;
}

// Keeps the loop busy, so that what is asked meanwhile comes to it in one batch.
class BusyLoop {
 public:
  explicit BusyLoop(Controller& controller) {
    std::promise<void> begun;
    controller.nodes([&begun, go_on = go_on_.get_future().share()](const auto&) {
      begun.set_value();
      go_on.wait();
    });
    begun.get_future().wait();
  }
  ~BusyLoop() {
    if (!is_over_) end();
  }
  void end() {
    is_over_ = true;
    go_on_.set_value();
  }

 private:
  std::promise<void> go_on_;
  bool is_over_ = false;
};

// Jobs of six minutes: one with a deadline, one without.
inline constexpr const char* kSixMinutes =
    R"({"name":"six","command":["x"],"duration":"6m","deadline":"10m"})";
inline constexpr const char* kWhenever = R"({"name":"whenever","command":["x"],"duration":"6m"})";

// A whole control plane without sockets and processes. One rig lives through restarts of the loop.
class Rig {
 public:
  explicit Rig(Cluster cluster, std::string vfs = {})
      : options_{options_in(folder_, std::move(vfs))} {
    config_.cluster = std::move(cluster);
    config_.rescale_cost = {std::chrono::seconds{1}, Duration{0}};
    open();
  }
  ~Rig() { close(); }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  ControllerConfig& config() { return config_; }
  HandClocks& clocks() { return clocks_; }
  ScriptedEngine& engine() { return engine_; }
  Controller& controller() { return *controller_; }
  Metrics& metrics() { return metrics_; }
  Store& store() { return *store_; }
  const StoreOptions& options() const { return options_; }

  void open() {
    auto store = Store::open(options_);
    ASSERT_TRUE(store) << error_of(store);
    store_ = std::move(*store);
    auto reader = StoreReader::open(options_);
    ASSERT_TRUE(reader) << error_of(reader);
    reader_ = std::move(*reader);
    auto own = StoreReader::open(options_);
    ASSERT_TRUE(own) << error_of(own);
    own_reader_ = std::move(*own);
    auto controller = Controller::start(config_, *store_, *reader_, engine_, metrics_, clocks_);
    ASSERT_TRUE(controller) << error_of(controller);
    controller_ = std::move(*controller);
  }
  void close() {
    controller_.reset();
    own_reader_.reset();
    reader_.reset();
    store_.reset();
  }
  void restart() {
    close();
    open();
  }

  // Time passes; then the loop has decided what was due, and the engine has its orders.
  void pass(Duration time) {
    clocks_.pass(time);
    nodes();
  }
  // Whatever had to wait for a pause between decisions is decided.
  void settle() {
    for (int i = 0; i < 3; ++i) pass(std::chrono::seconds{1});
  }

  SubmitAnswer submit(const std::string& json, const std::string& key = {}) {
    Waiting<SubmitAnswer> waiting;
    controller_->submit(submission_of(json, key), waiting.callback());
    return waiting.get();
  }
  // Submits and expects that it was accepted.
  JobId accept(const std::string& json, const std::string& key = {}) {
    const SubmitAnswer answer = submit(json, key);
    EXPECT_EQ(answer.kind, SubmitAnswer::Kind::accepted) << to_string(answer.errors) << answer.view;
    if (answer.view.empty()) return {};
    return JobId{nlohmann::json::parse(answer.view).at("id").get<std::uint64_t>()};
  }
  CancelAnswer cancel(JobId job) {
    Waiting<CancelAnswer> waiting;
    controller_->cancel(job, waiting.callback());
    return waiting.get();
  }
  NodeAnswer drain(NodeId node, bool is_drain = true) {
    Waiting<NodeAnswer> waiting;
    is_drain ? controller_->drain(node, waiting.callback())
             : controller_->undrain(node, waiting.callback());
    return waiting.get();
  }
  Result<ShownTenants> change_tenants(const TenantTable& table) {
    Waiting<Result<ShownTenants>> waiting;
    controller_->change_tenants(table, waiting.callback());
    return waiting.get();
  }
  Result<ShownTenants> tenants() {
    Waiting<Result<ShownTenants>> waiting;
    controller_->tenants(waiting.callback());
    return waiting.get();
  }
  std::vector<NodeUse> nodes() {
    Waiting<std::vector<NodeUse>> waiting;
    controller_->nodes(waiting.callback());
    return waiting.get();
  }
  Result<ShownDryRun> dry_run(const std::string& json) {
    Waiting<Result<ShownDryRun>> waiting;
    controller_->dry_run(submission_of(json).document, waiting.callback());
    return waiting.get();
  }
  // The report is dealt with, and what follows from it is decided.
  void report(JobId job, std::uint32_t generation, decltype(RunReport::what) what) {
    engine_.report(job, generation, std::move(what));
    nodes();
  }
  void end_well(JobId job, std::uint32_t generation) {
    report(job, generation, RunEnded{RunEndKind::exited, 0, "exit code 0"});
  }
  void fail(JobId job, std::uint32_t generation) {
    report(job, generation, RunEnded{RunEndKind::exited, 1, "exit code 1"});
  }

  // As the API would show it.
  nlohmann::json job(JobId id) {
    const auto view = own_reader_->job_view(id);
    if (!view || !*view) return nullptr;
    return nlohmann::json::parse(**view);
  }
  std::string phase(JobId id) {
    const auto view = job(id);
    return view.is_null() ? "none" : view.at("phase").get<std::string>();
  }
  // How many jobs there are.
  std::size_t jobs() {
    JobQuery query;
    query.limit = 1000;
    const auto page = own_reader_->jobs(query);
    EXPECT_TRUE(page) << error_of(page);
    return page ? page->views.size() : 0;
  }
  // The lines of all records with that type.
  std::vector<std::string> records(const std::string& type) {
    std::vector<std::string> lines;
    const auto entries = own_reader_->entries(0, 100'000);
    EXPECT_TRUE(entries) << error_of(entries);
    if (!entries) return lines;
    for (const RawEntry& entry : *entries) {
      for (const std::string& line : entry.record_lines) {
        if (line.find("\"type\":\"" + type + "\"") != std::string::npos) lines.push_back(line);
      }
    }
    return lines;
  }

 private:
  formats::TemporaryFolder folder_;
  StoreOptions options_;
  ControllerConfig config_;
  HandClocks clocks_;
  ScriptedEngine engine_;
  Metrics metrics_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
  std::unique_ptr<StoreReader> own_reader_;
  std::unique_ptr<Controller> controller_;
};

}  // namespace weir::control::testing
