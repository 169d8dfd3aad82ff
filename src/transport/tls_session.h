// SPDX-License-Identifier: Apache-2.0
//
// The server's side of TLS, without a socket: what comes from the network goes in, plain bytes come out, and the
// other way round. TLS 1.2 and 1.3 with forward secrecy and authenticated encryption only; no renegotiation, no
// compression, no resumption.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "domain/result.h"

namespace weir::transport {

// A server's certificate and key.
class TlsIdentity {
 public:
  // PEM files; the certificate may be followed by those that signed it. Names everything that is wrong with them.
  static Result<std::shared_ptr<const TlsIdentity>> load(const std::filesystem::path& certificate,
                                                         const std::filesystem::path& key);
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  // "sha256//BASE64", of the public key: what a client can pin, and stays the same when the certificate is renewed.
  std::string fingerprint() const;

 private:
  friend class TlsSession;
  struct Impl;
  explicit TlsIdentity(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One connection. Used by one thread at a time.
class TlsSession {
 public:
  explicit TlsSession(const TlsIdentity& identity);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // From the network.
  void receive(std::string_view bytes);
  // Plain bytes, as many as there are and fit; 0: none until more is received.
  std::size_t read(char* room, std::size_t size);
  // Plain bytes for the client. Requires: some have been read, so that the handshake is over.
  void write(std::string_view plain);
  // The last thing that is said.
  void end();

  // For the network: what has come together since the last call.
  std::string take_output();

  // It does not speak TLS as we do. What is in the output may still be sent.
  bool is_broken() const { return is_broken_; }
  // It has said that nothing more comes from it. It may still listen.
  bool has_ended() const { return has_ended_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool is_broken_ = false;
  bool has_ended_ = false;
};

}  // namespace weir::transport
