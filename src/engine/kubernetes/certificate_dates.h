// SPDX-License-Identifier: Apache-2.0
//
// When a certificate is valid. A server says of one that has ended only that it does not like it; we can say why.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/time.h"

namespace weir::engine::kubernetes {

struct CertificateDates {
  Time begins;
  Time ends;
};

// Of the first certificate in a PEM text. Nothing: there is none.
std::optional<CertificateDates> certificate_dates(std::string_view pem);

// "expired on 2026-01-01T00:00:00Z", "not valid before ...", "not a PEM certificate". Empty: it is valid now.
std::string certificate_fault(std::string_view pem, Time now);

}  // namespace weir::engine::kubernetes
