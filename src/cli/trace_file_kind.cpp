// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_file_kind.h"

#include <algorithm>

namespace weir::cli {

TraceFileKind trace_file_kind(std::string_view beginning) {
  bool is_header = true;
  while (!beginning.empty()) {
    const std::size_t end = std::min(beginning.find('\n'), beginning.size());
    const std::string_view line = beginning.substr(0, end);
    beginning.remove_prefix(std::min(end + 1, beginning.size()));
    const bool has_task_column = line.find("num_gpu") != std::string_view::npos ||
                                 line.find("gpu_milli") != std::string_view::npos;
    if (is_header && has_task_column) return TraceFileKind::tasks;
    if (line.starts_with("jobs:") || line.starts_with("workload:")) return TraceFileKind::tasks;
    is_header = false;
  }
  return TraceFileKind::nodes;
}

}  // namespace weir::cli
