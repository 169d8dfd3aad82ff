// SPDX-License-Identifier: Apache-2.0
//
// Blocking HTTP calls for the command line. One client keeps its connection between calls; it is used by
// one thread at a time. An answer of the server is a value whatever its status; an Error (`unavailable`)
// means that there was none.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "transport/http_message.h"
#include "transport/request_target.h"  // percent_encoded, for paths

namespace weir::transport {

struct HttpReply {
  int status = 0;
  HeaderList headers;
  std::string body;
  bool succeeded() const { return status >= 200 && status < 300; }
};

struct HttpClientLimits {
  std::chrono::milliseconds connect_time{5'000};
  std::chrono::milliseconds total_time{30'000};  // of a call; streams have none
  std::chrono::milliseconds silence_time{
      90'000};  // of a stream; the server sends comments more often
  std::size_t reply_bytes = 256 << 20;
};

class HttpClient {
 public:
  // base_url: "http://127.0.0.1:7070", no path. An empty token sends none.
  explicit HttpClient(std::string base_url, std::string token = "", HttpClientLimits limits = {});
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // path: with its query, encoded: "/v1/jobs?limit=10".
  Result<HttpReply> send(std::string_view method, std::string_view path, std::string_view body = "",
                         std::string_view content_type = "application/json",
                         const HeaderList& headers = {});
  Result<HttpReply> get(std::string_view path, const HeaderList& headers = {});

  // GETs a response of any length. `on_bytes` gets the body piece by piece when the status is 2xx, and ends the
  // transfer by returning false; otherwise the body is in the reply. `should_stop` is asked about once a second.
  Result<HttpReply> stream(std::string_view path, const HeaderList& headers,
                           const std::function<bool(std::string_view bytes)>& on_bytes,
                           const std::function<bool()>& should_stop = {});

  const std::string& base_url() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::transport
