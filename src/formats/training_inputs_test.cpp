// SPDX-License-Identifier: Apache-2.0
#include "formats/training_inputs.h"

#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

constexpr std::string_view kCsv =
    "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu\na,60,5,bert,120,64,1\n";
constexpr std::string_view kYaml =
    "# tonight\njobs:\n- {name: a, model: bert, batch: 64, iterations: 5, submit: 1m, deadline: "
    "1m}\n";

TEST(TrainingInputs, AreReadInEveryFormatByNameOrContent) {
  const TemporaryFolder folder;
  CurveBook curves;
  curves.curves[{"bert", 64}] = Curve{{{1, IterationRate{1'000'000}}}};
  std::vector<TrainingArrival> first;
  for (const auto& path : {folder.write("t.csv", kCsv), folder.write("t.csv.gz", gzip(kCsv)),
                           folder.write("t.yaml", kYaml), folder.write("t.yml.gz", gzip(kYaml)),
                           folder.write("csv", kCsv), folder.write("yaml", gzip(kYaml))}) {
    const auto workload = read_training(path, curves);
    ASSERT_TRUE(workload) << mistakes_of(workload);
    if (first.empty()) first = workload->jobs;
    EXPECT_EQ(workload->jobs, first) << path;
  }
  EXPECT_EQ(mistakes_of(read_training("/nowhere/t.csv", curves)),
            "/nowhere/t.csv: file is missing, expected the path of an existing file\n");
}

}  // namespace
}  // namespace weir::formats
