// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_file_kind.h"

#include <gtest/gtest.h>

namespace weir::cli {
namespace {

TEST(TraceFileKind, IsToldByColumnsOrKeys) {
  EXPECT_EQ(trace_file_kind("sn,cpu_milli,memory_mib,gpu,model\nnum_gpu,1,1,1,T4\n"),
            TraceFileKind::nodes);
  EXPECT_EQ(trace_file_kind("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"), TraceFileKind::tasks);
  EXPECT_EQ(trace_file_kind("cluster: {name: lab}\nnodes:\n"), TraceFileKind::nodes);
  EXPECT_EQ(trace_file_kind("# night\njobs:\n"), TraceFileKind::tasks);
  EXPECT_EQ(trace_file_kind(""), TraceFileKind::nodes);
}

}  // namespace
}  // namespace weir::cli
