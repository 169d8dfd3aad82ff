// SPDX-License-Identifier: Apache-2.0
//
// Blocking HTTP calls, for the command line and for the servers of a cluster. One client keeps its connection
// between calls; it is used by one thread at a time. An answer of the server is a value whatever its status; an
// Error (`unavailable`) means that there was none.
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

// Whom to trust, and who we are. All as PEM text; empty: none.
struct HttpTls {
  std::string authorities;  // none: those of the system
  std::string client_certificate;
  std::string client_key;
  std::string server_name;  // the name its certificate must have; none: that of the URL
  std::string
      pinned_key;  // "sha256//BASE64": the server has this key, whoever signed its certificate
  bool is_unchecked = false;  // whoever answers is taken for the server
  friend bool operator==(const HttpTls&, const HttpTls&) = default;
};

struct HttpClientOptions {
  std::string base_url;  // "https://10.0.0.1:6443", no query
  std::string token;     // empty: none is sent
  std::string user;      // with `password`; empty: none
  std::string password;
  HttpTls tls;
  std::string proxy;  // "http://HOST:PORT", "socks5://HOST:PORT"; empty: that of the environment
  std::string user_agent = "weir";
  // What is said when nobody is there.
  std::string expected_server = "a server there; is `weir serve` running?";
  HttpClientLimits limits;
};

class HttpClient {
 public:
  // base_url: "http://127.0.0.1:7070", no path. An empty token sends none.
  explicit HttpClient(std::string base_url, std::string token = "", HttpClientLimits limits = {});
  explicit HttpClient(HttpClientOptions options);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // path: with its query, encoded: "/v1/jobs?limit=10".
  Result<HttpReply> send(std::string_view method, std::string_view path, std::string_view body = "",
                         std::string_view content_type = "application/json",
                         const HeaderList& headers = {});
  Result<HttpReply> get(std::string_view path, const HeaderList& headers = {});
  // The same, packed on its way with gzip where the server can do that: for long answers.
  Result<HttpReply> get_packed(std::string_view path, const HeaderList& headers = {});

  // GETs a response of any length. `on_bytes` gets the body piece by piece when the status is 2xx, and ends the
  // transfer by returning false; otherwise the body is in the reply. `should_stop` is asked about once a second.
  // `on_begin` is called when the status is 2xx and the header is there: the body may be long in coming.
  Result<HttpReply> stream(std::string_view path, const HeaderList& headers,
                           const std::function<bool(std::string_view bytes)>& on_bytes,
                           const std::function<bool()>& should_stop = {},
                           const std::function<void()>& on_begin = {});

  const std::string& base_url() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::transport
