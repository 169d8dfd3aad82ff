// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/api_client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>

#include "engine/kubernetes/fake_api_server_testing.h"
#include "engine/kubernetes/tls_server_testing.h"
#include "formats/temporary_file_testing.h"
#include "formats/time_text.h"

namespace weir::engine::kubernetes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::filesystem::path kCertificates{WEIR_KUBECONFIGS};

std::string content_of(const char* name) {
  std::ifstream file{kCertificates / name, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

// The body, or what went wrong.
std::string ask(const ApiServer& server, ApiClientSettings settings = {}) {
  ApiClient client{server, std::move(settings)};
  const auto reply = client.get("/version");
  return reply ? reply->body : to_string(reply.error().details);
}

class OverTls : public ::testing::Test {
 protected:
  OverTls() {
    api.url = fmt::format("https://127.0.0.1:{}", server.port());
    api.authorities = content_of("ca.crt");
    api.credentials = fixed_credentials({});
  }
  TlsServer server{kCertificates};
  ApiServer api;
};

TEST_F(OverTls, TheAuthorityThatIsGivenIsTrusted) {
  EXPECT_THAT(ask(api), HasSubstr("client: nobody\nGET /version HTTP/1.1\r\n"));
}

TEST_F(OverTls, NoOtherAuthorityIsTrusted) {
  api.authorities = "";
  EXPECT_THAT(ask(api), HasSubstr("the server's certificate is"));
  api.authorities = content_of("client.crt");
  EXPECT_THAT(ask(api), HasSubstr("the server's certificate is"));
  api.authorities = "nonsense";
  EXPECT_THAT(ask(api), Not(HasSubstr("client:")));
}

TEST_F(OverTls, AnybodyIsTrustedWhenNothingIsChecked) {
  api.authorities = "";
  api.is_unchecked = true;
  EXPECT_THAT(ask(api), HasSubstr("client: nobody"));
}

TEST_F(OverTls, TheServerMayHaveAnotherName) {
  api.url = fmt::format("https://localhost:{}", server.port());
  EXPECT_THAT(ask(api), HasSubstr("the server's certificate is")) << "it is not for this name";
  api.server_name = "kubernetes";
  EXPECT_THAT(ask(api), HasSubstr(fmt::format("\r\nHost: localhost:{}\r\n", server.port())));
  api.server_name = "example.org";
  EXPECT_THAT(ask(api), HasSubstr("the server's certificate is"));
}

TEST_F(OverTls, AClientCertificateIsShown) {
  api.credentials = fixed_credentials(
      {.client_certificate = content_of("client.crt"), .client_key = content_of("client.key")});
  EXPECT_THAT(ask(api), HasSubstr("client: /CN=weir/O=readers\n"));
}

TEST_F(OverTls, ACertificateThatHasEndedIsToldWithItsDate) {
  api.credentials = fixed_credentials(
      {.client_certificate = content_of("expired.crt"), .client_key = content_of("client.key")});
  EXPECT_EQ(ask(api),
            "the client certificate is \"expired on 2024-12-31T00:00:00Z\", expected one that is "
            "valid now\n");
  ApiClientSettings then;
  then.now = [] { return *formats::parse_time("2024-06-01T00:00:00Z"); };
  EXPECT_THAT(ask(api, then), Not(HasSubstr("expected one that is valid now")))
      << "it is the server's turn to refuse it";
  then.now = [] { return *formats::parse_time("2023-06-01T00:00:00Z"); };
  EXPECT_THAT(ask(api, then), HasSubstr("not valid before 2024-01-01T00:00:00Z"));
}

TEST_F(OverTls, TokenAndPasswordAreSent) {
  api.credentials = fixed_credentials({.token = "secret"});
  EXPECT_THAT(ask(api), HasSubstr("\r\nAuthorization: Bearer secret\r\n"));
  api.credentials = fixed_credentials({.user = "a", .password = "b:c"});
  EXPECT_THAT(ask(api), HasSubstr("\r\nAuthorization: Basic YTpiOmM=\r\n"));
}

TEST_F(OverTls, AnswersMayBePackedWatchesAreNot) {
  EXPECT_THAT(ask(api), HasSubstr("\r\nAccept-Encoding: gzip\r\n"));
  EXPECT_THAT(ask(api), HasSubstr("\r\nAccept: application/json\r\n"));
  ApiClient client{api, {.user_agent = "weir/1 (observe)"}};
  std::string body;
  bool has_begun = false;
  const auto reply = client.stream(
      "/api/v1/pods?watch=1",
      [&](std::string_view bytes) {
        EXPECT_TRUE(has_begun);
        body += bytes;
        return true;
      },
      {}, [&] { has_begun = true; });
  ASSERT_TRUE(reply);
  EXPECT_THAT(body, HasSubstr("\r\nUser-Agent: weir/1 (observe)\r\n"));
  EXPECT_THAT(body, Not(HasSubstr("gzip")));
}

TEST(ApiClient, UnpacksWhatCameInGzip) {
  transport::Router router;
  router.add("GET", "/version", [](const transport::HttpRequest&, transport::Responder responder) {
    transport::HttpResponse response{
        200, "application/json", formats::gzip("{\"gitVersion\":\"v1\"}"), {}};
    response.headers.add("Content-Encoding", "gzip");
    responder.send(std::move(response));
  });
  const auto server = transport::HttpServer::start({}, std::move(router));
  ApiServer api;
  api.url = (*server)->url();
  api.credentials = fixed_credentials({});
  EXPECT_EQ(ask(api), "{\"gitVersion\":\"v1\"}");
}

// Counts how often it was asked and told of a refusal; every refusal gives another token.
class CountingSource final : public CredentialSource {
 public:
  Result<Credentials> current(Time) override {
    return Credentials{.token = std::to_string(refusals.load())};
  }
  void refused(const Credentials& refused) override {
    EXPECT_EQ(refused.token, std::to_string(refusals.load()));
    ++refusals;
  }
  std::atomic<int> refusals{0};
};

TEST(ApiClient, After401AsksOnceMoreWithNewCredentials) {
  FakeApiServer server{10};
  server.refuse(
      [](const transport::HttpRequest& request) -> std::optional<transport::HttpResponse> {
        if (request.headers.find("Authorization") == "Bearer 1") return std::nullopt;
        return transport::HttpResponse{401, "application/json", "{}", {}};
      });
  const auto source = std::make_shared<CountingSource>();
  ApiServer api;
  api.url = server.url();
  api.credentials = source;
  RequestCounts counts;
  ApiClient client{api, {}, &counts};
  EXPECT_EQ(client.get("/api/v1/pods")->status, 200);
  EXPECT_EQ(source->refusals, 1);
  source->refusals = 5;
  EXPECT_EQ(client.get("/api/v1/pods")->status, 401) << "once, not for ever";
  EXPECT_EQ(source->refusals, 6);
  const auto all = counts.all();
  EXPECT_EQ(all.at({"get", 200}).count(), 1U);
  EXPECT_EQ(all.at({"get", 401}).count(), 3U);
}

TEST(RetryAfter, IsSecondsWithinReason) {
  const auto of = [](const char* text) { return retry_after({429, {{"retry-after", text}}, ""}); };
  EXPECT_EQ(of("7"), from_seconds(7));
  EXPECT_EQ(of("99999"), from_seconds(300));
  EXPECT_EQ(of("-1"), std::nullopt);
  EXPECT_EQ(of("Wed, 21 Oct 2026 07:28:00 GMT"), std::nullopt);
  EXPECT_EQ(retry_after({429, {}, ""}), std::nullopt);
}

}  // namespace
}  // namespace weir::engine::kubernetes
