// SPDX-License-Identifier: Apache-2.0
//
// A client for tests that says exactly what it is told, right or wrong, and waits generously.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace weir::transport {

struct RawResponse {
  int status = 0;
  std::string head;
  std::string body;

  // The value of a header, as "Name: value" stands in the head.
  std::string header(std::string_view name) const {
    const std::string key = "\r\n" + std::string{name} + ": ";
    const std::size_t at = head.find(key);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + key.size();
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class RawClient {
 public:
  static constexpr int kPatienceMs = 30'000;

  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool is_connected() const { return is_connected_; }

  // False when the server no longer listens to us.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void shut_down_sending() { ::shutdown(socket_, SHUT_WR); }

  // Waits for more bytes; false at the end of the connection or of our patience.
  bool read_some() {
    pollfd wanted{socket_, POLLIN, 0};
    if (::poll(&wanted, 1, kPatienceMs) <= 0) return false;
    char room[65536];
    const ssize_t got = ::recv(socket_, room, sizeof room, 0);
    if (got <= 0) return false;
    input_.append(room, static_cast<std::size_t>(got));
    return true;
  }

  bool read_until(std::string_view text) {
    while (input_.find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }

  // Everything until the server closes.
  std::string read_all() {
    while (read_some()) continue;
    return std::exchange(input_, {});
  }

  // One response with Content-Length (or none, after HEAD).
  std::optional<RawResponse> read_response(bool is_to_head = false) {
    if (!read_until("\r\n\r\n")) return std::nullopt;
    const std::size_t end = input_.find("\r\n\r\n");
    RawResponse response{0, input_.substr(0, end + 2), ""};
    if (response.head.size() > 12) response.status = std::atoi(response.head.c_str() + 9);
    const std::size_t length =
        is_to_head ? 0 : std::strtoul(response.header("Content-Length").c_str(), nullptr, 10);
    while (input_.size() < end + 4 + length) {
      if (!read_some()) return std::nullopt;
    }
    response.body = input_.substr(end + 4, length);
    input_.erase(0, end + 4 + length);
    return response;
  }

  std::optional<RawResponse> ask(std::string_view request, bool is_to_head = false) {
    if (!send(request)) return std::nullopt;
    return read_response(is_to_head);
  }

  // The server has nothing more to say and hung up.
  bool is_closed_by_server() {
    while (true) {
      pollfd wanted{socket_, POLLIN, 0};
      if (::poll(&wanted, 1, kPatienceMs) <= 0) return false;
      char room[4096];
      const ssize_t got = ::recv(socket_, room, sizeof room, 0);
      if (got <= 0) return true;
    }
  }

  std::string& input() { return input_; }

 private:
  int socket_;
  bool is_connected_ = false;
  std::string input_;
};

}  // namespace weir::transport
