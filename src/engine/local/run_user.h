// SPDX-License-Identifier: Apache-2.0
//
// As whom the ranks of a run work. Their supervisor remains the engine's: it outlives them, and they
// cannot reach it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace weir::engine {

struct RunUser {
  std::string name;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // all of the user's
  std::string home;
  std::string shell;

  friend bool operator==(const RunUser&, const RunUser&) = default;
};

// What of the engine's environment the ranks of a user get: how programs are found and which language
// they speak, what concerns GPUs and threads. Everything else might be a secret.
std::vector<const char*> harmless_variables(const char* const* inherited);

}  // namespace weir::engine
