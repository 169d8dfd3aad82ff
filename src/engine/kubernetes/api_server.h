// SPDX-License-Identifier: Apache-2.0
//
// Where an API server is, whom to trust there and who we are.
#pragma once

#include <memory>
#include <string>

#include "engine/kubernetes/credentials.h"

namespace weir::engine::kubernetes {

struct ApiServer {
  std::string url;          // "https://10.0.0.1:6443"
  std::string authorities;  // PEM; empty: those of the system
  std::string server_name;  // the name its certificate must have; empty: that of the URL
  bool is_unchecked = false;
  std::string proxy;
  std::string ns;                                 // the context's namespace; empty: "default"
  std::string context;                            // its name, for people
  std::shared_ptr<CredentialSource> credentials;  // never null
};

}  // namespace weir::engine::kubernetes
