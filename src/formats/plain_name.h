// SPDX-License-Identifier: Apache-2.0
//
// What may be the name of a node, job, pool or GPU model. Names reach terminals, JSON and CSV, so
// they are short UTF-8 without control characters. A node's name has no brackets either: in a
// cluster file `gpu-[01-16]` stands for sixteen nodes.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::formats {

inline constexpr std::size_t kLongestName = 253;  // bytes; the limit of DNS and of Kubernetes

inline constexpr std::string_view kPlainNameRule =
    "a name of 1 to 253 bytes, UTF-8 without control characters";
inline constexpr std::string_view kNodeNameRule =
    "a name of 1 to 253 bytes, UTF-8 without control characters or brackets";
inline constexpr std::string_view kModelNameRule =
    "a model name of 1 to 253 bytes, UTF-8 without control characters or |";

// Of nodes without GPUs, unless the file names another pool.
inline constexpr std::string_view kCpuPool = "cpu";

bool is_plain_name(std::string_view text);
bool is_node_name(std::string_view text);
// Model names are joined by | in the openb lists.
bool is_model_name(std::string_view text);

}  // namespace weir::formats
