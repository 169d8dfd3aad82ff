// SPDX-License-Identifier: Apache-2.0
//
// Makes requests out of bytes, without a socket. Bytes may come in any pieces; what is not used must be
// offered again with more behind it. Strict where leniency lets two readers disagree about where a request
// ends: one Content-Length, no Transfer-Encoding but chunked, never both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "transport/http_message.h"

namespace weir::transport {

struct RequestLimits {
  std::size_t body_bytes = 1 << 20;
  std::size_t header_bytes = 16 << 10;
  std::size_t header_fields = 100;
};

class RequestReader {
 public:
  explicit RequestReader(RequestLimits limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  enum class Step : std::uint8_t {
    needs_more,   // all that could be used is used
    has_header,   // once per request: everything but the body is there; call again for the body
    has_request,  // complete
    failed,       // failure() is the answer; the connection cannot go on
  };
  struct Progress {
    Step step = Step::needs_more;
    std::size_t used = 0;
  };

  // Requires: not failed; after has_request, begin() first.
  Progress put(std::string_view bytes);

  // Forgets the request and gets ready for the next.
  void begin();

  bool has_begun() const;  // a byte of the request has arrived
  // Valid from has_header on; may be moved from at has_request.
  HttpRequest& request() { return request_; }
  const HttpResponse& failure() const { return failure_; }
  bool keeps_alive() const;
  bool is_http_1_0() const;
  bool has_body() const;
  bool expects_continue() const;  // the client waits for "100 Continue" before it sends the body

 private:
  class Parser;
  Step fail(HttpResponse failure);
  Step finish_header();

  RequestLimits limits_;
  HttpRequest request_;
  HttpResponse failure_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace weir::transport
