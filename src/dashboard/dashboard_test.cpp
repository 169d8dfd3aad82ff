// SPDX-License-Identifier: Apache-2.0
#include "dashboard/dashboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "transport/raw_client_testing.h"
#include "transport/test_server_testing.h"

namespace weir::dashboard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using transport::RawResponse;
using Headers = std::map<std::string, std::string>;

// As a browser sees it: the page on a real server.
class Dashboard : public testing::Test {
 protected:
  static constexpr PageFile kFiles[] = {
      {"/assets/app-1a2b.js", "text/javascript; charset=utf-8", "aaaa", "let page = 1;",
       "gz-of-js"},
      {"/assets/sign-3c4d.woff2", "font/woff2", "bbbb", "font", ""},
      {"/favicon.svg", "image/svg+xml", "cccc", "<svg/>", ""},
      {"/index.html", "text/html; charset=utf-8", "dddd", "<!doctype html>", "gz-of-index"},
  };

  void serve(std::span<const PageFile> files) {
    transport::Router router;
    router.add("GET", "/v1/jobs", [](const auto&, transport::Responder responder) {
      responder.send(transport::plain("jobs of the API"));
    });
    add_dashboard(router, files);
    server_ = transport::started({}, std::move(router));
  }
  void SetUp() override { serve(kFiles); }

  RawResponse ask(const std::string& method, const std::string& path, const Headers& headers = {}) {
    std::string request = method + " " + path + " HTTP/1.1\r\nHost: h\r\n";
    for (const auto& [name, value] : headers) request += name + ": " + value + "\r\n";
    transport::RawClient client{server_->port()};
    const auto response = client.ask(request + "\r\n", method == "HEAD");
    EXPECT_TRUE(response) << path;
    return response.value_or(RawResponse{});
  }
  RawResponse get(const std::string& path, const Headers& headers = {}) {
    return ask("GET", path, headers);
  }

  static void expect_strict(const RawResponse& response, const std::string& path) {
    EXPECT_EQ(
        response.header("Content-Security-Policy"),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'")
        << path;
    EXPECT_EQ(response.header("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(response.header("Referrer-Policy"), "no-referrer") << path;
    EXPECT_EQ(response.header("Cross-Origin-Opener-Policy"), "same-origin") << path;
    EXPECT_EQ(response.header("Cross-Origin-Resource-Policy"), "same-origin") << path;
    EXPECT_EQ(response.header("X-Frame-Options"), "DENY") << path;
  }

  static inline const std::vector<std::string> kViews{
      "/",       "/jobs",        "/jobs/7",  "/jobs/bert%20large", "/cluster", "/cluster/gpu-1",
      "/submit", "/simulations", "/sign-in", "/jobs?phase=running"};
  std::unique_ptr<transport::HttpServer> server_;
};

TEST_F(Dashboard, EveryViewIsThePage) {
  for (const std::string& view : kViews) {
    const RawResponse page = get(view);
    EXPECT_EQ(page.status, 200) << view;
    EXPECT_EQ(page.body, "<!doctype html>") << view;
    EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8") << view;
    EXPECT_EQ(page.header("Cache-Control"), "no-cache") << view;
    EXPECT_EQ(page.header("ETag"), "\"dddd\"") << view;
    EXPECT_EQ(page.header("Vary"), "Accept-Encoding") << view;
    EXPECT_EQ(page.header("Content-Encoding"), "") << view;
    expect_strict(page, view);
  }
}

TEST_F(Dashboard, FilesWithAHashAreKeptForEver) {
  const RawResponse script = get("/assets/app-1a2b.js");
  EXPECT_EQ(script.status, 200);
  EXPECT_EQ(script.body, "let page = 1;");
  EXPECT_EQ(script.header("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(script.header("Cache-Control"), "public, max-age=31536000, immutable");
  expect_strict(script, "script");
  const RawResponse icon = get("/favicon.svg");
  EXPECT_EQ(icon.body, "<svg/>");
  EXPECT_EQ(icon.header("Content-Type"), "image/svg+xml");
  EXPECT_EQ(icon.header("Cache-Control"), "no-cache");
  expect_strict(icon, "icon");
}

TEST_F(Dashboard, WhoTakesGzipGetsIt) {
  const RawResponse packed = get("/assets/app-1a2b.js", {{"Accept-Encoding", "br, gzip;q=0.8"}});
  EXPECT_EQ(packed.status, 200);
  EXPECT_EQ(packed.body, "gz-of-js");
  EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
  EXPECT_EQ(packed.header("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(packed.header("ETag"), "\"aaaa-gzip\"");
  EXPECT_EQ(packed.header("Vary"), "Accept-Encoding");
  for (const char* other : {"gzip;q=0", "br", "identity;q=0, br"}) {
    const RawResponse plain = get("/assets/app-1a2b.js", {{"Accept-Encoding", other}});
    EXPECT_EQ(plain.status, 200) << other;
    EXPECT_EQ(plain.body, "let page = 1;") << other;
    EXPECT_EQ(plain.header("Content-Encoding"), "") << other;
    EXPECT_EQ(plain.header("ETag"), "\"aaaa\"") << other;
  }
  const RawResponse font = get("/assets/sign-3c4d.woff2", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(font.body, "font");
  EXPECT_EQ(font.header("Content-Encoding"), "");
}

TEST_F(Dashboard, WhoHasItIsNotSentItAgain) {
  for (const char* known : {"\"dddd\"", "W/\"dddd\"", "\"x\", \"dddd\"", "*"}) {
    const RawResponse same = get("/", {{"If-None-Match", known}});
    EXPECT_EQ(same.status, 304) << known;
    EXPECT_EQ(same.header("ETag"), "\"dddd\"");
    EXPECT_EQ(same.header("Cache-Control"), "no-cache");
    EXPECT_EQ(same.header("Vary"), "Accept-Encoding");
    EXPECT_EQ(same.header("Content-Length"), "");
    EXPECT_EQ(same.header("Content-Type"), "");
    EXPECT_EQ(same.header("Content-Encoding"), "");
    expect_strict(same, known);
  }
  EXPECT_EQ(get("/", {{"If-None-Match", "\"other\""}}).body, "<!doctype html>");
}

// A cache must not take the one for the other.
TEST_F(Dashboard, PlainAndCompressedAreTwoEntities) {
  const Headers packed_known{{"Accept-Encoding", "gzip"}, {"If-None-Match", "\"dddd-gzip\""}};
  EXPECT_EQ(get("/", packed_known).status, 304);
  EXPECT_EQ(get("/", {{"If-None-Match", "\"dddd-gzip\""}}).status, 200);
  EXPECT_EQ(get("/", {{"Accept-Encoding", "gzip"}, {"If-None-Match", "\"dddd\""}}).status, 200);
}

TEST_F(Dashboard, HeadHasTheHeadersAndNoBody) {
  for (const char* path : {"/jobs/7", "/assets/app-1a2b.js"}) {
    const RawResponse whole = get(path, {{"Accept-Encoding", "gzip"}});
    const RawResponse head = ask("HEAD", path, {{"Accept-Encoding", "gzip"}});
    EXPECT_EQ(head.status, 200) << path;
    EXPECT_EQ(head.body, "") << path;
    for (const char* name :
         {"Content-Length", "Content-Type", "Content-Encoding", "ETag", "Vary"}) {
      EXPECT_EQ(head.header(name), whole.header(name)) << path << " " << name;
    }
    expect_strict(head, path);
  }
  EXPECT_EQ(ask("HEAD", "/", {{"If-None-Match", "*"}}).status, 304);
}

TEST_F(Dashboard, WhatIsNotThereIsNotFound) {
  const RawResponse gone = get("/assets/app-0000.js");
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.header("Content-Type"), "application/problem+json");
  EXPECT_EQ(gone.header("Cache-Control"), "no-store");
  EXPECT_THAT(gone.body, HasSubstr("app-0000.js; load the page again"));
  expect_strict(gone, "gone");
  for (const char* path : {"/index.html", "/assets", "/assets/a/b", "/jobs/7/more", "/nothing",
                           "/assets/..%2findex.html", "/robots.txt"}) {
    const int status = get(path).status;
    EXPECT_TRUE(status == 404 || status == 400) << path << " " << status;
  }
  EXPECT_EQ(ask("POST", "/jobs").status, 405);
}

TEST_F(Dashboard, TheApiKeepsItsPathsAndItsWords) {
  EXPECT_EQ(get("/v1/jobs").body, "jobs of the API");
  EXPECT_EQ(get("/v1/jobs").header("Content-Security-Policy"), "");
  EXPECT_THAT(get("/v1/jbos").body,
              HasSubstr("there is nothing at /v1/jbos; did you mean /v1/jobs?"));
}

TEST_F(Dashboard, WithoutAPageThereIsANotice) {
  serve({});
  for (const std::string& view : kViews) {
    const RawResponse notice = get(view, {{"Accept-Encoding", "gzip"}});
    EXPECT_EQ(notice.status, 200) << view;
    EXPECT_EQ(notice.header("Content-Type"), "text/html; charset=utf-8") << view;
    EXPECT_EQ(notice.header("Cache-Control"), "no-store") << view;
    EXPECT_EQ(notice.header("Content-Encoding"), "") << view;
    EXPECT_THAT(notice.body, AllOf(HasSubstr("without Node"), HasSubstr("make build"),
                                   HasSubstr("API"), HasSubstr("weir jobs")));
    EXPECT_THAT(notice.body, AllOf(Not(HasSubstr("style")), Not(HasSubstr("<script"))));
    expect_strict(notice, view);
  }
  EXPECT_EQ(get("/assets/app-1a2b.js").status, 404);
  EXPECT_EQ(get("/favicon.svg").status, 404);
}

}  // namespace
}  // namespace weir::dashboard
