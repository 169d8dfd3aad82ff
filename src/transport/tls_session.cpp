// SPDX-License-Identifier: Apache-2.0
#include "transport/tls_session.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <climits>

namespace weir::transport {
namespace {

namespace fs = std::filesystem;

// Of TLS 1.2; those of 1.3 are all of this kind.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};

std::string last_reason() {
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unusable" : reason;
}

std::string trouble_with(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return "missing";
  if (!fs::is_regular_file(file, error)) return "no file";
  return "";
}

void check_key_is_private(const fs::path& key, Diagnostics& mistakes) {
  struct stat about {};
  if (stat(key.c_str(), &about) != 0 || (about.st_mode & S_IRWXO) == 0) return;
  mistakes.add({key.string(), 0, "the key's mode", "open to everybody on this machine",
                "one for its owner only: chmod 600"});
}

}  // namespace

struct TlsIdentity::Impl {
  std::unique_ptr<SSL_CTX, FreeContext> context{SSL_CTX_new(TLS_server_method())};
};

TlsIdentity::TlsIdentity(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
TlsIdentity::~TlsIdentity() = default;

Result<std::shared_ptr<const TlsIdentity>> TlsIdentity::load(const fs::path& certificate,
                                                             const fs::path& key) {
  auto impl = std::make_unique<Impl>();
  SSL_CTX* const context = impl->context.get();
  Diagnostics mistakes;
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(context, kCiphers) != 1) {
    mistakes.add({"", 0, "TLS", last_reason(), "an OpenSSL with TLS 1.2 and 1.3"});
    return tl::unexpected(Error{ErrorCode::failure, std::move(mistakes)});
  }
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);

  std::string trouble = trouble_with(certificate);
  if (trouble.empty() && SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
    trouble = last_reason();
  const bool has_certificate = trouble.empty();
  if (!has_certificate)
    mistakes.add({certificate.string(), 0, "the certificate", trouble, "a certificate as PEM"});
  trouble = trouble_with(key);
  if (trouble.empty() && SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const bool is_other = ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH;
    trouble = last_reason();
    if (is_other) trouble = "of another certificate";
  }
  if (!trouble.empty()) {
    mistakes.add({key.string(), 0, "the key", trouble,
                  "the certificate's private key as PEM, without a password"});
  } else {
    check_key_is_private(key, mistakes);
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return std::shared_ptr<const TlsIdentity>{new TlsIdentity{std::move(impl)}};
}

std::string TlsIdentity::fingerprint() const {
  X509* const certificate = SSL_CTX_get0_certificate(impl_->context.get());
  unsigned char* key = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
  if (size <= 0) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int hash_size = 0;
  EVP_Digest(key, static_cast<std::size_t>(size), hash.data(), &hash_size, EVP_sha256(), nullptr);
  OPENSSL_free(key);
  std::array<unsigned char, 64> text{};
  EVP_EncodeBlock(text.data(), hash.data(), static_cast<int>(hash_size));
  return "sha256//" + std::string{reinterpret_cast<const char*>(text.data())};
}

struct TlsSession::Impl {
  explicit Impl(SSL_CTX* context) : session{SSL_new(context)} {
    in = BIO_new(BIO_s_mem());
    out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in, -1);  // "none yet", not the end
    SSL_set_bio(session.get(), in, out);
    SSL_set_accept_state(session.get());
  }
  std::unique_ptr<SSL, FreeSession> session;
  BIO* in;  // both belong to the session
  BIO* out;
};

TlsSession::TlsSession(const TlsIdentity& identity)
    : impl_{std::make_unique<Impl>(identity.impl_->context.get())} {}
TlsSession::~TlsSession() = default;

void TlsSession::receive(std::string_view bytes) {
  assert(bytes.size() <= INT_MAX && "pieces as a socket gives them");
  if (!bytes.empty()) BIO_write(impl_->in, bytes.data(), static_cast<int>(bytes.size()));
}

std::size_t TlsSession::read(char* room, std::size_t size) {
  if (is_broken_ || has_ended_) return 0;
  ERR_clear_error();
  std::size_t count = 0;
  const int done = SSL_read_ex(impl_->session.get(), room, size, &count);
  if (done == 1) return count;
  const int why = SSL_get_error(impl_->session.get(), done);
  has_ended_ = why == SSL_ERROR_ZERO_RETURN;
  is_broken_ = !has_ended_ && why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE;
  ERR_clear_error();
  return 0;
}

void TlsSession::write(std::string_view plain) {
  if (is_broken_ || plain.empty()) return;
  ERR_clear_error();
  std::size_t count = 0;
  // Memory takes all of it.
  const int done = SSL_write_ex(impl_->session.get(), plain.data(), plain.size(), &count);
  if (done != 1 || count != plain.size()) is_broken_ = true;
  ERR_clear_error();
}

void TlsSession::end() {
  if (is_broken_ || SSL_in_init(impl_->session.get()) != 0) return;
  ERR_clear_error();
  SSL_shutdown(impl_->session.get());
  ERR_clear_error();
}

std::string TlsSession::take_output() {
  std::string bytes(BIO_ctrl_pending(impl_->out), '\0');
  if (bytes.empty()) return bytes;
  const int count = BIO_read(impl_->out, bytes.data(),
                             static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
  bytes.resize(static_cast<std::size_t>(std::max(count, 0)));
  return bytes;
}

}  // namespace weir::transport
