// SPDX-License-Identifier: Apache-2.0
//
// A certificate for a server that has none: self-signed, with a new P-256 key. A client trusts it by its file or
// by its key's fingerprint.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "domain/result.h"

namespace weir::transport {

inline constexpr std::chrono::hours kGeneratedLasts{24 * 3650};
inline constexpr std::chrono::hours kRenewedBefore{24 * 30};

// Makes both files, the key for its owner only; names are host names and addresses. What is there stays: the key for
// ever, the certificate as long as it has all names and does not end soon.
Result<void> ensure_certificate(const std::filesystem::path& certificate,
                                const std::filesystem::path& key,
                                const std::vector<std::string>& names);

}  // namespace weir::transport
