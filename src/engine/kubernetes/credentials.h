// SPDX-License-Identifier: Apache-2.0
//
// Who we are to an API server. Tokens and certificates end and are renewed while we run: in files that somebody
// else writes, or by a program that is asked for them. So credentials have a source, which is asked before each
// request and told when the server refused what it gave.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "domain/result.h"
#include "domain/time.h"

namespace weir::engine::kubernetes {

// Secret: never in a message or a log.
struct Credentials {
  std::string token;
  std::string user;  // with `password`
  std::string password;
  std::string client_certificate;  // PEM, with client_key
  std::string client_key;
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// Used by several threads.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  virtual Result<Credentials> current(Time now) = 0;
  // The server refused them (401): the next ones are fetched anew. Those of somebody who did not know yet that
  // they had been replaced already change nothing.
  virtual void refused(const Credentials& refused) = 0;
};

// As they are.
std::shared_ptr<CredentialSource> fixed_credentials(Credentials credentials);

// From files, each read again when it was read more than a minute ago, and after a refusal.
struct CredentialFiles {
  std::filesystem::path token;
  std::filesystem::path client_certificate;
  std::filesystem::path client_key;
  Credentials others;  // what is not in files
};
inline constexpr std::chrono::seconds kCredentialFileAge{60};
std::shared_ptr<CredentialSource> credentials_from_files(CredentialFiles files);

// From a program, run without a shell, as kubeconfig files name it.
struct ExecPlugin {
  std::string api_version;  // "client.authentication.k8s.io/v1"
  std::string command;      // looked for on PATH unless it has a '/'
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string install_hint;
  std::string cluster_info;  // JSON of spec.cluster; empty: it is not to be told
  std::chrono::milliseconds time_limit{60'000};
};
std::shared_ptr<CredentialSource> credentials_from_plugin(ExecPlugin plugin);

}  // namespace weir::engine::kubernetes
