// SPDX-License-Identifier: Apache-2.0
#include "transport/generated_certificate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>

namespace weir::transport {
namespace {

namespace fs = std::filesystem;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

tl::unexpected<Error> failed(const fs::path& file, std::string found) {
  Diagnostics details;
  details.add({file.string(), 0, "the generated certificate", std::move(found),
               "a folder that can be written"});
  return tl::unexpected(Error{ErrorCode::failure, std::move(details)});
}

bool is_address(const std::string& name) {
  std::array<unsigned char, 16> room{};
  return inet_pton(AF_INET, name.c_str(), room.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), room.data()) == 1;
}

// "DNS:localhost,IP:127.0.0.1"
std::string alternative_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    text += (is_address(name) ? "IP:" : "DNS:") + name;
  }
  return text;
}

bool add_extension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension{
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str())};
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Owned<X509> certificate_of(EVP_PKEY* key, const std::vector<std::string>& names) {
  constexpr int kSerialBits = 159;
  constexpr long kVersion3 = 2;
  constexpr long kHour = 3600;
  Owned<X509> made{X509_new()};
  const Owned<BIGNUM> serial{BN_new()};
  if (!made || !serial || BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, 0) != 1) return {};
  X509_set_version(made.get(), kVersion3);
  BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(made.get()));
  // Clocks differ: valid since an hour ago.
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(made.get()),
                  static_cast<long>(std::chrono::seconds{kGeneratedLasts}.count()));
  X509_set_pubkey(made.get(), key);
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("weir"), -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  const bool is_made = add_extension(made.get(), NID_basic_constraints, "critical,CA:FALSE") &&
                       add_extension(made.get(), NID_key_usage, "critical,digitalSignature") &&
                       add_extension(made.get(), NID_ext_key_usage, "serverAuth") &&
                       add_extension(made.get(), NID_subject_key_identifier, "hash") &&
                       add_extension(made.get(), NID_subject_alt_name, alternative_names(names)) &&
                       X509_sign(made.get(), key, EVP_sha256()) != 0;
  if (!is_made) return {};
  return made;
}

// Beside it, on the disk, then in its place.
template <class Write>
bool write_file(const fs::path& file, mode_t mode, Write write) {
  const fs::path beside = file.string() + ".new";
  std::error_code ignored;
  fs::remove(beside, ignored);
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return false;
  Owned<std::FILE> out{fdopen(fd, "w")};
  if (!out) return false;
  if (!write(out.get()) || std::fflush(out.get()) != 0 || fsync(fd) != 0) return false;
  return rename(beside.c_str(), file.c_str()) == 0;
}

// Null when there is none that can be used.
Owned<EVP_PKEY> read_key(const fs::path& file) {
  const Owned<BIO> in{BIO_new_file(file.c_str(), "r")};
  Owned<EVP_PKEY> key{in ? PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr) : nullptr};
  ERR_clear_error();
  return key;
}

bool is_still_good(const fs::path& file, EVP_PKEY* key, const std::vector<std::string>& names) {
  const Owned<BIO> in{BIO_new_file(file.c_str(), "r")};
  const Owned<X509> certificate{in ? PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)
                                   : nullptr};
  ERR_clear_error();
  if (!certificate || X509_check_private_key(certificate.get(), key) != 1) return false;
  const auto has_name = [&](const std::string& name) {
    return is_address(name)
               ? X509_check_ip_asc(certificate.get(), name.c_str(), 0) == 1
               : X509_check_host(certificate.get(), name.c_str(), name.size(), 0, nullptr) == 1;
  };
  std::time_t soon = std::time(nullptr) + std::chrono::seconds{kRenewedBefore}.count();
  return std::all_of(names.begin(), names.end(), has_name) &&
         X509_cmp_time(X509_get0_notAfter(certificate.get()), &soon) > 0;
}

}  // namespace

Result<void> ensure_certificate(const fs::path& certificate, const fs::path& key,
                                const std::vector<std::string>& names) {
  Owned<EVP_PKEY> made_key = read_key(key);
  const bool is_new = !made_key;
  if (!is_new && is_still_good(certificate, made_key.get(), names)) return {};
  if (is_new) made_key.reset(EVP_EC_gen("P-256"));
  const Owned<X509> made = made_key ? certificate_of(made_key.get(), names) : Owned<X509>{};
  if (!made) {
    const char* const reason = ERR_reason_error_string(ERR_get_error());
    ERR_clear_error();
    return failed(certificate, reason == nullptr ? "not made" : reason);
  }
  const bool has_key = !is_new || write_file(key, S_IRUSR | S_IWUSR, [&](std::FILE* out) {
    return PEM_write_PKCS8PrivateKey(out, made_key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
           1;
  });
  if (!has_key) return failed(key, std::strerror(errno));
  const bool is_written =
      write_file(certificate, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH,
                 [&](std::FILE* out) { return PEM_write_X509(out, made.get()) == 1; });
  if (!is_written) return failed(certificate, std::strerror(errno));
  return {};
}

}  // namespace weir::transport
