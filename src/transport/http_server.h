// SPDX-License-Identifier: Apache-2.0
//
// An HTTP/1.1 server, on loopback or, with TLS, on any address. Trusts no client: sizes, times, rates and the number of connections are
// limited, and whatever arrives gets a clear answer (problem details) or a closed connection.
//
// Each thread has its own connections; a connection is answered in the order of its requests, one at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "transport/http_message.h"
#include "transport/router.h"
#include "transport/tls_session.h"
#include "transport/token_bucket.h"

namespace weir::transport {

// One answered request, for logs and metrics. The views last for the call.
struct AccessEntry {
  std::string_view method;  // empty when the request could not be read
  std::string_view route;   // the pattern; empty when no path matched
  std::string_view path;    // as sent, without the query; empty when the request could not be read
  std::string_view peer;    // "127.0.0.1:51234"
  const Caller* caller = nullptr;  // as the gate said
  int status = 0;
  double seconds = 0;       // from the first byte of the request to the last of the response
  std::uint64_t bytes = 0;  // sent, with headers
};

struct HttpServerOptions {
  std::string address = "127.0.0.1";       // others than loopback need TLS
  std::uint16_t port = 0;                  // 0: any free one
  std::shared_ptr<const TlsIdentity> tls;  // null: plain HTTP
  unsigned threads = 1;

  std::size_t body_bytes = 1 << 20;           // more: 413
  std::size_t all_bodies_bytes = 64 << 20;    // request bodies in memory at once; more: 503
  std::size_t header_bytes = 16 << 10;        // more: 431
  std::size_t header_fields = 100;            // more: 431
  std::size_t connections = 1024;             // more: 503
  std::size_t stream_buffer_bytes = 1 << 20;  // a stream's unsent bytes; more: cut off
  RateLimit rate_of_all;                      // more: 429
  RateLimit rate_per_connection;              // more: 429
  RateLimit rate_per_address;                 // more: 429
  std::size_t connections_per_address = 0;    // more: closed without a word; 0: any number

  std::chrono::milliseconds header_time{10'000};  // longer: 408
  std::chrono::milliseconds body_time{30'000};    // longer: 408
  std::chrono::milliseconds idle_time{60'000};    // between requests; longer: closed
  std::chrono::milliseconds write_time{30'000};   // a reader slower than that is cut off
  std::chrono::milliseconds stop_time{5'000};     // for what is in flight when the server stops

  // Added to every answer that does not have a field of that name.
  HeaderList default_headers;

  // Called when the header is there, before the body is read: an answer refuses the request. The place for
  // authentication: it may say who the caller is. Called on a server thread; must not block.
  std::function<std::optional<HttpResponse>(HttpRequest&)> gate;
  // Called on a server thread after each response; must not block.
  std::function<void(const AccessEntry&)> on_access;
};

class HttpServer {
 public:
  // Listens when it returns.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, Router router);

  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  // "http://127.0.0.1:7070"; of a server on all addresses, that of this machine.
  std::string url() const;
  std::size_t open_connections() const;

  // Takes no more requests, lets those in flight be answered for up to stop_time, ends streams after what is
  // buffered, and joins its threads. May be called twice; not from a handler.
  void stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::transport
