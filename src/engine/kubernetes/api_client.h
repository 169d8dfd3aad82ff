// SPDX-License-Identifier: Apache-2.0
//
// Questions to an API server. It has no way to write: the type is the promise of observe mode. Used by one thread
// at a time; every thread has its own, they share the source of credentials.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/kubernetes/api_server.h"
#include "engine/kubernetes/request_counts.h"
#include "transport/http_client.h"

namespace weir::engine::kubernetes {

// By the system's clock.
Time system_now();

struct ApiClientSettings {
  std::string user_agent = "weir (observe)";  // it is in the server's audit log
  std::chrono::milliseconds silence_time{
      150'000};                                   // of a watch; bookmarks come about once a minute
  std::chrono::milliseconds answer_time{60'000};  // of a list's page
  std::function<Time()> now;                      // none: system_now
};

class ApiClient {
 public:
  // `counts` may be null; it must outlive the client.
  ApiClient(ApiServer server, ApiClientSettings settings, RequestCounts* counts = nullptr);

  // path: "/api/v1/pods?limit=500".
  Result<transport::HttpReply> get(std::string_view path);
  // As HttpClient::stream.
  Result<transport::HttpReply> stream(std::string_view path,
                                      const std::function<bool(std::string_view bytes)>& on_bytes,
                                      const std::function<bool()>& should_stop,
                                      const std::function<void()>& on_begin = {});

 private:
  template <class Ask>
  Result<transport::HttpReply> ask(std::string_view verb, Ask ask_once);
  std::optional<Error> connect();

  ApiServer server_;
  ApiClientSettings settings_;
  RequestCounts* counts_;
  std::optional<Credentials> used_;
  std::optional<transport::HttpClient> http_;
};

// What the server wants us to wait: its Retry-After in seconds. Nothing: it did not say.
std::optional<Duration> retry_after(const transport::HttpReply& reply);

}  // namespace weir::engine::kubernetes
