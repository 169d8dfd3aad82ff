// SPDX-License-Identifier: Apache-2.0
//
// A server for tests with a few routes: GET /hello, POST /echo, GET /jobs/{id}.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "transport/http_server.h"

namespace weir::transport {

inline HttpResponse plain(std::string text, int status = 200) {
  return HttpResponse{status, "text/plain", std::move(text), {}};
}

inline Router common_routes() {
  Router router;
  router.add("GET", "/hello",
             [](const HttpRequest&, Responder responder) { responder.send(plain("hello")); });
  router.add("POST", "/echo", [](HttpRequest request, Responder responder) {
    responder.send(plain(std::move(request.body)));
  });
  router.add("GET", "/jobs/{id}", [](const HttpRequest& request, Responder responder) {
    responder.send(plain(std::string{request.parameter("id")}));
  });
  return router;
}

// Requires: loopback has a free port.
inline std::unique_ptr<HttpServer> started(HttpServerOptions options = {},
                                           Router router = common_routes()) {
  auto server = HttpServer::start(std::move(options), std::move(router));
  EXPECT_TRUE(server) << to_string(server.error().details);
  return std::move(*server);
}

inline std::string get(std::string_view path) {
  return "GET " + std::string{path} + " HTTP/1.1\r\nHost: h\r\n\r\n";
}

inline std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string{path} +
         " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string{body};
}

}  // namespace weir::transport
