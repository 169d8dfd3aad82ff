// SPDX-License-Identifier: Apache-2.0
#include "transport/http_server.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "transport/asio.h"
#include "transport/http_connection.h"
#include "transport/server_loop.h"

namespace weir::transport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

// Connections above the limit that are still told why they are turned away.
constexpr std::size_t kMostRefusedAtOnce = 64;
constexpr milliseconds kWaitAfterFailedAccept{100};
// A server that was killed while it started another process leaves its port to that one, until the new
// program begins.
constexpr milliseconds kHeirsLife{1000};
constexpr milliseconds kLookAgain{20};

Result<asio::ip::address> usable_address(const std::string& text, bool has_tls) {
  error_code error;
  const auto address = asio::ip::make_address(text == "localhost" ? "127.0.0.1" : text, error);
  if (error) {
    return bad_input(Diagnostic{"", 0, "address", text,
                                "an address of this machine, such as 127.0.0.1, ::1 or 0.0.0.0"});
  }
  if (!address.is_loopback() && !has_tls) {
    return bad_input(Diagnostic{"", 0, "address", text,
                                "127.0.0.1, ::1 or localhost, or TLS: tokens and jobs are not for "
                                "everybody on the way to read"});
  }
  return address;
}

// Who counts as one (address_limits.h).
std::string counted_address(const ServerSocket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "";
  const asio::ip::address address = endpoint.address();
  if (address.is_v4()) return address.to_string();
  if (address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  constexpr std::size_t kNetworkBytes = 8;
  auto bytes = address.to_v6().to_bytes();
  if (!address.is_loopback()) std::fill(bytes.begin() + kNetworkBytes, bytes.end(), 0);
  return asio::ip::address_v6{bytes}.to_string();
}

tl::unexpected<Error> cannot_listen(const tcp::endpoint& endpoint, const error_code& error) {
  const bool is_taken = error == asio::error::address_in_use;
  Diagnostics details;
  details.add(Diagnostic{
      fmt::format("cannot listen on {}", endpoint.address().to_string()), 0,
      fmt::format("port {}", endpoint.port()), is_taken ? "taken" : error.message(),
      is_taken ? "a free port; is another weir running?" : "a port this user may listen on"});
  return tl::unexpected(Error{ErrorCode::unavailable, std::move(details)});
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpServerOptions options, Router router)
      : context_{std::make_shared<ServerContext>(std::move(options), std::move(router))} {
    const unsigned threads = std::max(1U, context_->options.threads);
    for (unsigned i = 0; i < threads; ++i) {
      loops_.push_back(std::make_shared<ServerLoop>(context_));
    }
    acceptor_.emplace(loops_.front()->io());
    after_failure_.emplace(loops_.front()->io());
  }

  error_code listen(const tcp::endpoint& endpoint) {
    error_code error = listen_once(endpoint);
    for (milliseconds waited{0}; error == asio::error::address_in_use && waited < kHeirsLife;
         waited += kLookAgain) {
      std::this_thread::sleep_for(kLookAgain);
      error_code ignored;
      acceptor_->close(ignored);
      error = listen_once(endpoint);
    }
    return error;
  }

  void start() {
    accept_next();
    for (const auto& loop : loops_) loop->start();
  }

  void stop() {
    if (std::exchange(is_stopped_, true)) return;
    asio::post(loops_.front()->io(), [this] {
      error_code ignored;
      acceptor_->close(ignored);
      after_failure_->cancel();
    });
    for (const auto& loop : loops_) loop->begin_stop();
    for (const auto& loop : loops_) loop->join();
    for (const auto& loop : loops_) loop->run_left_over();
  }

  const tcp::endpoint& endpoint() const { return endpoint_; }
  std::size_t connections() const { return context_->connections; }
  bool has_tls() const { return context_->options.tls != nullptr; }

 private:
  using Acceptor = asio::basic_socket_acceptor<tcp, asio::io_context::executor_type>;

  error_code listen_once(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_->open(endpoint.protocol(), error);
    // Programs that are started do not get it: they would keep the port.
    if (!error) fcntl(acceptor_->native_handle(), F_SETFD, FD_CLOEXEC);
    if (!error) acceptor_->set_option(asio::socket_base::reuse_address{true}, error);
    if (!error) acceptor_->bind(endpoint, error);
    if (!error) acceptor_->listen(asio::socket_base::max_listen_connections, error);
    if (!error) endpoint_ = acceptor_->local_endpoint(error);
    return error;
  }

  void accept_next() {
    const auto loop = loops_[next_loop_++ % loops_.size()];
    acceptor_->async_accept(loop->io().get_executor(),
                            [this, loop](const error_code& error, ServerSocket socket) {
                              if (!acceptor_->is_open()) return;
                              if (error) return wait_and_accept();
                              welcome(loop, std::move(socket));
                              accept_next();
                            });
  }

  // Out of descriptors, most likely: they come back when connections close.
  void wait_and_accept() {
    after_failure_->expires_after(kWaitAfterFailedAccept);
    after_failure_->async_wait([this](const error_code& error) {
      if (!error && acceptor_->is_open()) accept_next();
    });
  }

  void welcome(const std::shared_ptr<ServerLoop>& loop, ServerSocket socket) {
    std::string address = counted_address(socket);
    if (!context_->addresses.enter(address, std::chrono::steady_clock::now()))
      return;  // the socket closes: a flood deserves no answer
    const std::size_t most = context_->options.connections;
    const std::size_t before = context_->connections.fetch_add(1);
    if (before >= most + kMostRefusedAtOnce) {
      context_->connections.fetch_sub(1);
      context_->addresses.leave(address);
      return;  // the socket closes
    }
    const auto connection =
        std::make_shared<HttpConnection>(loop, std::move(socket), std::move(address));
    const bool is_refused = before >= most;
    auto begin = [connection, is_refused, most] {
      if (!is_refused) return connection->start();
      HttpResponse refusal = problem(503, "", fmt::format("all {} connections are taken", most));
      refusal.headers.add("Retry-After", "1");
      connection->start_refusing(std::move(refusal));
    };
    loop->is_this_thread() ? begin() : asio::post(loop->io(), std::move(begin));
  }

  const std::shared_ptr<ServerContext> context_;
  std::vector<std::shared_ptr<ServerLoop>> loops_;
  std::optional<Acceptor> acceptor_;
  std::optional<asio::steady_timer> after_failure_;
  tcp::endpoint endpoint_;
  std::size_t next_loop_ = 0;
  bool is_stopped_ = false;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}

HttpServer::~HttpServer() {
  stop();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, Router router) {
  const auto address = usable_address(options.address, options.tls != nullptr);
  if (!address) return tl::unexpected(address.error());
  const tcp::endpoint endpoint{*address, options.port};
  auto impl = std::make_unique<Impl>(std::move(options), std::move(router));
  if (const error_code error = impl->listen(endpoint)) return cannot_listen(endpoint, error);
  impl->start();
  return std::unique_ptr<HttpServer>{new HttpServer{std::move(impl)}};
}

std::uint16_t HttpServer::port() const {
  return impl_->endpoint().port();
}

std::string HttpServer::url() const {
  const auto address = impl_->endpoint().address();
  const bool is_v6 = address.is_v6();
  const std::string host = !address.is_unspecified() ? address.to_string()
                           : is_v6                   ? "::1"
                                                     : "127.0.0.1";
  return fmt::format("{}://{}:{}", impl_->has_tls() ? "https" : "http",
                     is_v6 ? "[" + host + "]" : host, port());
}

std::size_t HttpServer::open_connections() const {
  return impl_->connections();
}

void HttpServer::stop() {
  impl_->stop();
}

}  // namespace weir::transport
