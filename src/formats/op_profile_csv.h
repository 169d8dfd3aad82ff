// SPDX-License-Identifier: Apache-2.0
//
// Profiles of operators as tables (`weir plan --profiles DIR`). A folder with three files, each plain
// or gzip, columns in any order:
//
//   ops.csv[.gz]          db, model, size, mbs, tp, algo, op_index, op, fwd_us, bwd_us, input_mb, output_mb,
//                         weight_mb, activation_mb, reserved_fwd_mb, reserved_bwd_mb
//   collectives.csv[.gz]  db, model, size, collective, gpus, data_mb, time_ms     (may be absent)
//   p2p.csv[.gz]          db, scope (intra or inter), data_mb, bandwidth_gb_per_s
//
// MB are MiB. A folder may hold many models; only the rows of the one asked for are read. The operators of a
// model are numbered from 0, the same in each of its tables (mbs, tp, algo). Times of collectives from 1e6 ms
// on mark sizes that were not measured; they are kept as they are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/op_profile.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

struct ProfileName {
  std::string database;
  std::string model;
  std::string size;
  friend auto operator<=>(const ProfileName&, const ProfileName&) = default;
};

// Bad input when a row is wrong, when there is no such profile (it lists what there is), and when a
// table of the profile lacks an operator that another has.
Result<OpProfile> read_op_profile(const std::filesystem::path& folder, const ProfileName& name);

// The same from inputs that are open already.
struct OpProfileInputs {
  InputFile ops;
  std::optional<InputFile> collectives;
  InputFile p2p;
};
Result<OpProfile> read_op_profile(OpProfileInputs inputs, const ProfileName& name);

// What the folder holds, sorted.
Result<std::vector<ProfileName>> list_op_profiles(const std::filesystem::path& folder);

}  // namespace weir::formats
