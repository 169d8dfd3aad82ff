// SPDX-License-Identifier: Apache-2.0
//
// What is hard to bring about from outside. tests/api_contract.py compares a running server with the
// contract, tests/bad_requests.py sends it whatever is wrong.
#include "control/api.h"

#include <gmock/gmock.h>

#include "control/controller_testing.h"

namespace weir::control {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Rig;
using testing::small_cluster;
using transport::HttpRequest;
using transport::HttpResponse;

constexpr const char* kToken = "0123456789abcdef";
constexpr const char* kJob = R"({"name":"a","command":["x"],"duration":"6m","deadline":"10m"})";

// Takes the answer to one request.
class AnswerSink final : public transport::ResponseSink {
 public:
  void send(HttpResponse response) override { answer_.callback()(std::move(response)); }
  transport::EventStream stream(HttpResponse head) override {
    answer_.callback()(std::move(head));
    return {};
  }
  HttpResponse get() { return answer_.get(); }

 private:
  testing::Waiting<HttpResponse> answer_;
};

HttpRequest request(std::string method, std::vector<std::string> segments, std::string body = {}) {
  HttpRequest made;
  made.method = std::move(method);
  made.segments = std::move(segments);
  made.body = std::move(body);
  return made;
}

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() { make(); }

  void make() {
    ApiOptions options;
    options.token = kToken;
    options.version = "1.2.3";
    options.log_header = "{}";
    options.store = rig_.options();
    auto api = Api::make(std::move(options), rig_.controller(), rig_.store(), rig_.engine(),
                         rig_.metrics());
    ASSERT_TRUE(api) << error_of(api);
    api_ = std::move(*api);
    router_ = api_->router();
  }

  HttpResponse ask(HttpRequest request) {
    const auto match = router_.match(request);
    if (match.handler == nullptr) return *match.refusal;
    const auto sink = std::make_shared<AnswerSink>();
    (*match.handler)(std::move(request), transport::Responder{sink});
    return sink->get();
  }

  FaultyVfs disk_{"api-disk"};
  Rig rig_{small_cluster(1, 2), "api-disk"};
  std::unique_ptr<Api> api_;
  transport::Router router_;
};

TEST_F(ApiTest, SaysWhenNothingCanBeStored) {
  EXPECT_EQ(ask(request("POST", {"v1", "jobs"}, kJob)).status, 201);
  constexpr int kFull = 13;  // SQLITE_FULL
  disk_.fail_from(1, kFull);
  for (const auto& segments : std::vector<std::vector<std::string>>{
           {"v1", "jobs"}, {"v1", "jobs", "1", "cancel"}, {"v1", "nodes", "node-1", "drain"}}) {
    const HttpResponse answer = ask(request("POST", segments, kJob));
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.content_type, transport::kProblemContentType);
    EXPECT_EQ(answer.headers.find("Retry-After"), "1");
    EXPECT_THAT(answer.body, Not(HasSubstr("\\u000a")));
  }
  const HttpResponse health = ask(request("GET", {"healthz"}));
  EXPECT_EQ(health.status, 503);
  EXPECT_THAT(health.body, HasSubstr("\"status\":\"unavailable\",\"detail\":\""));
  EXPECT_EQ(ask(request("GET", {"v1", "jobs", "1"})).status, 200) << "what is there can be read";
  disk_.heal();
  HttpResponse again = ask(request("POST", {"v1", "jobs"}, kJob));
  for (int i = 0; i < 600 && again.status == 503; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    again = ask(request("POST", {"v1", "jobs"}, kJob));
  }
  EXPECT_EQ(again.status, 201) << again.body;
  EXPECT_EQ(nlohmann::json::parse(again.body).at("id"), 2);
  EXPECT_EQ(ask(request("GET", {"healthz"})).status, 200);
}

TEST_F(ApiTest, SaysWhenItStops) {
  rig_.controller().stop();
  for (const auto& segments : std::vector<std::vector<std::string>>{
           {"v1", "jobs"}, {"v1", "dry-run"}, {"v1", "nodes", "node-1", "undrain"}}) {
    EXPECT_EQ(ask(request("POST", segments, kJob)).status, 503);
  }
  EXPECT_EQ(ask(request("GET", {"v1", "nodes"})).status, 503) << "not an empty cluster";
  EXPECT_EQ(ask(request("POST", {"v1", "backup"}, R"({"file":"/nowhere/x"})")).status, 503);
  EXPECT_EQ(ask(request("GET", {"healthz"})).status, 503);
  EXPECT_EQ(ask(request("GET", {"v1", "jobs"})).status, 200);
}

TEST_F(ApiTest, OpensToItsTokenOnly) {
  const auto status = [&](const char* authorization, const char* path = "metrics") {
    HttpRequest asked = request("GET", {path});
    if (authorization != nullptr) asked.headers.add("Authorization", authorization);
    const auto refusal = api_->authorise(asked);
    return refusal ? refusal->status : 0;
  };
  EXPECT_EQ(status("Bearer 0123456789abcdef"), 0);
  EXPECT_EQ(status("bearer 0123456789abcdef"), 0) << "the scheme has no case";
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer 0123456789abcde", "0123456789abcdef",
                            "Bearer 0123456789abcdef0", "Bearer 0123456789ABCDEF",
                            "Basic 0123456789abcdef", "Bearer 0123456789abcdef0123456789abcdef"}) {
    EXPECT_EQ(status(wrong), 401) << wrong;
  }
  EXPECT_EQ(status(nullptr), 401);
  EXPECT_EQ(status(nullptr, "v1"), 401);
  for (const char* open : {"healthz", "jobs", "assets", "sign-in", "nothing", "V1"}) {
    EXPECT_EQ(status(nullptr, open), 0) << open;
  }
  EXPECT_FALSE(api_->authorise(request("GET", {})));
}

TEST_F(ApiTest, CountersDoNotGrowWithWhatClientsMakeUp) {
  transport::AccessEntry entry;
  entry.status = 401;
  for (int i = 0; i < 1000; ++i) {
    const std::string method = "M" + std::to_string(i);
    entry.method = method;
    api_->note_access(entry);
  }
  const std::string shown = rig_.metrics().exposition();
  EXPECT_THAT(shown, HasSubstr("{method=\"other\",route=\"none\",status=\"401\"} 1000"));
  EXPECT_EQ(shown.find("weir_http_requests_total{"), shown.rfind("weir_http_requests_total{"));
}

TEST_F(ApiTest, MayGoBeforeTheController) {
  // As when the port is in use: everything is there and the server cannot listen.
  for (int i = 0; i < 20; ++i) {
    for (int job = 0; job < 5; ++job)
      rig_.controller().submit(testing::submission_of(kJob), [](const auto&) {});
    router_ = {};
    api_.reset();
    make();
  }
  rig_.nodes();
  EXPECT_EQ(rig_.jobs(), 100u);
}

TEST_F(ApiTest, ABackupNamesOneFile) {
  const auto status = [&](const std::string& body) {
    return ask(request("POST", {"v1", "backup"}, body)).status;
  };
  const std::string folder = rig_.options().file.parent_path().string();
  EXPECT_EQ(status(R"({"file":")" + folder + R"(/a","file":")" + folder + R"(/b"})"), 400);
  EXPECT_EQ(status(R"({"file":")" + folder + R"(/a\u0000b"})"), 400);
  EXPECT_EQ(status(R"({"file":"a"})"), 400);
  EXPECT_EQ(status(R"({"file":{"file":"/a"}})"), 400);
  EXPECT_EQ(status(R"({"file":")" + folder + R"(/none/a"})"), 409);
  EXPECT_EQ(status(R"({"file":")" + folder + R"(/a"})"), 200);
  EXPECT_EQ(status(R"({"file":")" + folder + R"(/a"})"), 409);
}

TEST_F(ApiTest, HasTheRoutesItSays) {
  for (const auto& [method, pattern] : router_.routes()) {
    EXPECT_TRUE(method == "GET" || method == "POST") << pattern;
    EXPECT_TRUE(pattern.starts_with("/v1/") || pattern == "/healthz" || pattern == "/metrics");
  }
  EXPECT_EQ(ask(request("GET", {"v1", "nothing"})).status, 404);
  EXPECT_EQ(ask(request("DELETE", {"v1", "jobs"})).status, 405);
}

}  // namespace
}  // namespace weir::control
