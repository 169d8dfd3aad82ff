// SPDX-License-Identifier: Apache-2.0
//
// A load of HTTP requests over keep-alive connections, from one thread, with as little work per request as
// possible, so that the server is what is measured. Each connection has one request under way at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "domain/result.h"

namespace weir::bench {

struct HttpLoad {
  std::uint16_t port = 0;  // on 127.0.0.1
  std::size_t connections = 64;
  std::size_t requests = 10'000;              // in all; it ends when they are answered
  std::chrono::milliseconds longest{60'000};  // or when this is over

  // Writes the bytes of request number `n` (header and body) into `out`, which is empty.
  std::function<void(std::size_t n, std::string& out)> fill;
  // Sees each answer, if set. `body` lasts for the call. False ends the load.
  std::function<bool(std::size_t n, int status, std::string_view body)> on_answer;
};

struct HttpLoadOutcome {
  std::size_t answered = 0;
  std::size_t succeeded = 0;  // status 2xx
  std::size_t broken = 0;     // connections that ended before their answer
  double seconds = 0;
  std::vector<std::uint32_t> latencies_us;  // sorted

  double per_second() const { return seconds > 0 ? static_cast<double>(answered) / seconds : 0; }
  // part: 0.5 for the median. 0 when there is none.
  double latency_ms(double part) const;
};

Result<HttpLoadOutcome> run_http_load(const HttpLoad& load);

// "POST /path HTTP/1.1" with Host, Content-Type, Content-Length and these further lines ("A: b\r\n").
void append_post(std::string& out, std::string_view path, std::string_view further_header_lines,
                 std::string_view body);
void append_get(std::string& out, std::string_view path, std::string_view further_header_lines);

}  // namespace weir::bench
