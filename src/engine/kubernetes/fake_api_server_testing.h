// SPDX-License-Identifier: Apache-2.0
//
// An API server for tests, on loopback, for the faults that a real one cannot be made to show: a history of a few
// changes, events cut anywhere, connections that break, answers of any status. Lists and watches come from one
// FakeStore per resource.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/seeded_rng.h"
#include "engine/kubernetes/fake_store_testing.h"
#include "transport/http_server.h"

namespace weir::engine::kubernetes {

class FakeApiServer {
 public:
  using Refusal =
      std::function<std::optional<transport::HttpResponse>(const transport::HttpRequest&)>;

  explicit FakeApiServer(std::size_t window, std::uint64_t seed = 1) : window_{window}, rng_{seed} {
    start();
  }

  std::string url() const { return server_->url(); }

  // Stops answering; start() goes on at the same port with the same objects.
  void stop() {
    server_->stop();
    const std::lock_guard lock{mutex_};
    watches_.clear();
  }
  void start() {
    transport::Router router;
    const auto answer = [this](const transport::HttpRequest& request,
                               transport::Responder responder) {
      handle(request, std::move(responder));
    };
    router.add("GET", "/api/v1/{resource}", answer);
    router.add("GET", "/apis/{group}/{version}/{resource}", answer);
    router.add("GET", "/apis/{group}/{version}", answer);
    transport::HttpServerOptions options;
    options.port = port_;
    auto started = transport::HttpServer::start(options, std::move(router));
    ASSERT_TRUE(started) << to_string(started.error().details);
    server_ = std::move(*started);
    port_ = server_->port();
  }

  // Changes the objects of one resource ("/api/v1/pods") and tells who watches it.
  void change(const std::string& path, const std::function<void(FakeStore&)>& change) {
    const std::lock_guard lock{mutex_};
    FakeStore& store = store_of(path);
    change(store);
    for (Watch& watch : watches_) {
      if (watch.path == path) send_news(watch, store);
    }
  }
  FakeVersions versions(const std::string& path) {
    const std::lock_guard lock{mutex_};
    return store_of(path).versions();
  }
  // The extension is installed.
  void add_group(const std::string& group_version, const std::string& resource) {
    const std::lock_guard lock{mutex_};
    groups_["/apis/" + group_version] = resource;
  }

  // Asked before each request; an answer refuses it.
  void refuse(Refusal refusal) {
    const std::lock_guard lock{mutex_};
    refusal_ = std::move(refusal);
  }
  // Watches are granted and then nothing is ever sent.
  void be_silent(bool is_silent) {
    const std::lock_guard lock{mutex_};
    is_silent_ = is_silent;
  }
  // Ends all watches, some of them in the middle of a line.
  void drop_watches() {
    const std::lock_guard lock{mutex_};
    for (const Watch& watch : watches_) {
      if (rng_.below(2) == 0) watch.stream.write_bytes(R"({"type":"ADDED","obj)");
      watch.stream.close();
    }
    watches_.clear();
  }
  // Tells all watches that their version is too old.
  void expire_watches() {
    const std::lock_guard lock{mutex_};
    for (const Watch& watch : watches_) send_in_pieces(watch.stream, FakeStore::gone_line());
  }

  std::size_t count_requests(std::string_view with) {
    const std::lock_guard lock{mutex_};
    std::size_t count = 0;
    for (const std::string& target : targets_) count += target.find(with) != std::string::npos;
    return count;
  }
  std::set<std::string> user_agents() {
    const std::lock_guard lock{mutex_};
    return user_agents_;
  }

 private:
  struct Watch {
    std::string path;
    std::uint64_t position = 0;
    transport::EventStream stream;
  };

  FakeStore& store_of(const std::string& path) {
    return stores_.try_emplace(path, window_).first->second;
  }

  void handle(const transport::HttpRequest& request, transport::Responder responder) {
    const std::lock_guard lock{mutex_};
    targets_.push_back(request.target);
    user_agents_.emplace(request.headers.find("User-Agent").value_or(""));
    if (refusal_) {
      if (auto refused = refusal_(request)) {
        responder.send(std::move(*refused));
        return;
      }
    }
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (request.route == "/apis/{group}/{version}") {
      describe_group(path, std::move(responder));
    } else if (request.query_value("watch")) {
      begin_watch(request, path, std::move(responder));
    } else {
      send(store_of(path).list(request.target), std::move(responder));
    }
  }

  void describe_group(const std::string& path, transport::Responder responder) {
    const auto group = groups_.find(path);
    if (group == groups_.end()) {
      responder.send({404, "text/plain", "404 page not found\n", {}});
    } else {
      responder.send({200,
                      "application/json",
                      fmt::format(R"({{"resources":[{{"name":"{}"}}]}})", group->second),
                      {}});
    }
  }

  void begin_watch(const transport::HttpRequest& request, const std::string& path,
                   transport::Responder responder) {
    FakeStore& store = store_of(path);
    const std::string from{request.query_value("resourceVersion").value_or("0")};
    Watch watch{path, std::strtoull(from.c_str(), nullptr, 10), {}};
    if (!store.lines_after(watch.position)) {
      send(fake_status(410, "Expired", "too old resource version"), std::move(responder));
      return;
    }
    watch.stream = responder.stream({200, "application/json", "", {}});
    send_news(watch, store);
    watches_.push_back(std::move(watch));
  }

  static void send(const transport::HttpReply& reply, transport::Responder responder) {
    responder.send({reply.status, "application/json", reply.body, {}});
  }

  void send_news(Watch& watch, const FakeStore& store) {
    if (is_silent_) return;
    const auto lines = store.lines_after(watch.position);
    send_in_pieces(watch.stream, lines ? *lines : FakeStore::gone_line());
    watch.position = store.version();
  }

  // A chunk of its own for each piece: chunks end anywhere.
  void send_in_pieces(const transport::EventStream& stream, std::string_view bytes) {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, 1 + rng_.below(200));
      stream.write_bytes(piece);
      bytes.remove_prefix(piece.size());
    }
  }

  std::size_t window_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  SeededRng rng_;
  std::map<std::string, FakeStore> stores_;
  std::map<std::string, std::string> groups_;
  std::vector<Watch> watches_;
  Refusal refusal_;
  bool is_silent_ = false;
  std::vector<std::string> targets_;
  std::set<std::string> user_agents_;
  std::unique_ptr<transport::HttpServer> server_;  // last: its handlers use the others
};

}  // namespace weir::engine::kubernetes
