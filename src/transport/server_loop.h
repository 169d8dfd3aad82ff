// SPDX-License-Identifier: Apache-2.0
//
// One thread of the server with the connections it owns. Other threads leave messages in its inbox; only the
// first of a batch wakes it, so that a hundred answers at once cost one system call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "transport/address_limits.h"
#include "transport/asio.h"
#include "transport/http_server.h"
#include "transport/stream_buffer.h"
#include "transport/token_bucket.h"

namespace weir::transport {

class HttpConnection;
using SteadyTime = std::chrono::steady_clock::time_point;

// What all threads of a server share.
struct ServerContext {
  ServerContext(HttpServerOptions chosen, Router table);

  const HttpServerOptions options;
  const Router router;
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> body_bytes{0};
  AddressLimits addresses;

  // Seconds to wait, or 0 when the request may pass.
  long seconds_to_wait(SteadyTime now);

 private:
  std::mutex mutex_;
  TokenBucket requests_;
};

class ServerLoop : public std::enable_shared_from_this<ServerLoop> {
 public:
  explicit ServerLoop(std::shared_ptr<ServerContext> context);

  void start();
  void join();
  // After all loops have been joined: connections handed over at the last moment are closed.
  void run_left_over();

  // From any thread.
  enum class MessageKind : std::uint8_t { answer, begin_stream, take_stream };
  struct Message {
    std::shared_ptr<HttpConnection> to;
    MessageKind kind = MessageKind::answer;
    HttpResponse response;
    std::shared_ptr<StreamBuffer> stream;
  };
  // False when the loop has ended; the message is dropped.
  bool post(Message message);
  void begin_stop();

  // From its own thread.
  void add(std::shared_ptr<HttpConnection> connection);
  void remove(HttpConnection& connection);
  std::string_view date();
  bool is_stopping() const { return is_stopping_; }
  bool is_this_thread() const;
  ServerContext& context() { return *context_; }
  boost::asio::io_context& io() { return io_; }

 private:
  void read_inbox();
  void sweep();
  void close_all();
  void finish_if_empty();

  const std::shared_ptr<ServerContext> context_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keeps_running_;
  boost::asio::steady_timer sweeper_;
  std::chrono::milliseconds sweep_interval_;
  std::vector<std::shared_ptr<HttpConnection>> connections_;
  bool is_stopping_ = false;
  SteadyTime stop_deadline_;
  std::time_t date_seconds_ = 0;
  std::string date_;
  std::thread thread_;

  std::mutex inbox_mutex_;
  std::vector<Message> inbox_;
  std::vector<Message> messages_;  // those being read
  bool is_over_ = false;
};

}  // namespace weir::transport
