// SPDX-License-Identifier: Apache-2.0
//
// Tables of timed kernels: the public ones (NeuSight's, float32, several devices) and those of
// tools/collect. A folder with, each plain or gzip and with a common beginning of the name or none
// ("h200_gemm.csv.gz"):
//
//   kernel_names.csv   kernel_id, name
//   gemm.csv           split, op, device, latency_ms, kernel_id, gx..gz, bx..bz, B, M, N, K [, n_kernels, layout, dtype, ...]
//   conv.csv           ... kernel_ids, B, Cin, Cout, ksize, insize, stride, pad [, pass, layout, ...]
//   vec.csv            ... B, H
//   attention.csv, image.csv   (only from tools/collect)
//
// Columns that the public tables lack may be absent: dtype is then fp32. Rows that repeat a measurement
// (repeat = 1) are left out; other rows of the same call, which the public tables have, count as measurements of their own.
// `split` = test marks what is held out. `row` (or `upstream_row`) is where a row stands among
// those of its device as they were measured, from 0; without the column rows are counted.
//
// Numbers of kernels are those of the folder's own kernel_names.csv: samples hold names, or digests of them, so tables that
// are numbered differently go together.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/kernel_call.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

// By device, in the order of their names; the samples in the order of the files above. Bad input
// without a table or without names for it.
Result<std::vector<KernelTable>> read_kernel_tables(const std::filesystem::path& folder,
                                                    const std::string& prefix = {});

// The files that are looked for in a folder, plain and gzip, whether they are there or not.
std::vector<std::filesystem::path> kernel_table_paths(const std::filesystem::path& folder,
                                                      const std::string& prefix);

// Names by number.
Result<std::vector<std::string>> read_kernel_names(InputFile input);

std::vector<std::string> kernel_name_digests(const std::vector<std::string>& names);
// "12|7" as the digests of these names; nothing where a number has no name.
std::optional<std::string> kernel_sequence(std::string_view ids,
                                           const std::vector<std::string>& digests);

// One table, added to what is there already.
Result<void> read_kernel_table(InputFile input, KernelFamily family,
                               const std::vector<std::string>& names,
                               std::vector<KernelTable>& tables);

}  // namespace weir::formats
