// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "control/api.h"
#include "control/api_testing.h"
#include "control/controller_testing.h"

namespace weir::control {
namespace {

using testing::caller;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::request;
using testing::Rig;
using testing::small_cluster;
using transport::HttpRequest;
using transport::HttpResponse;

class ApiAccess : public ::testing::Test {
 protected:
  ApiAccess() {
    ApiOptions options;
    options.token = "0123456789abcdef";
    options.log_header = "{}";
    options.store = rig_.options();
    auto api = Api::make(std::move(options), rig_.controller(), rig_.store(), &rig_.engine(),
                         rig_.metrics());
    EXPECT_TRUE(api);
    api_ = std::move(*api);
    router_ = api_->router();
  }

  // Through the gate, as the server does it.
  HttpResponse ask(std::string_view token, std::string method, std::vector<std::string> path,
                   std::string body = {}) {
    HttpRequest asked = request(std::move(method), std::move(path), std::move(body));
    asked.headers.add("Authorization", fmt::format("Bearer {}", token));
    router_.match(asked);
    if (auto refusal = api_->authorise(asked)) return std::move(*refusal);
    return testing::ask(router_, std::move(asked));
  }
  std::string make_token(const std::string& fields) {
    const HttpResponse made = ask("0123456789abcdef", "POST", {"v1", "tokens"}, fields);
    EXPECT_EQ(made.status, 201) << made.body;
    return nlohmann::json::parse(made.body).value("token", std::string{});
  }
  static std::string job(const char* name, const char* more = "") {
    return fmt::format(R"({{"name":"{}","command":["x"]{}}})", name, more);
  }

  Rig rig_{small_cluster(1, 2)};
  std::unique_ptr<Api> api_;
  transport::Router router_;
};

TEST_F(ApiAccess, AViewerReadsAndChangesNothing) {
  const std::string viewer = make_token(R"({"name":"eyes","role":"viewer"})");
  ask("0123456789abcdef", "POST", {"v1", "jobs"}, job("a"));
  for (const auto& path : std::vector<std::vector<std::string>>{{"v1", "jobs"},
                                                                {"v1", "jobs", "a"},
                                                                {"v1", "jobs", "1", "document"},
                                                                {"v1", "nodes"},
                                                                {"v1", "overview"},
                                                                {"metrics"}})
    EXPECT_EQ(ask(viewer, "GET", path).status, 200) << path.back();
  for (const auto& path : std::vector<std::vector<std::string>>{{"v1", "jobs"},
                                                                {"v1", "jobs", "1", "cancel"},
                                                                {"v1", "dry-run"},
                                                                {"v1", "backup"},
                                                                {"v1", "nodes", "node-1", "drain"},
                                                                {"v1", "tokens"},
                                                                {"v1", "tokens", "x", "revoke"}}) {
    const HttpResponse refused = ask(viewer, "POST", path, job("b"));
    EXPECT_EQ(refused.status, 403) << path.back();
    EXPECT_THAT(refused.body, HasSubstr("is a viewer's"));
  }
  EXPECT_EQ(ask(viewer, "GET", {"v1", "tokens"}).status, 403);
}

TEST_F(ApiAccess, ASubmittersJobsAreOfItsTenant) {
  const std::string vision = make_token(R"({"name":"v","role":"submitter","tenant":"vision"})");
  const HttpResponse mine = ask(vision, "POST", {"v1", "jobs"}, job("a"));
  EXPECT_EQ(mine.status, 201);
  EXPECT_THAT(mine.body, HasSubstr("\"tenant\":\"vision\""));
  EXPECT_EQ(ask(vision, "POST", {"v1", "jobs"}, job("b", R"(,"tenant":"vision")")).status, 201);
  const HttpResponse other =
      ask(vision, "POST", {"v1", "jobs"}, job("c", R"(,"tenant":"language")"));
  EXPECT_EQ(other.status, 403);
  EXPECT_THAT(other.body, HasSubstr("language"));
  EXPECT_EQ(ask(vision, "POST", {"v1", "dry-run"}, job("c", R"(,"tenant":"language")")).status,
            403);
  EXPECT_EQ(ask(vision, "POST", {"v1", "nodes", "node-1", "drain"}).status, 403);
  EXPECT_EQ(ask(vision, "POST", {"v1", "jobs", "1", "cancel"}).status, 200);
}

TEST_F(ApiAccess, OtherTenantsJobsAreSeenFromOutsideOnly) {
  const std::string vision = make_token(R"({"name":"v","role":"submitter","tenant":"vision"})");
  const std::string eyes = make_token(R"({"name":"e","role":"viewer","tenant":"vision"})");
  const std::string secret = R"(,"environment":{"KEY":"hush"})";
  ask("0123456789abcdef", "POST", {"v1", "jobs"},
      job("theirs", (R"(,"tenant":"language")" + secret).c_str()));
  ask("0123456789abcdef", "POST", {"v1", "jobs"}, job("nobodys", secret.c_str()));
  for (const std::string& token : {vision, eyes}) {
    for (const char* name : {"1", "2", "theirs", "nobodys"}) {
      const HttpResponse shown = ask(token, "GET", {"v1", "jobs", name});
      EXPECT_EQ(shown.status, 200);
      EXPECT_THAT(shown.body, Not(HasSubstr("hush")));
      EXPECT_EQ(ask(token, "GET", {"v1", "jobs", name, "document"}).status, 403) << name;
      EXPECT_EQ(ask(token, "GET", {"v1", "jobs", name, "logs"}).status, 403) << name;
      EXPECT_EQ(ask(token, "POST", {"v1", "jobs", name, "cancel"}).status, 403) << name;
    }
    for (const char* path : {"jobs", "log"})
      EXPECT_THAT(ask(token, "GET", {"v1", path}).body, Not(HasSubstr("hush"))) << path;
    EXPECT_THAT(ask(token, "GET", {"v1", "jobs", "1", "records"}).body, Not(HasSubstr("hush")));
  }
}

TEST_F(ApiAccess, ANameMeansTheCallersOwnJob) {
  const std::string vision = make_token(R"({"name":"v","role":"submitter","tenant":"vision"})");
  ask(vision, "POST", {"v1", "jobs"}, job("bert"));
  ask("0123456789abcdef", "POST", {"v1", "jobs"}, job("bert"));
  EXPECT_THAT(ask(vision, "GET", {"v1", "jobs", "bert"}).body, HasSubstr("\"id\":1,"));
  EXPECT_THAT(ask("0123456789abcdef", "GET", {"v1", "jobs", "bert"}).body, HasSubstr("\"id\":2,"));
  EXPECT_EQ(ask(vision, "POST", {"v1", "jobs", "bert", "cancel"}).status, 200);
}

TEST_F(ApiAccess, TenantsShareNoIdempotencyKeys) {
  const auto submit = [&](const char* tenant, const char* name) {
    HttpRequest asked = request("POST", {"v1", "jobs"}, job(name));
    asked.caller = caller(Role::submitter, tenant);
    asked.headers.add("Idempotency-Key", "night");
    return testing::ask(router_, std::move(asked)).status;
  };
  EXPECT_EQ(submit("vision", "a"), 201);
  EXPECT_EQ(submit("vision", "a"), 200);
  EXPECT_EQ(submit("language", "b"), 201);
}

TEST_F(ApiAccess, WhoeverPassedNoGateMayDoNothing) {
  ask("0123456789abcdef", "POST", {"v1", "jobs"}, job("a"));
  const auto status = [&](HttpRequest asked) {
    const auto match = router_.match(asked);
    const auto sink = std::make_shared<testing::AnswerSink>();
    (*match.handler)(std::move(asked), transport::Responder{sink});
    return sink->get().status;
  };
  EXPECT_EQ(status(request("POST", {"v1", "jobs"}, job("b"))), 403);
  EXPECT_EQ(status(request("POST", {"v1", "jobs", "1", "cancel"})), 403);
  EXPECT_EQ(status(request("GET", {"v1", "jobs", "1", "logs"})), 403);
}

TEST_F(ApiAccess, ATokenIsToldOnceAndRevokedForEver) {
  const std::string eyes = make_token(R"({"name":"eyes","role":"viewer","expires_in":"30d"})");
  const HttpResponse list = ask("0123456789abcdef", "GET", {"v1", "tokens"});
  EXPECT_THAT(list.body, HasSubstr("\"name\":\"eyes\",\"role\":\"viewer\""));
  EXPECT_THAT(list.body, HasSubstr("\"expires\":"));
  EXPECT_THAT(list.body, Not(HasSubstr(eyes)));
  EXPECT_EQ(ask(eyes, "GET", {"v1", "jobs"}).status, 200);
  const HttpResponse revoked = ask("0123456789abcdef", "POST", {"v1", "tokens", "eyes", "revoke"});
  EXPECT_EQ(revoked.status, 200);
  EXPECT_THAT(revoked.body, HasSubstr("\"revoked\":"));
  const HttpResponse refused = ask(eyes, "GET", {"v1", "jobs"});
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, HasSubstr("revoked"));
  EXPECT_EQ(ask("0123456789abcdef", "POST", {"v1", "tokens", "nobody", "revoke"}).status, 404);
  EXPECT_EQ(ask("0123456789abcdef", "POST", {"v1", "tokens", "first", "revoke"}).status, 409);
  EXPECT_EQ(ask("0123456789abcdef", "POST", {"v1", "tokens"}, R"({"name":"eyes","role":"viewer"})")
                .status,
            409);
}

TEST_F(ApiAccess, AllMistakesOfATokenAtOnce) {
  const auto mistakes = [&](const std::string& body) {
    const HttpResponse refused = ask("0123456789abcdef", "POST", {"v1", "tokens"}, body);
    EXPECT_EQ(refused.status, 400) << body << refused.body;
    return refused.body;
  };
  EXPECT_THAT(mistakes(R"({"name":"a b","role":"boss","expires_in":"soon","x":"y"})"),
              AllOf(HasSubstr("\"field\":\"name\""), HasSubstr("\"field\":\"role\""),
                    HasSubstr("\"field\":\"expires_in\""), HasSubstr("\"found\":\"x\"")));
  EXPECT_THAT(mistakes(R"({"name":"a","role":"submitter"})"), HasSubstr("\"field\":\"tenant\""));
  EXPECT_THAT(mistakes(R"({"name":"a","role":"operator","tenant":"t"})"),
              HasSubstr("whole cluster"));
  EXPECT_THAT(mistakes(R"({"name":"a","name":"b","role":"viewer"})"), HasSubstr("given twice"));
  for (const char* wrong : {"", "[]", "7", "{", R"({"name":{"a":"b"},"role":"viewer"})"})
    mistakes(wrong);
  mistakes(std::string(100'000, '['));
}

}  // namespace
}  // namespace weir::control
