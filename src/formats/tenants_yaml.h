// SPDX-License-Identifier: Apache-2.0
//
// Who shares a cluster, as its operator writes it: a file `tenants.yaml`, or the same as JSON.
//
//   half_life: 24h        # GPU-time counts half after so long; default 24h
//   lease: 10m            # nobody gives way for fairness alone before; default 10m
//   tenants:
//     - name: research
//       guaranteed: 16    # GPUs; default 0
//       maximum: 32       # default: no limit
//       weight: 2         # of GPUs nobody is guaranteed, beside its siblings; default 1
//       tenants:          # the groups it is made of
//         - {name: vision, guaranteed: 8}
//         - {name: language, guaranteed: 8, maximum: 24}
//     - name: product
//       guaranteed: {a100: 8, h100: 4}   # by pool; a plain number needs a cluster with one
//
// What the tenants of a group are guaranteed together is within what the group is, and all of it
// within the GPUs of the pool. `tenants: []` is nobody: then there are no shares.
//
// At most 10,000 tenants, 16 groups inside each other.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "domain/cluster.h"
#include "domain/result.h"
#include "domain/tenants.h"
#include "formats/input_file.h"

namespace weir::formats {

inline constexpr std::size_t kMostTenants = 10'000;

Result<TenantTable> read_tenants_yaml(const std::filesystem::path& path, const Cluster& cluster);
Result<TenantTable> read_tenants_yaml(InputFile input, const Cluster& cluster);
Result<TenantTable> read_tenants_json(std::string_view text, std::string source_name,
                                      const Cluster& cluster);

// Reading gives the same table. Requires: each tenant stands behind its parent and those below its
// parent that come before it, as readers make it.
std::string write_tenants_json(const TenantTable& table, const Cluster& cluster);

}  // namespace weir::formats
