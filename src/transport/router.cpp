// SPDX-License-Identifier: Apache-2.0
#include "transport/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "domain/nearest_name.h"

namespace weir::transport {
namespace {

bool is_named(std::string_view segment) {
  return segment.starts_with('{');
}

std::vector<std::string> split_pattern(std::string_view pattern) {
  assert(pattern.starts_with('/') && "a pattern begins with '/'");
  std::vector<std::string> segments;
  if (pattern == "/") return segments;
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    assert(end > 0 && "a pattern has no empty segment");
    segments.emplace_back(pattern.substr(0, end));
    pattern.remove_prefix(end);
  }
  return segments;
}

// Literal segments before named ones, from left to right.
bool is_more_literal(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const std::string& x, const std::string& y) { return !is_named(x) && is_named(y); });
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  return std::equal(pattern.begin(), pattern.end(), path.begin(), path.end(),
                    [](const std::string& wanted, const std::string& given) {
                      return is_named(wanted) || wanted == given;
                    });
}

std::string joined(const std::vector<std::string>& segments) {
  std::string path;
  for (const std::string& segment : segments) path += '/' + segment;
  return path.empty() ? "/" : path;
}

}  // namespace

void Router::add(std::string_view method, std::string_view pattern, Handler handler) {
  added_.emplace_back(method, pattern);
  auto known = std::find_if(routes_.begin(), routes_.end(),
                            [&](const Route& route) { return route.pattern == pattern; });
  if (known == routes_.end()) {
    Route route{std::string{pattern}, split_pattern(pattern), {}};
    const auto place = std::find_if(routes_.begin(), routes_.end(), [&](const Route& other) {
      return is_more_literal(route.segments, other.segments);
    });
    known = routes_.insert(place, std::move(route));
  }
  assert(std::none_of(known->endpoints.begin(), known->endpoints.end(),
                      [&](const Endpoint& endpoint) { return endpoint.method == method; }) &&
         "a method has one handler per pattern");
  known->endpoints.push_back(Endpoint{std::string{method}, std::move(handler)});
}

const Router::Route* Router::find(const std::vector<std::string>& segments) const {
  for (const Route& route : routes_) {
    if (matches(route.segments, segments)) return &route;
  }
  return nullptr;
}

const Handler* Router::handler_of(const Route& route, std::string_view method) {
  const auto of = [&](std::string_view wanted) -> const Handler* {
    for (const Endpoint& endpoint : route.endpoints) {
      if (endpoint.method == wanted) return &endpoint.handler;
    }
    return nullptr;
  };
  if (const Handler* handler = of(method)) return handler;
  return method == "HEAD" ? of("GET") : nullptr;
}

std::string Router::allowed_methods(const Route& route) {
  std::string methods;
  const auto add = [&](std::string_view method) {
    if (!methods.empty()) methods += ", ";
    methods += method;
  };
  bool has_head = false;
  bool has_options = false;
  for (const Endpoint& endpoint : route.endpoints) {
    add(endpoint.method);
    has_head = has_head || endpoint.method == "HEAD";
    has_options = has_options || endpoint.method == "OPTIONS";
  }
  if (!has_head && handler_of(route, "GET") != nullptr) add("HEAD");
  if (!has_options) add("OPTIONS");
  return methods;
}

// Known paths with the client's own words in place of names, so that only a wrong literal counts.
std::string Router::not_found_detail(const HttpRequest& request) const {
  const std::string path = joined(request.segments);
  std::vector<std::string> known;
  known.reserve(routes_.size());
  for (const Route& route : routes_) {
    std::vector<std::string> filled = route.segments;
    for (std::size_t i = 0; i < filled.size() && i < request.segments.size(); ++i) {
      if (is_named(filled[i])) filled[i] = request.segments[i];
    }
    known.push_back(joined(filled));
  }
  constexpr std::size_t kLongestPathToCompare = 200;
  const std::string hint = path.size() > kLongestPathToCompare ? "" : did_you_mean(path, known);
  return fmt::format("there is nothing at {}{}", path, hint);
}

Router::Match Router::match(HttpRequest& request) const {
  const bool is_about_all = request.method == "OPTIONS" && request.target == "*";
  if (is_about_all) {
    return {nullptr,
            {},
            HttpResponse{204, "", "", {{"Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"}}}};
  }
  const Route* route = request.target == "*" ? nullptr : find(request.segments);
  if (route == nullptr) return {nullptr, {}, problem(404, "", not_found_detail(request))};
  request.route = route->pattern;
  const Handler* handler = handler_of(*route, request.method);
  if (handler != nullptr) {
    request.parameters.clear();
    for (std::size_t i = 0; i < route->segments.size(); ++i) {
      const std::string_view wanted = route->segments[i];
      if (is_named(wanted)) {
        request.parameters.emplace_back(wanted.substr(1, wanted.size() - 2), request.segments[i]);
      }
    }
    return {handler, route->pattern, std::nullopt};
  }
  const std::string allowed = allowed_methods(*route);
  HttpResponse refusal = request.method == "OPTIONS"
                             ? HttpResponse{204, "", "", {}}
                             : problem(405, "",
                                       fmt::format("{} does not take {}; it takes {}",
                                                   route->pattern, request.method, allowed));
  refusal.headers.add("Allow", allowed);
  return {nullptr, route->pattern, std::move(refusal)};
}

}  // namespace weir::transport
