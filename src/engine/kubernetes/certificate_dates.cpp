// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/certificate_dates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <memory>

#include "formats/time_text.h"

namespace weir::engine::kubernetes {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};

// Certificates without an end say 9999; our time ends in 2262.
std::optional<Time> time_of(const ASN1_TIME* from) {
  std::tm parts{};
  if (from == nullptr || ASN1_TIME_to_tm(from, &parts) != 1) return std::nullopt;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000'000 - 1;
  return Time{from_seconds(std::clamp<std::int64_t>(timegm(&parts), -kMost, kMost))};
}

}  // namespace

std::optional<CertificateDates> certificate_dates(std::string_view pem) {
  const std::unique_ptr<BIO, Free> bytes{
      BIO_new_mem_buf(pem.data(), static_cast<int>(std::min<std::size_t>(pem.size(), 1 << 24)))};
  if (!bytes) return std::nullopt;
  const std::unique_ptr<X509, Free> certificate{
      PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr)};
  ERR_clear_error();  // the queue is shared with curl
  if (!certificate) return std::nullopt;
  const auto begins = time_of(X509_get0_notBefore(certificate.get()));
  const auto ends = time_of(X509_get0_notAfter(certificate.get()));
  if (!begins || !ends) return std::nullopt;
  return CertificateDates{*begins, *ends};
}

std::string certificate_fault(std::string_view pem, Time now) {
  const auto dates = certificate_dates(pem);
  if (!dates) return "not a PEM certificate";
  if (now > dates->ends) return "expired on " + formats::format_time(dates->ends);
  if (now < dates->begins) return "not valid before " + formats::format_time(dates->begins);
  return {};
}

}  // namespace weir::engine::kubernetes
