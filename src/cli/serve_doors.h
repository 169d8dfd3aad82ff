// SPDX-License-Identifier: Apache-2.0
//
// Where `weir serve` listens, with which certificate, and how much of it one client may have.
#pragma once

#include <filesystem>

#include "domain/diagnostics.h"
#include "domain/options.h"
#include "domain/result.h"
#include "transport/http_server.h"

namespace weir::cli {

// Options that are missing or make no sense together.
Diagnostics mistakes_of_doors(const OptionValues& options);

// Address, port, TLS and limits. Makes the certificate that was asked for. Requires: no mistakes.
Result<transport::HttpServerOptions> http_doors(const OptionValues& options,
                                                const std::filesystem::path& state);

transport::RateLimit rate_per_tenant(const OptionValues& options);

}  // namespace weir::cli
