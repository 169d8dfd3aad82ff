// SPDX-License-Identifier: Apache-2.0
#include "http_load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "transport/http_message.h"

namespace weir::bench {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_{number} {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }

 private:
  int number_;
};

tl::unexpected<Error> failed(std::string_view what, int error) {
  Diagnostics details;
  details.add(Diagnostic{"load", 0, std::string{what}, std::strerror(error), "a server there"});
  return tl::unexpected(Error{ErrorCode::unavailable, std::move(details)});
}

struct Answer {
  int status = 0;
  std::string_view body;
  std::size_t size = 0;  // header and body
};

// Nothing when it is not complete yet. Knows Content-Length only, which is all that weir and slurmrestd
// send for small answers.
std::optional<Answer> parse_answer(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos || bytes.size() < 12) return std::nullopt;
  Answer answer;
  std::from_chars(bytes.data() + 9, bytes.data() + 12, answer.status);
  std::size_t length = 0;
  std::string_view lines = bytes.substr(0, end);
  while (!lines.empty()) {
    const std::size_t line_end = std::min(lines.find("\r\n"), lines.size());
    const std::string_view line = lines.substr(0, line_end);
    lines.remove_prefix(std::min(line_end + 2, lines.size()));
    constexpr std::string_view kName = "Content-Length:";
    if (line.size() > kName.size() &&
        transport::same_header_name(line.substr(0, kName.size()), kName)) {
      std::string_view value = line.substr(kName.size());
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      std::from_chars(value.data(), value.data() + value.size(), length);
    }
  }
  answer.size = end + 4 + length;
  if (bytes.size() < answer.size) return std::nullopt;
  answer.body = bytes.substr(end + 4, length);
  return answer;
}

struct Connection {
  Descriptor socket;
  std::size_t number = 0;  // of the request under way
  bool is_busy = false;
  Clock::time_point sent_at;
  std::string request;
  std::size_t sent = 0;
  std::string input;
};

class Run {
 public:
  explicit Run(const HttpLoad& load) : load_{load} {}

  Result<HttpLoadOutcome> run() {
    epoll_ = Descriptor{::epoll_create1(EPOLL_CLOEXEC)};
    if (epoll_.get() < 0) return failed("epoll", errno);
    connections_.resize(std::min(load_.connections, load_.requests));
    for (Connection& connection : connections_) {
      if (const int error = connect(connection)) return failed("connect", error);
    }
    outcome_.latencies_us.reserve(load_.requests);
    const auto begin = Clock::now();
    for (Connection& connection : connections_) send_next(connection);
    while (busy_ > 0 && !is_ended_ && Clock::now() - begin < load_.longest) wait();
    outcome_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::sort(outcome_.latencies_us.begin(), outcome_.latencies_us.end());
    return std::move(outcome_);
  }

 private:
  int connect(Connection& connection) {
    connection.socket = Descriptor{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const int fd = connection.socket.get();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(load_.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      return errno;
    }
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &connection;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
  }

  // Requests are small against a socket's buffer, so a short write is retried where it stands.
  void send_next(Connection& connection) {
    if (next_ >= load_.requests) return;
    connection.number = next_++;
    connection.request.clear();
    load_.fill(connection.number, connection.request);
    connection.is_busy = true;
    ++busy_;
    connection.sent_at = Clock::now();
    std::string_view rest = connection.request;
    while (!rest.empty()) {
      const ssize_t sent = ::send(connection.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return broke(connection);
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  void broke(Connection& connection) {
    if (std::exchange(connection.is_busy, false)) {
      ++outcome_.broken;
      --busy_;
    }
    connection.socket = Descriptor{};
  }

  void wait() {
    std::array<epoll_event, 64> events{};
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 100);
    for (int i = 0; i < count; ++i) {
      read(*static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr));
    }
  }

  void read(Connection& connection) {
    std::array<char, 65536> room;
    const ssize_t got = ::recv(connection.socket.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return broke(connection);
    connection.input.append(room.data(), static_cast<std::size_t>(got));
    const auto answer = parse_answer(connection.input);
    if (!answer || !connection.is_busy) return;
    take(connection, *answer);
    connection.input.erase(0, answer->size);
    if (!is_ended_) send_next(connection);
  }

  void take(Connection& connection, const Answer& answer) {
    const auto taken = Clock::now() - connection.sent_at;
    outcome_.latencies_us.push_back(static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(taken).count()));
    ++outcome_.answered;
    if (answer.status >= 200 && answer.status < 300) ++outcome_.succeeded;
    connection.is_busy = false;
    --busy_;
    if (load_.on_answer && !load_.on_answer(connection.number, answer.status, answer.body)) {
      is_ended_ = true;
    }
  }

  const HttpLoad& load_;
  Descriptor epoll_;
  std::vector<Connection> connections_;
  std::size_t next_ = 0;
  std::size_t busy_ = 0;
  bool is_ended_ = false;
  HttpLoadOutcome outcome_;
};

}  // namespace

double HttpLoadOutcome::latency_ms(double part) const {
  if (latencies_us.empty()) return 0;
  const auto last = static_cast<double>(latencies_us.size() - 1);
  return latencies_us[static_cast<std::size_t>(part * last)] / 1000.0;
}

Result<HttpLoadOutcome> run_http_load(const HttpLoad& load) {
  return Run{load}.run();
}

void append_post(std::string& out, std::string_view path, std::string_view further_header_lines,
                 std::string_view body) {
  out += "POST ";
  out += path;
  out += " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
  out += further_header_lines;
  out += "Content-Length: ";
  out += std::to_string(body.size());
  out += "\r\n\r\n";
  out += body;
}

void append_get(std::string& out, std::string_view path, std::string_view further_header_lines) {
  out += "GET ";
  out += path;
  out += " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  out += further_header_lines;
  out += "\r\n";
}

}  // namespace weir::bench
