// SPDX-License-Identifier: Apache-2.0
//
// Method and path to handler. A pattern is a path in which "{name}" stands for any one segment; where
// several patterns match, a literal segment wins over a named one, from left to right.
//
// GET routes answer HEAD too (the handler sees "HEAD"; the body is not sent). OPTIONS is answered from the
// table. An unknown path is 404 with the nearest known one, a known path with another method 405 with Allow.
//
// Handlers are called on a thread of the server and must not block; they may keep the Responder and answer
// later from anywhere.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/http_message.h"
#include "transport/responder.h"

namespace weir::transport {

using Handler = std::function<void(HttpRequest, Responder)>;

class Router {
 public:
  // Requires: the pattern begins with '/', its names are different, and it is new for that method.
  void add(std::string_view method, std::string_view pattern, Handler handler);

  struct Match {
    const Handler* handler = nullptr;     // null: answer with `refusal`
    std::string_view pattern;             // "/v1/jobs/{id}"; empty when no path matches
    std::optional<HttpResponse> refusal;  // 404, 405, or the answer to OPTIONS
  };

  // Fills in the request's parameters. The pattern lives as long as the router.
  Match match(HttpRequest& request) const;

  // Every pattern with its methods, in the order of `add`: {"GET", "/v1/jobs"}.
  const std::vector<std::pair<std::string, std::string>>& routes() const { return added_; }

 private:
  struct Endpoint {
    std::string method;
    Handler handler;
  };
  struct Route {
    std::string pattern;
    std::vector<std::string> segments;  // "{name}" as written
    std::vector<Endpoint> endpoints;
  };

  const Route* find(const std::vector<std::string>& segments) const;
  static const Handler* handler_of(const Route& route, std::string_view method);
  static std::string allowed_methods(const Route& route);
  std::string not_found_detail(const HttpRequest& request) const;

  std::vector<Route> routes_;  // the more literal first
  std::vector<std::pair<std::string, std::string>> added_;
};

}  // namespace weir::transport
