// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_doors.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cli/state_folder.h"
#include "transport/generated_certificate.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kRatePerTenant = 100;
constexpr double kRatePerAddress = 200;
constexpr std::size_t kConnectionsPerAddress = 64;

enum class Kind { none, loopback, network };

Kind kind_of(const std::string& text) {
  in_addr v4{};
  in6_addr v6{};
  if (text == "localhost") return Kind::loopback;
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1)
    return (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET ? Kind::loopback : Kind::network;
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1)
    return IN6_IS_ADDR_LOOPBACK(&v6) ? Kind::loopback : Kind::network;
  return Kind::none;
}

bool is_on_network(const OptionValues& options) {
  return kind_of(options.text("listen")) == Kind::network;
}

// What was asked for; on a network, otherwise, so many.
transport::RateLimit rate(const OptionValues& options, const char* name, double on_network) {
  const double per_second = options.has(name)        ? static_cast<double>(options.integer(name))
                            : is_on_network(options) ? on_network
                                                     : 0;
  return {per_second, 2 * per_second};
}

// As which clients may know this machine.
std::vector<std::string> own_names(const std::string& address) {
  std::vector<std::string> names{"localhost", "127.0.0.1", "::1"};
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) {
    const std::string name = host.data();
    const bool is_plain =
        !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '-' || c == '.';
        });
    if (is_plain) names.push_back(name);
  }
  const bool is_one = address != "0.0.0.0" && address != "::";
  if (is_one && std::find(names.begin(), names.end(), address) == names.end())
    names.push_back(address);
  return names;
}

}  // namespace

Diagnostics mistakes_of_doors(const OptionValues& options) {
  Diagnostics mistakes;
  const bool has_certificate = options.has("tls-cert");
  const bool has_key = options.has("tls-key");
  if (options.has("tls") && (has_certificate || has_key)) {
    mistakes.add({"", 0, "--tls", options.text("tls"),
                  "either a generated certificate or --tls-cert and --tls-key"});
  } else if (has_certificate != has_key) {
    mistakes.add({"", 0, has_key ? "--tls-cert" : "--tls-key", "",
                  has_key ? "the certificate beside --tls-key" : "the key beside --tls-cert"});
  }
  const std::string& address = options.text("listen");
  const Kind kind = kind_of(address);
  if (kind == Kind::none) {
    mistakes.add({"", 0, "--listen", address,
                  "an address of this machine, such as 127.0.0.1, ::1 or 0.0.0.0"});
  } else if (kind == Kind::network && !options.has("tls") && !has_certificate && !has_key) {
    mistakes.add({"", 0, "--listen", address,
                  "TLS beside it (--tls generated, or --tls-cert and --tls-key), or a loopback "
                  "address: tokens and jobs are not for everybody on the way to read"});
  }
  return mistakes;
}

Result<transport::HttpServerOptions> http_doors(const OptionValues& options,
                                                const fs::path& state) {
  transport::HttpServerOptions http;
  http.address = options.text("listen");
  http.port = static_cast<std::uint16_t>(options.integer("port"));
  http.rate_per_address = rate(options, "rate-per-address", kRatePerAddress);
  if (options.has("connections-per-address")) {
    http.connections_per_address =
        static_cast<std::size_t>(options.integer("connections-per-address"));
  } else if (is_on_network(options)) {
    http.connections_per_address = kConnectionsPerAddress;
  }
  const bool is_generated = options.has("tls");
  if (!is_generated && !options.has("tls-cert")) return http;
  const fs::path certificate =
      is_generated ? certificate_file(state) : fs::path{options.text("tls-cert")};
  const fs::path key = is_generated ? key_file(state) : fs::path{options.text("tls-key")};
  if (is_generated) {
    auto made = transport::ensure_certificate(certificate, key, own_names(http.address));
    if (!made) return tl::unexpected<Error>(std::move(made.error()));
  }
  auto identity = transport::TlsIdentity::load(certificate, key);
  if (!identity) return tl::unexpected<Error>(std::move(identity.error()));
  http.tls = std::move(*identity);
  return http;
}

transport::RateLimit rate_per_tenant(const OptionValues& options) {
  return rate(options, "rate-per-tenant", kRatePerTenant);
}

}  // namespace weir::cli
