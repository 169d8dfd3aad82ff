// SPDX-License-Identifier: Apache-2.0
//
// A TLS server for tests: one connection at a time, one answer to whatever is asked. The answer names the client by
// its certificate, and repeats the request.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

namespace weir::engine::kubernetes {

class TlsServer {
 public:
  // server.crt and server.key of the folder; clients may have certificates of ca.crt there.
  explicit TlsServer(const std::filesystem::path& folder)
      : context_{SSL_CTX_new(TLS_server_method())} {
    // Clients leave as they like: writing to one that has left must not end the test.
    sigset_t pipe;
    sigset_t before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    EXPECT_EQ(
        SSL_CTX_use_certificate_file(context_, (folder / "server.crt").c_str(), SSL_FILETYPE_PEM),
        1);
    EXPECT_EQ(
        SSL_CTX_use_PrivateKey_file(context_, (folder / "server.key").c_str(), SSL_FILETYPE_PEM),
        1);
    EXPECT_EQ(SSL_CTX_load_verify_locations(context_, (folder / "ca.crt").c_str(), nullptr), 1);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { serve(); }};
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    SSL_CTX_free(context_);
  }
  std::uint16_t port() const { return port_; }

 private:
  void serve() {
    while (true) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      SSL* tls = SSL_new(context_);
      SSL_set_fd(tls, connection);
      if (SSL_accept(tls) == 1) answer(tls);
      SSL_free(tls);
      ::close(connection);
    }
  }

  static void answer(SSL* tls) {
    std::string request;
    std::array<char, 4096> piece{};
    while (request.find("\r\n\r\n") == std::string::npos) {
      const int got = SSL_read(tls, piece.data(), static_cast<int>(piece.size()));
      if (got <= 0) return;
      request.append(piece.data(), static_cast<std::size_t>(got));
    }
    const std::string body = "client: " + client_of(tls) + "\n" + request;
    const std::string reply =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    SSL_write(tls, reply.data(), static_cast<int>(reply.size()));
    SSL_shutdown(tls);
  }

  static std::string client_of(SSL* tls) {
    X509* certificate = SSL_get1_peer_certificate(tls);
    if (certificate == nullptr) return "nobody";
    std::array<char, 256> name{};
    X509_NAME_oneline(X509_get_subject_name(certificate), name.data(),
                      static_cast<int>(name.size()));
    X509_free(certificate);
    return name.data();
  }

  SSL_CTX* context_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace weir::engine::kubernetes
