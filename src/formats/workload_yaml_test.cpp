// SPDX-License-Identifier: Apache-2.0
#include "formats/workload_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "formats/domain_generators_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Cluster lab() {
  Cluster cluster;
  cluster.models.intern("V100");
  cluster.models.intern("T4");
  return cluster;
}

Result<Workload> tasks_from(std::string_view text, const Cluster& cluster = lab()) {
  return read_workload_yaml(*InputFile::from_memory("dir/night.yaml", text), cluster);
}

TEST(WorkloadYaml, ReadsJobs) {
  const auto workload = tasks_from(
      "jobs:\n"
      "  - {name: bert, replicas: 4, cpus: 8, memory: 64GiB, gpus: 2, models: [T4, V100], submit: "
      "1m, runs: 2h30m}\n"
      "  - {name: notebook, count: 2, gpus: 1, share: 0.5, models: T4}\n"
      "  - {name: prep, cpus: 0.25, runs: 10s}\n");
  ASSERT_TRUE(workload) << mistakes_of(workload);
  EXPECT_EQ(workload->name, "night");
  ASSERT_EQ(workload->jobs.size(), 4U);
  const JobSpec& bert = workload->jobs[0].spec;
  EXPECT_EQ(bert.replicas, 4);
  EXPECT_EQ(bert.shape.cpu, MilliCpu{8000});
  EXPECT_EQ(bert.gpu_total(), MilliGpu{8000});
  EXPECT_EQ(lab().models.to_string(bert.shape.models), "T4|V100");
  EXPECT_EQ(workload->jobs[0].timing, (JobTiming{1min, 150min}));
  EXPECT_EQ(workload->jobs[1].spec.name, "notebook-1");
  EXPECT_EQ(workload->jobs[2].spec.name, "notebook-2");
  EXPECT_EQ(workload->jobs[2].spec.shape.gpu_share, MilliGpu{500});
  EXPECT_EQ(workload->jobs[2].timing, std::nullopt);
  EXPECT_EQ(workload->jobs[3].timing, (JobTiming{0s, 10s}));
  EXPECT_TRUE(workload->jobs[3].spec.shape.is_cpu_only());
}

TEST(WorkloadYaml, ReportsEveryMistakeAtOnce) {
  EXPECT_EQ(
      mistakes_of(tasks_from("workload: {nmae: x}\n"
                             "jobs:\n"
                             "  - {name: a, replica: 2, gpus: 2, share: 0.5}\n"
                             "  - {name: b, gpus: 1, share: 0.0001, models: [T4, H100, [x]]}\n"
                             "  - {name: c, share: 0.5, models: T4, submit: 5m}\n"
                             "  - {name: d, replicas: 0, runs: 90, memory: 1}\n"
                             "  - {gpus: -1, count: 0, models: []}\n")),
      "dir/night.yaml:1: key is \"nmae\", expected one of name; did you mean name?\n"
      "dir/night.yaml:3: key is \"replica\", expected one of name, count, replicas, cpus, "
      "memory, gpus, share, models, submit, runs; did you mean replicas?\n"
      "dir/night.yaml:3: share is \"0.5\", expected 1, because gpus is 2\n"
      "dir/night.yaml:4: share is \"0.0001\", expected a share of one GPU from 0.001 to 1, "
      "at most three decimals\n"
      "dir/night.yaml:4: models is \"H100\", expected models of the cluster: T4, V100\n"
      "dir/night.yaml:4: models is \"a list\", expected models of the cluster: T4, V100\n"
      "dir/night.yaml:5: share is \"0.5\", expected no share, because there are no gpus\n"
      "dir/night.yaml:5: models is \"T4\", expected no models, because there are no gpus\n"
      "dir/night.yaml:5: runs is missing, expected a duration such as 2h30m, because submit "
      "is given\n"
      "dir/night.yaml:6: replicas is \"0\", expected an integer from 1 to 10000\n"
      "dir/night.yaml:6: memory is \"1\", expected whole MiB up to 16384TiB with unit KiB, "
      "MiB, GiB or TiB, such as 384GiB\n"
      "dir/night.yaml:6: runs is \"90\", expected a duration up to 36525d in d, h, m, s, "
      "such as 2h30m\n"
      "dir/night.yaml:7: name is missing, expected a name of 1 to 253 bytes, UTF-8 without "
      "control characters\n"
      "dir/night.yaml:7: gpus is \"-1\", expected an integer from 0 to 16\n"
      "dir/night.yaml:7: models is \"an empty list\", expected at least one model, or no models "
      "key "
      "for any\n");
}

TEST(WorkloadYaml, LimitsWhatALineCanMake) {
  EXPECT_EQ(mistakes_of(tasks_from("jobs: [{name: a, count: 1000000}, {name: b}]")),
            "dir/night.yaml:1: job is \"b\", expected at most 1000000 jobs in all\n");
  EXPECT_THAT(mistakes_of(tasks_from("jobs: [{name: " + std::string(250, 'x') + ", count: 1000}]")),
              HasSubstr("expected a name of 1 to 253 bytes"));
}

TEST(WorkloadYaml, WritesWhatDiffersFromTheDefault) {
  const std::string text =
      "workload: {name: night}\n"
      "jobs:\n"
      "  - {name: bert, replicas: 4, cpus: 8, memory: 64GiB, gpus: 2, models: [V100, T4], submit: "
      "0s, runs: 2h30m}\n"
      "  - {name: nb, cpus: 0.5, memory: 0MiB, gpus: 1, share: 0.25}\n";
  const auto workload = tasks_from(text);
  ASSERT_TRUE(workload) << mistakes_of(workload);
  std::ostringstream out;
  write_workload_yaml(out, *workload, lab());
  EXPECT_EQ(out.str(), text);
}

RC_GTEST_PROP(WorkloadYaml, ComesBackAsWritten, ()) {
  const Cluster cluster = any_cluster({.pools_are_models = false});
  const Workload workload = any_workload(cluster, {.has_gangs = true});
  std::ostringstream out;
  write_workload_yaml(out, workload, cluster);
  const std::string written = out.str();
  const auto back = tasks_from(written, cluster);
  RC_ASSERT(mistakes_of(back) == "ok\n");
  RC_ASSERT(back->name == workload.name);
  RC_ASSERT(back->jobs == workload.jobs);
}

}  // namespace
}  // namespace weir::formats
