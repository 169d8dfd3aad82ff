// SPDX-License-Identifier: Apache-2.0
//
// For tests of the client commands: a server that speaks the API on a real socket and whose jobs
// live by script. A job is queued when it comes, runs when it is looked at, and is over when it is
// looked at again. Names say what becomes of it: "impossible" is refused, "broken" fails, "flaky"
// gets no answer to its first submission, "overloaded" none to dry runs, "malformed" is a bad request,
// "measured" has a curve and a batch.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "formats/temporary_file_testing.h"
#include "transport/http_server.h"

namespace weir::cli {

class ScriptedServer {
 public:
  using Json = nlohmann::ordered_json;
  using Request = transport::HttpRequest;
  using Responder = transport::Responder;

  static constexpr const char* kToken = "a-token-for-tests";

  ScriptedServer() {
    transport::HttpServerOptions options;
    options.gate = [](const Request& request) -> std::optional<transport::HttpResponse> {
      if (request.headers.find("Authorization") == std::string{"Bearer "} + kToken) {
        return std::nullopt;
      }
      return transport::problem(401, "", "this is not the server's token");
    };
    auto started = transport::HttpServer::start(std::move(options), routes());
    EXPECT_TRUE(started) << to_string(started.error().details);
    server_ = std::move(*started);
  }

  std::string url() const { return server_->url(); }
  void stop() { server_->stop(); }

  // What was asked for, in order: "POST /v1/jobs".
  std::vector<std::string> calls() const {
    const std::lock_guard lock{mutex_};
    return calls_;
  }
  // The bodies of submissions and dry runs.
  std::vector<Json> bodies() const {
    const std::lock_guard lock{mutex_};
    return bodies_;
  }
  std::vector<std::string> keys() const {
    const std::lock_guard lock{mutex_};
    return keys_;
  }
  void set_records(std::string text) {
    const std::lock_guard lock{mutex_};
    records_ = std::move(text);
  }
  // Jobs that are there already, all finished.
  void add_old_jobs(int count) {
    const std::lock_guard lock{mutex_};
    for (int i = 0; i < count; ++i) add(fmt_name(i))["phase"] = "finished";
  }

 private:
  static std::string fmt_name(int i) { return "old-" + std::to_string(i); }

  static void answer(Responder& responder, const Json& json, int status = 200) {
    responder.send({status, "application/json", json.dump(), {}});
  }

  Json& add(const std::string& name) {
    const std::int64_t id = static_cast<std::int64_t>(jobs_.size()) + 1;
    Json& job = jobs_[id];
    job = {
        {"id", id},  {"name", name},    {"phase", "queued"}, {"submitted", "2026-11-15T08:00:00Z"},
        {"gpus", 0}, {"generation", 1}, {"restarts", 0}};
    return job;
  }

  Json* find(std::string_view job) {
    for (auto at = jobs_.rbegin(); at != jobs_.rend(); ++at) {
      if (std::to_string(at->first) == job || at->second["name"] == job) return &at->second;
    }
    return nullptr;
  }

  // Calls `use` with the job of the path, or answers 404.
  template <class Use>
  auto with_job(Use use) {
    return [this, use](const Request& request, Responder responder) {
      const std::lock_guard lock{mutex_};
      calls_.push_back(request.method + " " + request.target);
      Json* const job = find(request.parameter("job"));
      if (job == nullptr)
        return responder.send(transport::problem(404, "", "there is no such job"));
      use(*job, request, responder);
    };
  }

  void submit(const Request& request, Responder responder) {
    const std::lock_guard lock{mutex_};
    calls_.push_back(request.method + " " + request.target);
    keys_.emplace_back(request.headers.find("Idempotency-Key").value_or(""));
    bodies_.push_back(Json::parse(request.body));
    const std::string name = bodies_.back()["name"];
    if (name == "malformed") {
      Diagnostics mistakes;
      mistakes.add({"request", 1, "gpus", "3", "a power of two"});
      return responder.send(transport::problem(400, "", "the job has mistakes", mistakes));
    }
    if (name == "flaky" && keys_.size() == 1) {
      return responder.send(transport::problem(503, "", "the disk is full"));
    }
    Json& job = add(name);
    if (bodies_.back().contains("deadline")) {
      job["deadline"] = "2026-11-15T12:00:00Z";
      job["deadline_kind"] = "hard";
      job["promised"] = true;
      job["expected_finish"] = "2026-11-15T11:30:00Z";
    }
    if (name != "impossible") return answer(responder, job, 201);
    job["phase"] = "refused";
    job["promised"] = false;
    job["reason"] = "its deadline cannot be met beside the promises already made";
    job["earliest_deadline"] = "2026-11-15T15:00:00Z";
    answer(responder, job, 422);
  }

  void dry_run(const Request& request, Responder responder) {
    const std::lock_guard lock{mutex_};
    bodies_.push_back(Json::parse(request.body));
    if (bodies_.back()["name"] == "malformed") {
      Diagnostics mistakes;
      mistakes.add({"", 0, "gpus", "3", "a power of two"});
      mistakes.add({"", 0, "model.gpu", "", "a type"});
      return responder.send(transport::problem(422, "", "the job cannot run here", mistakes));
    }
    if (bodies_.back()["name"] == "overloaded")
      return responder.send(transport::problem(503, "", "too many dry runs are waiting"));
    if (bodies_.back()["name"] == "impossible") {
      return answer(responder, {{"answer", "refused"},
                                {"reason", "no room"},
                                {"earliest_deadline", "2026-11-15T15:00:00Z"}});
    }
    answer(responder, {{"answer", "promised"},
                       {"reason", "fits"},
                       {"deadline", "2026-11-15T12:00:00Z"},
                       {"expected_finish", "2026-11-15T11:30:00Z"},
                       {"replanned", 2}});
  }

  static void look_at(Json& job, const Request&, Responder& responder) {
    if (job["phase"] == "running") {
      const bool fails = job["name"] == "broken";
      job["phase"] = fails ? "failed" : "finished";
      job["exit"] = fails ? "exit code 3" : "exit code 0";
      job["started"] = "2026-11-15T08:00:00Z";
      job["ended"] = "2026-11-15T10:05:00Z";
      job["gpus"] = 0;
    } else if (job["phase"] == "queued") {
      job["phase"] = "running";
      job["gpus"] = 2;
      job["iterations"] = 200;
      job["done"] = 50;
      if (job["name"] == "measured") {
        job["curve"] = {{"origin", "measured"}, {"rates", {{"1", 2.5}, {"2", 4.0}}}};
        job["batch"] = {{"global", 256}, {"local", 32}, {"passes", 4}};
      }
    }
    answer(responder, job);
  }

  void list(const Request& request, Responder responder) {
    const std::lock_guard lock{mutex_};
    calls_.push_back(request.method + " " + request.target);
    const auto phase = request.query_value("phase");
    const auto after = request.query_value("after");
    const auto limit = std::stoul(std::string{request.query_value("limit").value_or("100")});
    Json page = {{"jobs", Json::array()}};
    for (auto at = jobs_.rbegin(); at != jobs_.rend(); ++at) {
      if (phase && at->second["phase"] != *phase) continue;
      if (after && at->first >= std::stoll(std::string{*after})) continue;
      if (page["jobs"].size() == limit) {
        page["next"] = page["jobs"].back()["id"];
        break;
      }
      page["jobs"].push_back(at->second);
    }
    answer(responder, page);
  }

  // The first run prints "one\n" and ends; the second prints "two\n".
  void logs(Json& job, const Request& request, Responder& responder) {
    const bool is_second = request.query_value("generation") == "2";
    if (request.query_value("rank") != "0") {
      return responder.send(transport::problem(404, "", "there is no such log"));
    }
    const std::string text = is_second ? "two\n" : "one\n";
    auto offset = std::stoll(std::string{request.query_value("offset").value_or("0")});
    if (offset < 0)
      offset = std::max<std::int64_t>(0, static_cast<std::int64_t>(text.size()) + offset);
    const auto from = std::min(static_cast<std::size_t>(offset), text.size());
    transport::HttpResponse response{200, "application/octet-stream", text.substr(from), {}};
    response.headers.add("X-Weir-Generation", is_second ? "2" : "1");
    response.headers.add("X-Weir-Offset", std::to_string(from));
    response.headers.add("X-Weir-Next-Offset", std::to_string(text.size()));
    response.headers.add("X-Weir-Over", "true");
    if (from == text.size()) job["generation"] = 2;
    responder.send(std::move(response));
  }

  // A group of one, and one that nobody limits.
  static Json tenants() {
    const auto in_pool = [](int guaranteed, int gpus) {
      return Json{{"pool", "T4"},
                  {"guaranteed", guaranteed},
                  {"gpus", gpus},
                  {"promised", 2},
                  {"borrowed", gpus > guaranteed ? gpus - guaranteed : 0}};
    };
    Json limited = in_pool(4, 4);
    limited["maximum"] = 8;
    return {{"half_life", "1d"},
            {"lease", "10m"},
            {"tenants",
             {{{"name", "research"},
               {"weight", 3},
               {"share_of_weight", 0.75},
               {"share_of_use", 0.5},
               {"waiting", 1},
               {"pools", {limited}}},
              {{"name", "vision"},
               {"parent", "research"},
               {"weight", 1},
               {"share_of_weight", 0.75},
               {"share_of_use", 0.5},
               {"waiting", 1},
               {"pools", {limited}}},
              {{"name", "default"},
               {"weight", 1},
               {"share_of_weight", 0.25},
               {"share_of_use", 0.5},
               {"waiting", 0},
               {"pools", {in_pool(0, 3)}}}}}};
  }

  transport::Router routes() {
    transport::Router router;
    router.add("POST", "/v1/jobs", [this](const Request& request, Responder responder) {
      submit(request, std::move(responder));
    });
    router.add("GET", "/v1/jobs", [this](const Request& request, Responder responder) {
      list(request, std::move(responder));
    });
    router.add("POST", "/v1/dry-run", [this](const Request& request, Responder responder) {
      dry_run(request, std::move(responder));
    });
    router.add("GET", "/v1/jobs/{job}", with_job(look_at));
    router.add("GET", "/v1/jobs/{job}/logs",
               with_job([this](Json& job, const Request& request, Responder& responder) {
                 logs(job, request, responder);
               }));
    router.add("GET", "/v1/jobs/{job}/records",
               with_job([this](Json&, const Request&, Responder& responder) {
                 responder.send({200, "application/x-ndjson", records_, {}});
               }));
    router.add("POST", "/v1/jobs/{job}/cancel",
               with_job([](Json& job, const Request&, Responder& responder) {
                 job["phase"] = "cancelled";
                 answer(responder, job);
               }));
    router.add("GET", "/v1/whoami", [](const Request&, Responder responder) {
      answer(responder, {{"name", "ci"},
                         {"role", "submitter"},
                         {"tenant", "vision"},
                         {"created", "2026-11-16T10:00:00Z"},
                         {"expires", "2027-02-14T10:00:00Z"}});
    });
    router.add("GET", "/v1/nodes", [](const Request&, Responder responder) {
      answer(responder,
             {{"nodes",
               {{{"name", "gpu-1"},
                 {"pool", "T4"},
                 {"model", "T4"},
                 {"gpus", 8},
                 {"up", true},
                 {"in_use", 3},
                 {"jobs", {{{"id", 1}, {"name", "bert"}, {"gpus", {0, 1, 4}}}}}},
                {{"name", "gpu-2"}, {"pool", "T4"}, {"gpus", 8}, {"up", false}, {"in_use", 0}}}}});
    });
    router.add("POST", "/v1/nodes/{node}/drain", [](const Request& request, Responder responder) {
      if (request.parameter("node") != "gpu 1") {
        return responder.send(transport::problem(404, "", "there is no such node"));
      }
      answer(responder, {{"node", "gpu 1"}, {"changed", true}, {"at_risk", {7}}});
    });
    router.add("GET", "/v1/tenants",
               [](const Request&, Responder responder) { answer(responder, tenants()); });
    router.add("PUT", "/v1/tenants", [this](const Request& request, Responder responder) {
      const std::lock_guard lock{mutex_};
      calls_.push_back(request.method + " " + request.target + " " +
                       std::string{request.headers.find("Content-Type").value_or("")} + " " +
                       request.body);
      if (request.body.find("wrong") == std::string::npos) return answer(responder, tenants());
      Diagnostics mistakes;
      mistakes.add({"body", 2, "weight", "0", "an integer from 1 to 1000000"});
      responder.send(transport::problem(400, "", "the tenants have mistakes", mistakes));
    });
    router.add("POST", "/v1/nodes/{node}/undrain", [](const Request&, Responder responder) {
      answer(responder, {{"node", "gpu 1"}, {"changed", false}});
    });
    return router;
  }

  mutable std::mutex mutex_;
  std::map<std::int64_t, Json> jobs_;
  std::vector<std::string> calls_;
  std::vector<Json> bodies_;
  std::vector<std::string> keys_;
  std::string records_;
  std::unique_ptr<transport::HttpServer> server_;  // last: it stops before the rest goes
};

// The environment a user has, for the time of a test: a home folder of its own, and only the
// variables that are set here.
class ClientEnvironment {
 public:
  ClientEnvironment() {
    for (const char* name : {"WEIR_SERVER", "WEIR_TOKEN", "WEIR_CONTEXT", "WEIR_STATE",
                             "XDG_CONFIG_HOME", "XDG_STATE_HOME"}) {
      unset(name);
    }
    set("HOME", home_.path().string());
  }
  ~ClientEnvironment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  ClientEnvironment(const ClientEnvironment&) = delete;
  ClientEnvironment& operator=(const ClientEnvironment&) = delete;

  void set(const std::string& name, const std::string& value) {
    remember(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  void unset(const std::string& name) {
    remember(name);
    ::unsetenv(name.c_str());
  }
  const formats::TemporaryFolder& home() const { return home_; }

 private:
  void remember(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    before_.try_emplace(name, value == nullptr ? std::nullopt : std::optional<std::string>{value});
  }

  formats::TemporaryFolder home_;
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace weir::cli
