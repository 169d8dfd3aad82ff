// SPDX-License-Identifier: Apache-2.0
#include "transport/http_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace weir::transport {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr std::size_t kReadRoom = 4 << 10;
constexpr std::size_t kReadRoomForBody = 16 << 10;
constexpr std::size_t kCipherRoom = 16 << 10;
// A refused body up to this size is read, so that the connection can go on.
constexpr std::size_t kMostReadInVain = 64 << 10;
constexpr std::size_t kMostCopiedBody = 32 << 10;
// A connection that ends early reads on for a while: closing with unread bytes would reset it, and the client
// might never see the answer.
constexpr std::chrono::seconds kLingerTime{5};
constexpr std::size_t kMostLingerBytes = 8 << 20;
constexpr std::size_t kMostReadAhead = 64 << 10;
// A reader has write_time for each of these.
constexpr std::size_t kPieceToWrite = 64 << 10;

std::string text_of(const asio::ip::tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

HttpResponse come_back_later(int status, long seconds, std::string_view detail) {
  HttpResponse response = problem(status, "", detail);
  response.headers.add("Retry-After", std::to_string(seconds));
  return response;
}

// Nothing for a body in chunks, whose length nobody knows.
std::optional<std::size_t> announced_length(const HttpRequest& request) {
  const auto text = request.headers.find("Content-Length");
  std::size_t length = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), length).ec != std::errc{}) {
    return std::nullopt;
  }
  return length;
}

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<ServerLoop> loop, ServerSocket socket,
                               std::string address)
    : loop_{std::move(loop)},
      socket_{std::move(socket)},
      address_{std::move(address)},
      requests_{loop_->context().options.rate_per_connection, steady_clock::now()},
      reader_{RequestLimits{loop_->context().options.body_bytes,
                            loop_->context().options.header_bytes,
                            loop_->context().options.header_fields}} {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay{true}, ignored);
  const auto endpoint = socket_.remote_endpoint(ignored);
  if (!ignored) peer_ = text_of(endpoint);
  if (const auto& tls = loop_->context().options.tls) tls_ = std::make_unique<TlsSession>(*tls);
}

HttpConnection::~HttpConnection() = default;

void HttpConnection::start() {
  loop_->add(shared_from_this());
  if (loop_->is_stopping()) return close();
  deadline_ = steady_clock::now() + loop_->context().options.header_time;
  read_more();
}

void HttpConnection::start_refusing(HttpResponse refusal) {
  loop_->add(shared_from_this());
  if (tls_) return close();  // a handshake is more than it is worth
  begun_at_ = steady_clock::now();
  closes_after_ = true;
  answer(std::move(refusal));
}

// Reading.

void HttpConnection::make_room() {
  const std::size_t wanted = reader_.has_body() ? kReadRoomForBody : kReadRoom;
  if (input_begin_ == input_end_) {
    input_begin_ = input_end_ = 0;
    if (input_.size() > 2 * kReadRoomForBody) std::string{}.swap(input_);
  }
  if (input_.size() - input_end_ >= wanted / 2) return;
  std::memmove(input_.data(), input_.data() + input_begin_, input_end_ - input_begin_);
  input_end_ -= input_begin_;
  input_begin_ = 0;
  if (input_.size() - input_end_ < wanted / 2) input_.resize(input_end_ + wanted);
}

void HttpConnection::read_more() {
  if (is_reading_) return;
  asio::mutable_buffer room;
  if (tls_) {
    cipher_.resize(kCipherRoom);
    room = asio::buffer(cipher_);
  } else {
    make_room();
    room = asio::buffer(input_.data() + input_end_, input_.size() - input_end_);
  }
  is_reading_ = true;
  socket_.async_read_some(room,
                          [self = shared_from_this()](const error_code& error, std::size_t bytes) {
                            self->is_reading_ = false;
                            self->on_read(error, bytes);
                          });
}

void HttpConnection::on_read(const error_code& error, std::size_t bytes) {
  if (phase_ == Phase::closed) return;
  const bool is_answering = phase_ == Phase::handling || phase_ == Phase::writing;
  if (error) {
    if (!is_answering) close();
    return;
  }
  if (phase_ == Phase::lingering) {
    discarded_ += bytes;
    return discarded_ > kMostLingerBytes ? close() : read_more();
  }
  if (tls_) {
    if (!decrypt(bytes)) return is_answering ? void() : close();
  } else {
    input_end_ += bytes;
  }
  if (phase_ == Phase::reading) {
    process();
  } else if (phase_ == Phase::streaming) {
    return unread().size() > kMostReadAhead ? close() : read_more();
  }
}

bool HttpConnection::decrypt(std::size_t bytes) {
  tls_->receive(std::string_view{cipher_}.substr(0, bytes));
  const std::size_t before = unread().size();
  std::size_t got = 0;
  do {
    make_room();
    got = tls_->read(input_.data() + input_end_, input_.size() - input_end_);
    input_end_ += got;
  } while (got > 0);
  // Who says goodbye behind a request still gets its answer.
  const bool is_over = tls_->has_ended() && unread().size() == before;
  return send_tls_output() && !tls_->is_broken() && !is_over;
}

bool HttpConnection::send_tls_output() {
  if (is_writing_) return true;  // it goes with what is written next
  const std::string output = tls_->take_output();
  if (output.empty()) return true;
  error_code error;
  // As below: who takes no handshake is not worth waiting for.
  return socket_.write_some(asio::buffer(output), error) == output.size() && !error;
}

void HttpConnection::say_goodbye() {
  if (!tls_ || is_writing_) return;
  tls_->end();
  send_tls_output();
}

void HttpConnection::process() {
  if (is_processing_) return;
  is_processing_ = true;
  while (phase_ == Phase::reading && process_step()) continue;
  is_processing_ = false;
}

// False when it takes more bytes to go on.
bool HttpConnection::process_step() {
  if (!has_begun_ && input_begin_ < input_end_) {
    has_begun_ = true;
    begun_at_ = steady_clock::now();
    deadline_ = begun_at_ + loop_->context().options.header_time;
  }
  const auto [step, used] = reader_.put(unread());
  input_begin_ += used;
  switch (step) {
    case RequestReader::Step::needs_more:
      read_more();
      return false;
    case RequestReader::Step::has_header:
      check_header();
      break;
    case RequestReader::Step::has_request:
      has_request_ = true;
      handle();
      break;
    case RequestReader::Step::failed:
      method_ = reader_.request().method;
      closes_after_ = true;
      answer(reader_.failure());
      break;
  }
  return true;
}

bool HttpConnection::reserve_body() {
  ServerContext& context = loop_->context();
  reserved_body_ = announced_length(reader_.request()).value_or(context.options.body_bytes);
  return context.body_bytes.fetch_add(reserved_body_) + reserved_body_ <=
         context.options.all_bodies_bytes;
}

void HttpConnection::release_body() {
  if (reserved_body_ == 0) return;
  loop_->context().body_bytes.fetch_sub(reserved_body_);
  reserved_body_ = 0;
}

std::optional<HttpResponse> HttpConnection::refusal_of_header() {
  ServerContext& context = loop_->context();
  HttpRequest& request = reader_.request();
  match_ = context.router.match(request);
  long wait = requests_.take(begun_at_) ? 0 : requests_.wait_seconds();
  if (wait == 0) wait = context.addresses.seconds_to_wait(address_, begun_at_);
  if (wait == 0) wait = context.seconds_to_wait(begun_at_);
  if (wait > 0) return come_back_later(429, wait, "too many requests; please wait a little");
  if (context.options.gate) {
    if (auto refusal = context.options.gate(request)) return refusal;
  }
  if (match_.refusal) return std::move(match_.refusal);
  if (reader_.has_body() && !reserve_body()) {
    return come_back_later(503, 1, "the server holds too many requests; please try again");
  }
  return std::nullopt;
}

void HttpConnection::check_header() {
  HttpRequest& request = reader_.request();
  request.peer = peer_;
  method_ = request.method;
  path_ = std::string_view{request.target}.substr(0, request.target.find('?'));
  refusal_ = refusal_of_header();
  caller_ = request.caller;
  if (!reader_.has_body()) return;
  deadline_ = steady_clock::now() + loop_->context().options.body_time;
  if (!refusal_) {
    if (reader_.expects_continue() && unread().empty()) tell_to_continue();
    return;
  }
  const auto length = announced_length(request);
  if (reader_.expects_continue() || !length || *length > kMostReadInVain) {
    closes_after_ = true;
    answer(std::move(*refusal_));
  }
}

void HttpConnection::tell_to_continue() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  if (tls_) {
    tls_->write(kContinue);
    return send_tls_output() ? void() : close();
  }
  error_code error;
  const std::size_t sent = socket_.write_some(asio::buffer(kContinue), error);
  bytes_out_ += sent;
  // A client that takes no 25 bytes after an empty line of answers is not worth waiting for.
  if (error || sent < kContinue.size()) close();
}

void HttpConnection::handle() {
  phase_ = Phase::handling;
  deadline_ = SteadyTime::max();
  if (refusal_) return answer(std::move(*refusal_));
  is_in_handler_ = true;
  try {
    (*match_.handler)(std::move(reader_.request()), Responder{shared_from_this()});
  } catch (...) {
    // The Responder was dropped on the way, so the client has its answer: 500.
  }
  is_in_handler_ = false;
}

// Answering.

void HttpConnection::send(HttpResponse response) {
  if (loop_->is_this_thread() && is_in_handler_) return answer(std::move(response));
  loop_->post({shared_from_this(), ServerLoop::MessageKind::answer, std::move(response), nullptr});
}

EventStream HttpConnection::stream(HttpResponse head) {
  auto wake = [weak = weak_from_this()](std::shared_ptr<StreamBuffer> buffer) {
    auto self = weak.lock();
    if (!self) return false;
    ServerLoop& loop = *self->loop_;
    return loop.post(
        {std::move(self), ServerLoop::MessageKind::take_stream, {}, std::move(buffer)});
  };
  auto buffer =
      std::make_shared<StreamBuffer>(loop_->context().options.stream_buffer_bytes, std::move(wake));
  EventStream stream{buffer};
  if (loop_->is_this_thread() && is_in_handler_) {
    begin_stream(std::move(head), buffer);
  } else if (!loop_->post({shared_from_this(), ServerLoop::MessageKind::begin_stream,
                           std::move(head), buffer})) {
    buffer->abandon();
  }
  return stream;
}

void HttpConnection::take(ServerLoop::Message message) {
  switch (message.kind) {
    case ServerLoop::MessageKind::answer:
      return answer(std::move(message.response));
    case ServerLoop::MessageKind::begin_stream:
      return begin_stream(std::move(message.response), std::move(message.stream));
    case ServerLoop::MessageKind::take_stream:
      if (message.stream != stream_) return message.stream->abandon();
      return take_from_stream();
  }
}

void HttpConnection::begin_output(HttpResponse& response, BodyEnd end) {
  for (const auto& [name, value] : loop_->context().options.default_headers) {
    if (response.headers.count(name) == 0) response.headers.add(name, value);
  }
  if (loop_->is_stopping() || reader_.is_http_1_0() || !reader_.keeps_alive()) {
    closes_after_ = true;
  }
  status_ = response.status;
  output_.clear();
  append_response_head(output_, response, ResponseFraming{end, !closes_after_, loop_->date()});
}

void HttpConnection::answer(HttpResponse response) {
  if (phase_ != Phase::handling && phase_ != Phase::reading) return;
  begin_output(response, BodyEnd::content_length);
  if (method_ != "HEAD" && may_have_body(response.status)) {
    if (response.body.size() <= kMostCopiedBody) {
      output_ += response.body;
    } else {
      body_ = std::move(response.body);
    }
  }
  phase_ = Phase::writing;
  if (write_now()) finish_response();
}

bool HttpConnection::write_now() {
  if (tls_) {
    tls_->write(output_);
    tls_->write(body_);
    output_ = tls_->take_output();
    std::string{}.swap(body_);
    if (tls_->is_broken()) {
      close();
      return false;
    }
  }
  to_write_ = {asio::buffer(output_), asio::buffer(body_)};
  error_code error;
  const std::size_t sent = socket_.write_some(to_write_, error);
  if (error && error != asio::error::would_block) {
    close();
    return false;
  }
  if (take_off(sent) == 0) return true;
  write_rest();
  return false;
}

// Piece by piece: a reader has its time for each.
void HttpConnection::write_rest() {
  is_writing_ = true;
  deadline_ = steady_clock::now() + loop_->context().options.write_time;
  asio::async_write(socket_, to_write_, asio::transfer_exactly(kPieceToWrite),
                    [self = shared_from_this()](const error_code& failure, std::size_t bytes) {
                      self->is_writing_ = false;
                      const std::size_t rest = self->take_off(bytes);
                      if (failure || rest == 0 || self->phase_ == Phase::closed) {
                        self->on_written(failure);
                      } else {
                        self->write_rest();
                      }
                    });
}

// What is left to write.
std::size_t HttpConnection::take_off(std::size_t sent) {
  bytes_out_ += sent;
  for (asio::const_buffer& part : to_write_) {
    const std::size_t of_part = std::min(sent, part.size());
    part += of_part;
    sent -= of_part;
  }
  return to_write_[0].size() + to_write_[1].size();
}

void HttpConnection::on_written(const error_code& error) {
  if (phase_ == Phase::closed) return;
  if (error) return close();
  if (phase_ == Phase::writing) return finish_response();
  deadline_ = SteadyTime::max();
  output_.clear();
  if (is_last_batch_) return end_stream();
  const auto stream = stream_;
  stream->sent();
  take_from_stream();
}

void HttpConnection::report_access() {
  const auto& on_access = loop_->context().options.on_access;
  if (!on_access) return;
  const std::chrono::duration<double> taken = steady_clock::now() - begun_at_;
  AccessEntry entry;
  entry.method = method_;
  entry.route = match_.pattern;
  entry.path = path_;
  entry.peer = peer_;
  entry.caller = caller_.get();
  entry.status = status_;
  entry.seconds = taken.count();
  entry.bytes = bytes_out_;
  on_access(entry);
}

void HttpConnection::finish_response() {
  phase_ = Phase::handling;  // nothing is cut short any more
  report_access();
  release_body();
  if (closes_after_ || loop_->is_stopping()) {
    return has_request_ && unread().empty() ? close() : linger();
  }
  if (body_.capacity() > kMostCopiedBody) std::string{}.swap(body_);
  body_.clear();
  if (output_.capacity() > 2 * kMostCopiedBody) std::string{}.swap(output_);
  match_ = {};
  caller_.reset();
  refusal_.reset();
  method_.clear();
  path_.clear();
  bytes_out_ = 0;
  has_begun_ = has_request_ = false;
  reader_.begin();
  phase_ = Phase::reading;
  deadline_ = steady_clock::now() + loop_->context().options.idle_time;
  process();
}

void HttpConnection::linger() {
  phase_ = Phase::lingering;
  say_goodbye();
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  input_begin_ = input_end_ = 0;
  deadline_ = steady_clock::now() + kLingerTime;
  read_more();
}

// Streams.

void HttpConnection::begin_stream(HttpResponse head, std::shared_ptr<StreamBuffer> stream) {
  if (phase_ != Phase::handling) return stream->abandon();
  has_chunks_ = !reader_.is_http_1_0();
  begin_output(head, has_chunks_ ? BodyEnd::chunks : BodyEnd::close);
  if (method_ == "HEAD" || !may_have_body(head.status)) {
    stream->abandon();
    phase_ = Phase::writing;
    if (write_now()) finish_response();
    return;
  }
  if (!head.body.empty()) {
    has_chunks_ ? append_chunk(output_, head.body) : void(output_ += head.body);
  }
  phase_ = Phase::streaming;
  deadline_ = SteadyTime::max();
  stream_ = std::move(stream);
  is_last_batch_ = false;
  if (loop_->is_stopping()) stream_->close();
  read_more();  // only to see when the client leaves
  take_from_stream();
}

void HttpConnection::take_from_stream() {
  if (phase_ != Phase::streaming) return;
  if (stream_->is_cut_off()) return close();
  if (is_writing_) return;
  const StreamBuffer::Batch batch = stream_->take();
  if (!batch.bytes.empty()) {
    has_chunks_ ? append_chunk(output_, batch.bytes) : void(output_ += batch.bytes);
  }
  is_last_batch_ = batch.is_last;
  if (is_last_batch_ && has_chunks_) output_ += kLastChunk;
  if (!output_.empty() && !write_now()) return;
  output_.clear();
  if (is_last_batch_) return end_stream();
  const auto stream = stream_;
  stream->sent();
}

void HttpConnection::end_stream() {
  const auto stream = std::exchange(stream_, nullptr);
  stream->abandon();
  if (phase_ == Phase::streaming) finish_response();
}

// Ending.

void HttpConnection::time_is_up() {
  if (phase_ == Phase::reading && has_begun_) {
    closes_after_ = true;
    return answer(problem(408, "", "the request did not arrive in time"));
  }
  close();
}

void HttpConnection::finish_soon() {
  if (phase_ == Phase::reading && !has_begun_) return close();
  if (phase_ == Phase::streaming) stream_->close();
}

void HttpConnection::close() {
  if (phase_ == Phase::closed) return;
  const bool is_cut_short = phase_ == Phase::writing || phase_ == Phase::streaming;
  phase_ = Phase::closed;
  const auto self = shared_from_this();  // the loop may hold the last reference
  if (!is_cut_short) say_goodbye();
  error_code ignored;
  socket_.close(ignored);
  if (is_cut_short) report_access();
  release_body();
  loop_->context().connections.fetch_sub(1);
  loop_->context().addresses.leave(address_);
  loop_->remove(*this);
  if (const auto stream = std::exchange(stream_, nullptr)) stream->abandon();
}

}  // namespace weir::transport
