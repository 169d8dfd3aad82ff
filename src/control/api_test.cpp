// SPDX-License-Identifier: Apache-2.0
//
// What is hard to bring about from outside. tests/api_contract.py compares a running server with the
// contract, tests/bad_requests.py sends it whatever is wrong.
#include "control/api.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>

#include "control/api_testing.h"
#include "control/controller_testing.h"

namespace weir::control {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::request;
using testing::Rig;
using testing::small_cluster;
using transport::HttpRequest;
using transport::HttpResponse;

constexpr const char* kToken = "0123456789abcdef";
constexpr const char* kJob = R"({"name":"a","command":["x"],"duration":"6m","deadline":"10m"})";

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() { make(); }

  void make() {
    ApiOptions options;
    options.token = kToken;
    options.version = "1.2.3";
    options.log_header = "{}";
    options.store = rig_.options();
    options.story = [](std::string_view view,
                       std::string_view records) -> Result<std::optional<std::string>> {
      const auto lines = std::count(records.begin(), records.end(), '\n');
      if (view.find("\"name\":\"forgotten\"") != std::string_view::npos) return std::nullopt;
      return fmt::format("{{\"lines\":{}}}", lines);
    };
    auto api = Api::make(std::move(options), rig_.controller(), rig_.store(), &rig_.engine(),
                         rig_.metrics());
    ASSERT_TRUE(api) << error_of(api);
    api_ = std::move(*api);
    router_ = api_->router();
  }

  HttpResponse ask(HttpRequest request) { return testing::ask(router_, std::move(request)); }

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

TEST_F(ApiTest, AJobMayComeAsYaml) {
  const std::string yaml = "name: a\ncommand: [x]\nduration: 6m\ndeadline: 10m\n";
  for (const char* type : {"application/yaml", "application/x-yaml", "text/yaml; charset=utf-8"}) {
    HttpRequest asked = request("POST", {"v1", "jobs"}, yaml);
    asked.headers.add("Content-Type", type);
    asked.headers.add("Idempotency-Key", "one");
    const HttpResponse answer = ask(std::move(asked));
    EXPECT_TRUE(answer.status == 201 || answer.status == 200) << type << answer.body;
  }
  HttpRequest json = request("POST", {"v1", "jobs"}, kJob);
  json.headers.add("Idempotency-Key", "one");
  EXPECT_EQ(ask(std::move(json)).status, 200) << "the same job in JSON";
  EXPECT_EQ(rig_.jobs(), 1U);
  const HttpResponse document = ask(request("GET", {"v1", "jobs", "1", "document"}));
  EXPECT_EQ(nlohmann::json::parse(document.body).at("duration"), "6m");
}

TEST_F(ApiTest, MistakesNameTheirLine) {
  const auto errors = [&](const char* type, const std::string& body, const char* path) {
    HttpRequest asked = request("POST", {"v1", path}, body);
    asked.headers.add("Content-Type", type);
    const HttpResponse answer = ask(std::move(asked));
    EXPECT_EQ(answer.status, 400) << answer.body;
    const auto problem = nlohmann::json::parse(answer.body);
    std::string all;
    for (const auto& error : problem.at("errors"))
      all += error.at("where").get<std::string>() + " " + error.at("message").get<std::string>() +
             "\n";
    return all;
  };
  for (const char* path : {"jobs", "dry-run"}) {
    EXPECT_THAT(errors("application/yaml", "name: a\n\ncommand: [x]\ngpus: 3\ngpsu: 1\n", path),
                AllOf(HasSubstr("body:4 "), HasSubstr("body:5 ")));
    EXPECT_THAT(
        errors("application/json", "{\"name\":\"a\",\n\"command\":[\"x\"],\n\"gpus\":3}", path),
        HasSubstr("body:3 "));
    EXPECT_THAT(errors("application/yaml", "name: a\ncommand: [x\n", path), HasSubstr("not YAML"));
    EXPECT_THAT(errors("application/yaml", "name: a\ncommand: [x]\ncount: 3\n", path),
                HasSubstr("body:3: count is \"3\", expected one job; send each in a request of its "
                          "own"));
    EXPECT_THAT(errors("application/yaml", "jobs:\n- {name: a, command: [x]}\n", path),
                HasSubstr("expected one job; send each in a request of its own"));
    EXPECT_THAT(errors("application/yaml", "name: a\ncommand: [x]\n---\nname: b\n", path),
                HasSubstr("body:"));
  }
  HttpRequest other = request("POST", {"v1", "jobs"}, "name: a");
  other.headers.add("Content-Type", "text/plain");
  const HttpResponse refused = ask(std::move(other));
  EXPECT_EQ(refused.status, 415);
  EXPECT_THAT(refused.body, HasSubstr("send the job as application/json or application/yaml"));
}

// A few bytes that would become many.
TEST_F(ApiTest, ACompressedBodyIsNotLargerThanOthers) {
  std::string zeros(std::size_t{4} << 20, ' ');
  uLongf size = compressBound(static_cast<uLong>(zeros.size())) + 64;
  std::string packed(size, '\0');
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  HttpRequest asked = request("POST", {"v1", "jobs"}, packed);
  asked.headers.add("Content-Type", "application/yaml");
  EXPECT_EQ(ask(std::move(asked)).status, 400);
}

TEST_F(ApiTest, ChangesAreAskedForAlone) {
  for (int i = 0; i < 3; ++i) ask(request("POST", {"v1", "jobs"}, kJob));
  const auto page = [&](std::vector<std::pair<std::string, std::string>> query) {
    HttpRequest asked = request("GET", {"v1", "jobs"});
    asked.query = std::move(query);
    return ask(std::move(asked));
  };
  const auto json = [&](std::vector<std::pair<std::string, std::string>> query) {
    return nlohmann::json::parse(page(std::move(query)).body);
  };
  const auto whole = json({});
  EXPECT_EQ(whole.at("jobs").size(), 3U);
  const std::string revision = std::to_string(whole.at("revision").get<int>());
  EXPECT_EQ(json({{"changed_after", revision}}).at("jobs").size(), 0U);
  rig_.cancel(JobId{2});
  auto heard = json({{"changed_after", revision}, {"limit", "1000"}}).at("jobs");
  EXPECT_EQ(heard.back().at("id"), 2);
  EXPECT_EQ(heard.back().at("phase"), "cancelled");
  const auto first = json({{"changed_after", "0"}, {"limit", "2"}});
  const auto rest = json({{"changed_after", std::to_string(first.at("next").get<int>())}});
  EXPECT_EQ(rest.at("jobs").size(), 1U);
  EXPECT_FALSE(rest.contains("next"));
  EXPECT_EQ(rest.at("revision"), first.at("revision"));
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"after", "1"}, {"phase", "running"}, {"name", "a"}, {"order", "newest"}}) {
    const HttpResponse refused = page({{"changed_after", "0"}, {name, value}});
    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.body, HasSubstr("to be left out beside changed_after"));
  }
  EXPECT_EQ(page({{"changed_after", "-1"}}).status, 400);
}

TEST_F(ApiTest, TellsTheStoryOfAJob) {
  ask(request("POST", {"v1", "jobs"}, kJob));
  const HttpResponse story = ask(request("GET", {"v1", "jobs", "a", "story"}));
  EXPECT_EQ(story.status, 200);
  const HttpResponse records = ask(request("GET", {"v1", "jobs", "1", "records"}));
  EXPECT_EQ(nlohmann::json::parse(story.body).at("lines"),
            std::count(records.body.begin(), records.body.end(), '\n'));
  EXPECT_EQ(ask(request("GET", {"v1", "jobs", "nobody", "story"})).status, 404);
  ask(request("POST", {"v1", "jobs"}, R"({"name":"forgotten","command":["x"]})"));
  const HttpResponse forgotten = ask(request("GET", {"v1", "jobs", "forgotten", "story"}));
  EXPECT_EQ(forgotten.status, 404);
  EXPECT_THAT(forgotten.body, HasSubstr("is forgotten"));
}

TEST_F(ApiTest, ShowsTheClusterInAFewFigures) {
  ask(request("POST", {"v1", "jobs"}, kJob));
  rig_.settle();
  const auto json = nlohmann::json::parse(ask(request("GET", {"v1", "overview"})).body);
  EXPECT_EQ(json.at("at").get<double>(), to_seconds(rig_.clocks().wall().time_since_epoch()));
  EXPECT_EQ(json.at("version"), "1.2.3");
  EXPECT_EQ(json.at("policy"), "weir");
  EXPECT_EQ(json.at("gpus"), 2);
  EXPECT_EQ(json.at("gpus_up"), 2);
  EXPECT_EQ(json.at("gpus_in_use"), 1);
  EXPECT_EQ(json.at("gpus_fragmented"), 0);
  EXPECT_EQ(json.at("nodes"), 1);
  EXPECT_EQ(json.at("phases").size(), kAllPhases.size()) << "also those that no job is in";
  EXPECT_EQ(json.at("phases").at("running"), 1);
  EXPECT_EQ(json.at("phases").at("refused"), 0);
  EXPECT_EQ(json.at("promises").dump(),
            R"({"at_risk":0,"broken":0,"kept":0,"open":1,"refused":0})");
}

TEST_F(ApiTest, ShowsFiguresOverTime) {
  const auto history = [&](const char* seconds) {
    HttpRequest asked = request("GET", {"v1", "history"});
    if (seconds != nullptr) asked.query = {{"seconds", seconds}};
    return ask(std::move(asked));
  };
  rig_.nodes();
  for (int i = 0; i < 30; ++i) rig_.pass(std::chrono::seconds{5});
  const auto json = nlohmann::json::parse(history("60").body);
  EXPECT_EQ(json.at("step"), 5);
  EXPECT_THAT(json.at("at").size(), ::testing::AllOf(::testing::Ge(12U), ::testing::Le(13U)))
      << "the last minute";
  EXPECT_EQ(json.size(), 12U);
  for (const auto& [name, column] : json.items()) {
    if (name == "step") continue;
    ASSERT_EQ(column.size(), json.at("at").size()) << name;
    for (const auto& value : column) ASSERT_TRUE(value.is_number()) << name;
  }
  EXPECT_EQ(json.at("gpus_up").back(), 2);
  EXPECT_LE(json.at("at").back().get<double>(),
            to_seconds(rig_.clocks().wall().time_since_epoch()));
  EXPECT_EQ(nlohmann::json::parse(history(nullptr).body).at("at").size(), 30U) << "an hour";
  EXPECT_EQ(nlohmann::json::parse(history("7201").body).at("step"), 60);
  EXPECT_EQ(nlohmann::json::parse(history("31536000").body).at("step"), 900);
  for (const char* wrong : {"0", "59", "31536001", "-60", "x", "", "1e3"}) {
    EXPECT_EQ(history(wrong).status, 400) << wrong;
  }
}

TEST_F(ApiTest, ShowsTheProgressOfAJob) {
  ask(request("POST", {"v1", "jobs"}, kJob));
  rig_.settle();
  const auto json =
      nlohmann::json::parse(ask(request("GET", {"v1", "jobs", "a", "progress"})).body);
  const double started = json.at("at").at(0).get<double>();
  EXPECT_NEAR(started, to_seconds(rig_.clocks().wall().time_since_epoch()), 5);
  EXPECT_EQ(json.at("gpus"), nlohmann::json::array({1}));
  EXPECT_EQ(json.at("done"), nlohmann::json::array({0}));
  EXPECT_EQ(json.at("rate"), nlohmann::json::array({nullptr}));
  EXPECT_EQ(json.at("loss"), nlohmann::json::array({nullptr}));
  ask(request("POST", {"v1", "jobs"}, R"({"name":"big","command":["x"],"gpus":2})"));
  EXPECT_EQ(ask(request("GET", {"v1", "jobs", "big", "progress"})).body,
            "{\"at\":[],\"gpus\":[],\"done\":[],\"rate\":[],\"loss\":[]}\n");
  EXPECT_EQ(ask(request("GET", {"v1", "jobs", "nobody", "progress"})).status, 404);
}

TEST_F(ApiTest, SaysWhenItStops) {
  rig_.controller().stop();
  EXPECT_EQ(ask(request("GET", {"v1", "overview"})).status, 503);
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
  HttpRequest root = request("GET", {});
  EXPECT_FALSE(api_->authorise(root));
  HttpRequest twice = request("GET", {"metrics"});
  twice.headers.add("Authorization", "Bearer 0123456789abcdef");
  twice.headers.add("Authorization", "Bearer 0123456789abcdef");
  EXPECT_EQ(api_->authorise(twice)->status, 401) << "two tokens are none";
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

TEST_F(ApiTest, WhoAskedBeforeItWentIsAnswered) {
  EXPECT_EQ(ask(request("POST", {"v1", "jobs"}, kJob)).status, 201);
  for (int i = 0; i < 20; ++i) {
    // The loop is busy: the API is gone before it comes to what is asked here.
    for (int job = 0; job < 5; ++job)
      rig_.controller().submit(testing::submission_of(kJob), [](const auto&) {});
    std::vector<std::shared_ptr<testing::AnswerSink>> answers;
    for (HttpRequest asked :
         {request("POST", {"v1", "jobs", "1", "cancel"}), request("GET", {"v1", "nodes"}),
          request("GET", {"v1", "overview"}), request("GET", {"v1", "tenants"}),
          request("POST", {"v1", "dry-run"}, kJob)}) {
      asked.caller = testing::caller(Role::operator_);
      const auto match = router_.match(asked);
      ASSERT_NE(match.handler, nullptr);
      answers.push_back(std::make_shared<testing::AnswerSink>());
      (*match.handler)(std::move(asked), transport::Responder{answers.back()});
    }
    router_ = {};
    api_.reset();
    for (const auto& answer : answers) EXPECT_EQ(answer->get().status, 200);
    make();
  }
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
    EXPECT_TRUE(method == "GET" || method == "POST" || method == "PUT") << pattern;
    EXPECT_TRUE(pattern.starts_with("/v1/") || pattern == "/healthz" || pattern == "/metrics");
  }
  EXPECT_EQ(ask(request("GET", {"v1", "nothing"})).status, 404);
  EXPECT_EQ(ask(request("DELETE", {"v1", "jobs"})).status, 405);
}

}  // namespace
}  // namespace weir::control
