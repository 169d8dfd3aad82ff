// SPDX-License-Identifier: Apache-2.0
//
// One client: reads a request, has it answered, writes the answer, and again. Everything happens on the thread
// of its loop, except send() and stream(), which may come from anywhere and go through the loop's inbox.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "transport/asio.h"
#include "transport/request_reader.h"
#include "transport/responder.h"
#include "transport/response_text.h"
#include "transport/server_loop.h"

namespace weir::transport {

using ServerSocket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

class HttpConnection final : public ResponseSink,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  // `address`: for ServerContext::addresses, which it has entered.
  HttpConnection(std::shared_ptr<ServerLoop> loop, ServerSocket socket, std::string address);
  ~HttpConnection() override;

  void start();
  // Answers without looking at the request, then closes.
  void start_refusing(HttpResponse refusal);

  // From any thread, by way of the Responder.
  void send(HttpResponse response) override;
  EventStream stream(HttpResponse head) override;

  // For the loop.
  std::size_t place_in_loop = 0;
  SteadyTime deadline() const { return deadline_; }
  // A stream whose caller may not listen any more.
  bool is_unwelcome() const {
    return phase_ == Phase::streaming && caller_ && !caller_->is_welcome();
  }
  void take(ServerLoop::Message message);
  void time_is_up();
  void finish_soon();
  void close();

 private:
  enum class Phase : std::uint8_t { reading, handling, writing, streaming, lingering, closed };

  void read_more();
  void make_room();
  void on_read(const boost::system::error_code& error, std::size_t bytes);
  // Makes plain bytes of what was read; false when the connection is over.
  bool decrypt(std::size_t bytes);
  // Sends what TLS has to say beside the answers. False when the client does not take it.
  bool send_tls_output();
  void say_goodbye();
  void process();
  bool process_step();
  void check_header();
  std::optional<HttpResponse> refusal_of_header();
  bool reserve_body();
  void release_body();
  void tell_to_continue();
  void handle();

  void answer(HttpResponse response);
  void begin_stream(HttpResponse head, std::shared_ptr<StreamBuffer> stream);
  void take_from_stream();
  void end_stream();
  void begin_output(HttpResponse& response, BodyEnd end);
  // True when all is written at once; otherwise on_written() follows.
  bool write_now();
  void write_rest();
  std::size_t take_off(std::size_t sent);
  void on_written(const boost::system::error_code& error);
  void finish_response();
  void linger();
  void report_access();
  std::string_view unread() const {
    return std::string_view{input_}.substr(input_begin_, input_end_ - input_begin_);
  }

  const std::shared_ptr<ServerLoop> loop_;
  ServerSocket socket_;
  std::string peer_;
  const std::string address_;
  std::unique_ptr<TlsSession> tls_;
  std::string cipher_;  // room for what comes from the network, with TLS
  Phase phase_ = Phase::reading;
  SteadyTime deadline_;
  TokenBucket requests_;

  std::string input_;  // its size is the room there is
  std::size_t input_begin_ = 0;
  std::size_t input_end_ = 0;
  RequestReader reader_;
  bool is_reading_ = false;
  bool is_processing_ = false;
  bool is_in_handler_ = false;
  bool has_begun_ = false;    // a byte of the request has come
  bool has_request_ = false;  // all of it has

  Router::Match match_;
  std::shared_ptr<const Caller> caller_;
  std::optional<HttpResponse> refusal_;  // to be sent when the body has been read
  std::size_t reserved_body_ = 0;
  std::string method_;
  std::string path_;
  SteadyTime begun_at_;

  std::string output_;
  std::string body_;  // of a large response, which is not copied
  std::array<boost::asio::const_buffer, 2> to_write_;
  bool is_writing_ = false;
  bool closes_after_ = false;
  int status_ = 0;
  std::uint64_t bytes_out_ = 0;
  std::size_t discarded_ = 0;

  std::shared_ptr<StreamBuffer> stream_;
  bool has_chunks_ = false;
  bool is_last_batch_ = false;
};

}  // namespace weir::transport
