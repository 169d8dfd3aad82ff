// SPDX-License-Identifier: Apache-2.0
//
// Whether a trace file holds nodes or tasks, told by how it begins.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::cli {

enum class TraceFileKind : std::uint8_t { nodes, tasks };

// `beginning` is the first few KiB. An openb list is judged by its column names, YAML by its keys.
// What is neither counts as nodes; its reader will say what is wrong.
TraceFileKind trace_file_kind(std::string_view beginning);

}  // namespace weir::cli
