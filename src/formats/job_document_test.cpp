// SPDX-License-Identifier: Apache-2.0
#include "formats/job_document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "formats/domain_generators_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<std::vector<JobDocument>> from_yaml(std::string_view text) {
  return read_job_yaml(*InputFile::from_memory("job.yaml", text));
}
Result<JobDocument> from_json(std::string_view text) {
  return read_job_json(text, "request");
}

template <class T>
std::vector<std::string> mistakes_in(const Result<T>& read) {
  std::vector<std::string> lines;
  if (read) return lines;
  for (const Diagnostic& each : read.error().details.list()) lines.push_back(to_string(each));
  return lines;
}

// The only mistake of a job that is otherwise right.
std::string with(std::string_view more) {
  const auto lines = mistakes_in(from_yaml(fmt::format("name: a\ncommand: [x]\n{}\n", more)));
  if (lines.size() != 1) return fmt::format("{} mistakes: {}", lines.size(), fmt::join(lines, " "));
  return lines.front();
}
std::string with_json(std::string_view more) {
  const auto lines =
      mistakes_in(from_json(fmt::format(R"({{"name":"a","command":["x"],{}}})", more)));
  if (lines.size() != 1) return fmt::format("{} mistakes: {}", lines.size(), fmt::join(lines, " "));
  return lines.front();
}

constexpr std::string_view kTrainingYaml = R"(
name: bert
command: [python3, train.py, --epochs, 3]
directory: /srv/bert
environment: {LR: "0.1", A_B: x}
batch: 128
iterations: 20000
throughput: {1: 2.5, 2: 4.8, 4: 9.1}
deadline: 6h
kind: soft
ranks: per-gpu
reports_progress: true
retries: 3
grace: 90s
memory: 4GiB
)";
constexpr std::string_view kTrainingJson =
    R"({"name":"bert","command":["python3","train.py","--epochs","3"],)"
    R"("directory":"/srv/bert","environment":{"A_B":"x","LR":"0.1"},"iterations":20000,)"
    R"("batch":128,"throughput":{"1":2.5,"2":4.8,"4":9.1},"deadline":"6h","kind":"soft",)"
    R"("ranks":"per-gpu","reports_progress":true,"retries":3,"grace":"1m30s","memory":"4GiB"})";

JobDocument training_job() {
  JobDocument job;
  job.name = "bert";
  job.is_training = true;
  job.is_rigid = false;
  job.curve = {"bert", 128};
  job.iterations = 20'000;
  job.throughput = Curve{{{1, IterationRate{2'500'000}},
                          {2, IterationRate{4'800'000}},
                          {4, IterationRate{9'100'000}}}};
  job.deadline = from_seconds(6 * 3600);
  job.kind = DeadlineKind::soft;
  job.launch.command = {"python3", "train.py", "--epochs", "3"};
  job.launch.directory = "/srv/bert";
  job.launch.environment = {{"A_B", "x"}, {"LR", "0.1"}};
  job.launch.ranks = Ranks::per_gpu;
  job.launch.reports_progress = true;
  job.launch.grace = from_seconds(90);
  job.launch.memory_limit_bytes = std::int64_t{4} << 30;
  job.retries = 3;
  return job;
}

TEST(JobDocument, IsTheSameInYamlAndJson) {
  const auto yaml = from_yaml(kTrainingYaml);
  ASSERT_TRUE(yaml) << mistakes_of(yaml);
  EXPECT_THAT(*yaml, ElementsAre(training_job()));
  const auto json = from_json(kTrainingJson);
  ASSERT_TRUE(json) << mistakes_of(json);
  EXPECT_EQ(*json, training_job());
  EXPECT_EQ(write_job_json(training_job()), kTrainingJson);
}

TEST(JobDocument, HasDefaults) {
  const auto jobs = from_yaml("name: a\ncommand: sleep 1 && echo done");
  ASSERT_TRUE(jobs) << mistakes_of(jobs);
  const JobDocument& job = jobs->front();
  EXPECT_THAT(job.launch.command, ElementsAre("/bin/sh", "-c", "sleep 1 && echo done"));
  EXPECT_EQ(job.gpus, 1);
  EXPECT_TRUE(job.is_rigid);
  EXPECT_FALSE(job.is_training);
  EXPECT_EQ(job.kind, DeadlineKind::none);
  EXPECT_FALSE(job.launch.grace);
  EXPECT_EQ(grace_for(job.launch.grace, from_seconds(20)), from_seconds(40));
  EXPECT_EQ(write_job_json(job),
            R"({"name":"a","command":["/bin/sh","-c","sleep 1 && echo done"]})");
  const auto training =
      from_yaml("{name: a, command: [x], iterations: 5, deadline: 2026-11-15T09:00:00+01:00}");
  ASSERT_TRUE(training) << mistakes_of(training);
  EXPECT_EQ(training->front().curve, (CurveKey{"a", 0}));
  EXPECT_EQ(training->front().kind, DeadlineKind::hard);
  EXPECT_FALSE(training->front().is_rigid);
  EXPECT_THAT(write_job_json(training->front()), HasSubstr("2026-11-15T08:00:00Z"));
}

TEST(JobDocument, SaysHowItIsToBeRun) {
  const auto jobs = from_yaml(R"(
name: a
command: [/usr/bin/python3, train.py]
iterations: 10
profile: true
progress_line: "step {step} loss {loss}"
hang_after: 2m
announce: 20s
warm_start: [torch, torch.distributed]
)");
  ASSERT_TRUE(jobs) << mistakes_of(jobs);
  const LaunchSpec& launch = jobs->front().launch;
  EXPECT_TRUE(jobs->front().is_to_be_profiled);
  EXPECT_TRUE(launch.reports_progress);
  EXPECT_EQ(launch.progress_line, "step {step} loss {loss}");
  EXPECT_EQ(launch.hang_after, from_seconds(120));
  EXPECT_EQ(launch.announce, from_seconds(20));
  EXPECT_THAT(launch.warm_start, ElementsAre("torch", "torch.distributed"));
  const auto back = from_json(write_job_json(jobs->front()));
  ASSERT_TRUE(back) << mistakes_of(back);
  EXPECT_EQ(*back, jobs->front());
}

TEST(JobDocument, ACommandThatIsTorchrunIsToldHowManyRanks) {
  const auto jobs = from_yaml("{name: a, command: [torchrun, train.py], ranks: torchrun}");
  ASSERT_TRUE(jobs) << mistakes_of(jobs);
  EXPECT_EQ(jobs->front().launch.ranks, Ranks::torchrun);
  EXPECT_THAT(mistakes_of(from_yaml("{name: a, command: [train], ranks: torchrun}")),
              HasSubstr("ranks: per-gpu"));
  EXPECT_THAT(mistakes_of(from_yaml(
                  "{name: a, command: [torchrun, --nproc-per-node=2, x.py], ranks: torchrun}")),
              HasSubstr("weir says how many"));
}

TEST(JobDocument, APriorityIsAWholeNumberOnBothSidesOfZero) {
  EXPECT_EQ(from_yaml("{name: a, priority: -1000, command: [x]}")->front().priority, -1000);
  EXPECT_EQ(from_yaml("{name: a, priority: 1000, command: [x]}")->front().priority, 1000);
  EXPECT_EQ(from_yaml("{name: a, command: [x]}")->front().priority, 0);
  for (const char* wrong : {"1001", "-1001", "1.5", "high", "--1", "[]"}) {
    EXPECT_THAT(
        mistakes_of(from_yaml(fmt::format("{{name: a, priority: {}, command: [x]}}", wrong))),
        HasSubstr("expected an integer from -1000 to 1000"))
        << wrong;
  }
}

TEST(JobDocument, ATenantIsAPlainName) {
  const auto jobs = from_yaml("{name: a, tenant: vision-2, command: [x]}");
  ASSERT_TRUE(jobs) << mistakes_of(jobs);
  EXPECT_EQ(jobs->front().tenant, "vision-2");
  EXPECT_EQ(from_yaml("{name: a, command: [x]}")->front().tenant, "");
  for (const char* wrong : {"''", "a/b", "'a b'", "-a", "\"a\\n\"", "[a]", "../x"}) {
    EXPECT_THAT(mistakes_of(from_yaml(fmt::format("{{name: a, tenant: {}, command: [x]}}", wrong))),
                HasSubstr("1 to 64 letters, digits"))
        << wrong;
  }
}

TEST(JobDocument, FieldsThatNeedEachOtherAreNamed) {
  const auto message = [](std::string_view fields) {
    return mistakes_of(from_yaml("{name: a, command: [python3, x.py], iterations: 5, " +
                                 std::string{fields} + "}"));
  };
  EXPECT_THAT(message("hang_after: 5m"), HasSubstr("reports_progress: true"));
  EXPECT_THAT(message("profile: true"), HasSubstr("nothing to measure"));
  EXPECT_THAT(message("progress_line: step"), HasSubstr("with {step}"));
  EXPECT_THAT(message("progress_line: '{step}', reports_progress: false"), HasSubstr("says how"));
  EXPECT_THAT(message("warm_start: []"), HasSubstr("such as [torch]"));
  EXPECT_THAT(message("warm_start: [a..b]"), HasSubstr("such as [torch]"));
  EXPECT_THAT(message("warm_start: torch"), HasSubstr("such as [torch]"));
  EXPECT_THAT(mistakes_of(from_yaml("{name: a, command: [train], warm_start: [torch]}")),
              HasSubstr("begins with python3"));
}

TEST(JobDocument, AFileMayHaveManyJobs) {
  const auto jobs = from_yaml(R"(
jobs:
  - {name: one, command: [x]}
  - {name: sweep, count: 3, command: [y], iterations: 10}
)");
  ASSERT_TRUE(jobs) << mistakes_of(jobs);
  std::vector<std::string> names;
  for (const JobDocument& job : *jobs) names.push_back(job.name);
  EXPECT_THAT(names, ElementsAre("one", "sweep-1", "sweep-2", "sweep-3"));
  EXPECT_EQ((*jobs)[2].curve.model, "sweep");
  EXPECT_THAT(
      mistakes_in(from_yaml("jobs:\n- {name: a-1, command: [x]}\n- {name: a, count: 2, "
                            "command: [x]}")),
      ElementsAre("job.yaml:3: name is \"a-1\", expected another name: line 2 has this one"));
  EXPECT_THAT(mistakes_in(from_yaml("jobs: []")), ElementsAre(HasSubstr("a list of jobs")));
  EXPECT_THAT(mistakes_in(from_yaml("jobs: [x]")),
              ElementsAre(HasSubstr("job is \"x\", expected a map")));
  EXPECT_THAT(mistakes_in(from_yaml("jobs: [{name: a, command: [x]}]\nname: b")),
              ElementsAre("job.yaml:2: field is \"name\", expected one of jobs"));
}

TEST(JobDocument, IsFoundAgainInItsFile) {
  const TemporaryFolder folder;
  const auto file = folder.write("jobs.yaml",
                                 "jobs:\n- {name: a, command: [x]}\n- name: b\n  count: 2\n"
                                 "  command: [x]\n  gpus: 2\n");
  const auto jobs = read_placed_jobs(file);
  ASSERT_TRUE(jobs) << mistakes_of(jobs);
  ASSERT_EQ(jobs->size(), 3U);
  EXPECT_EQ((*jobs)[0].place->line_of("gpus"), 2U) << "it has none: the job's own line";
  EXPECT_EQ((*jobs)[1].place->line_of("gpus"), 6U);
  EXPECT_EQ((*jobs)[1].place->line_of("command.0"), 5U) << "of what it is a part";
  EXPECT_EQ((*jobs)[2].place, (*jobs)[1].place);
  EXPECT_EQ((*jobs)[2].place->file, file.string());
  EXPECT_FALSE(read_placed_jobs(folder.path() / "none.yaml"));
}

TEST(JobDocument, NamesAllMistakesAtOnce) {
  EXPECT_THAT(
      mistakes_in(from_yaml("nmae: x\ncommand: []\ngpus: two\nretries: -1\nkind: firm\n")),
      ElementsAre(
          HasSubstr("job.yaml:1: field is \"nmae\", expected one of name, tenant, priority, "),
          HasSubstr("job.yaml:2: command is \"an empty list\""),
          HasSubstr("job.yaml:3: gpus is \"two\", expected an integer from 1 to 65536"),
          HasSubstr("job.yaml:5: kind is \"firm\", expected hard or soft"),
          HasSubstr("job.yaml:4: retries is \"-1\", expected an integer from 0 to 10000")));
  EXPECT_THAT(mistakes_in(from_json("{}")), ElementsAre(HasSubstr("request:1: name is missing"),
                                                        HasSubstr("command is missing")));
  EXPECT_THAT(mistakes_in(from_json("[]")), ElementsAre(HasSubstr("job is \"a list\"")));
}

TEST(JobDocument, FieldsMustFitTogether) {
  EXPECT_THAT(with("iterations: 5\nduration: 3m"),
              HasSubstr("job.yaml:4: duration is \"3m\", expected no duration"));
  EXPECT_THAT(with("deadline: 2h"), HasSubstr("duration is missing, expected how long it takes"));
  EXPECT_THAT(with("kind: hard"), HasSubstr("because there is no deadline"));
  EXPECT_THAT(with("model: bert"), HasSubstr("expected iterations too"));
  EXPECT_THAT(with("batch: 7"), HasSubstr("expected iterations too"));
  EXPECT_THAT(with("throughput: {1: 2}"), HasSubstr("expected iterations too"));
  EXPECT_THAT(with("rigid: false"), HasSubstr("only a training job can change its size"));
  EXPECT_THAT(with("gpus: 3"), HasSubstr("a power of two"));
  EXPECT_EQ(with("gpus: 3\niterations: 5"), "0 mistakes: ");
  EXPECT_THAT(with("gpus: 4\niterations: 5\nrigid: true\nthroughput: {1: 2}"),
              HasSubstr("a size that throughput has"));
}

TEST(JobDocument, ValuesHaveLimits) {
  EXPECT_THAT(mistakes_in(from_json(R"({"name":"123","command":["x"]})")),
              ElementsAre(HasSubstr("not only digits")));
  for (const std::string_view name : {"", "..", "a/b", "-x", "a b", "\\u0000"}) {
    EXPECT_THAT(mistakes_in(from_json(fmt::format(R"({{"name":"{}","command":["x"]}})", name))),
                ElementsAre(HasSubstr("name is")));
  }
  EXPECT_THAT(with("directory: here"), HasSubstr("an absolute path"));
  EXPECT_THAT(with("environment: [a]"), HasSubstr("expected a map"));
  EXPECT_THAT(with("environment: {1A: x}"), HasSubstr("environment is \"1A\""));
  EXPECT_THAT(with("environment: {A: x, A: y}"), HasSubstr("environment.A is \"given twice\""));
  EXPECT_THAT(with("environment: {A: }"), HasSubstr("environment.A is \"nothing\""));
  EXPECT_THAT(with("iterations: 5\nthroughput: {3: 1}"), HasSubstr("powers of two"));
  EXPECT_THAT(with("iterations: 5\nthroughput: {1: 0}"), HasSubstr("throughput.1 is \"0\""));
  EXPECT_THAT(with("iterations: 5\nthroughput: {1: 1, 01: 2}"), HasSubstr("given twice"));
  EXPECT_THAT(with("iterations: 5\nthroughput: {}"), HasSubstr("throughput is \"a map\""));
  EXPECT_THAT(with("iterations: 5\nmodel: any program"), HasSubstr("without spaces"));
  EXPECT_THAT(with("iterations: 0"), HasSubstr("an integer from 1 to"));
  EXPECT_THAT(with("duration: 0s"), HasSubstr("more than 0s"));
  EXPECT_THAT(with("duration: 1h\ndeadline: tomorrow"), HasSubstr("2026-11-15T09:00:00Z"));
  EXPECT_THAT(with("memory: 4"), HasSubstr("whole MiB"));
  EXPECT_THAT(with("grace: 2d"), HasSubstr("up to 1d"));
  EXPECT_THAT(with("ranks: two"), HasSubstr("one, per-gpu or torchrun"));
  EXPECT_THAT(with("gpus:"), HasSubstr("gpus is \"nothing\""));
  std::string entries;
  for (int i = 0; i < 257; ++i) entries += fmt::format("{}\"A{}\":\"x\"", i == 0 ? "" : ",", i);
  EXPECT_THAT(with_json("\"environment\":{" + entries + "}"), HasSubstr("257 entries"));
  const std::string long_text(130'000, 'x');
  EXPECT_THAT(
      with_json("\"environment\":{\"A\":\"" + long_text + "\",\"B\":\"" + long_text + "\"}"),
      HasSubstr("at most 128 KiB"));
  EXPECT_THAT(mistakes_in(from_json(R"({"name":"a","command":")" + long_text + long_text + "\"}")),
              ElementsAre(HasSubstr("at most 128 KiB")));
}

TEST(JobDocument, JsonIsStrict) {
  EXPECT_THAT(with_json(R"("gpus":"2")"), HasSubstr("gpus is \"2\", expected an integer"));
  EXPECT_THAT(with_json(R"("gpus":2.0)"), HasSubstr("gpus is \"2.0\""));
  EXPECT_THAT(with_json(R"("gpus":null)"), HasSubstr("gpus is \"nothing\""));
  EXPECT_THAT(with_json(R"("gpus":1,"gpus":2)"), HasSubstr("gpus is \"given twice\""));
  EXPECT_THAT(with_json(R"("reports_progress":"true")"), HasSubstr("true or false"));
  EXPECT_THAT(with_json(R"("environment":{"A":1})"), HasSubstr("environment.A is \"1\""));
  EXPECT_THAT(with_json(R"("environment":{"A":"\u0000"})"), HasSubstr("without NUL"));
  EXPECT_THAT(with_json(R"("count":2)"), HasSubstr("field is \"count\""));
  EXPECT_THAT(
      mistakes_in(from_json("{\"name\":\"a\",\n\"command\":[\"x\",2]}")),
      ElementsAre("request:2: command[1] is \"2\", expected UTF-8 text without NUL (in JSON "
                  "in quotes)"));
  EXPECT_THAT(mistakes_in(from_json("{\"name\":\n oops}")),
              ElementsAre("request:2: text is \"not JSON at byte 11\", expected a value"));
  EXPECT_THAT(mistakes_in(from_json("{} {}")),
              ElementsAre(HasSubstr("nothing after the document")));
  EXPECT_THAT(mistakes_in(from_json(std::string(100'000, '['))),
              ElementsAre(HasSubstr("less nesting")));
  EXPECT_THAT(mistakes_in(from_json(std::string(kMaxJobJsonBytes + 1, ' '))),
              ElementsAre(HasSubstr("1 MiB")));
  EXPECT_FALSE(from_json(""));
}

TEST(JobDocument, OneJobIsNotSeveral) {
  const auto one = [](std::string_view text) {
    return read_one_job_yaml(*InputFile::from_memory("job.yaml", text));
  };
  const auto job = one(kTrainingYaml);
  ASSERT_TRUE(job) << to_string(job.error().details);
  EXPECT_EQ(*job, training_job());
  for (const char* several :
       {"name: a\ncommand: [x]\ncount: 1", "name: a\n\ncount: 3", "command: [x]\n\ncount: x"}) {
    const auto refused = one(several);
    ASSERT_FALSE(refused);
    EXPECT_THAT(to_string(refused.error().details),
                AllOf(HasSubstr("job.yaml:3: count is"),
                      HasSubstr("expected one job; send each in a request of its own")));
  }
  EXPECT_THAT(to_string(one("jobs: [{name: a, command: [x]}]").error().details),
              HasSubstr("job.yaml:1: jobs is \"a list\", expected one job"));
  EXPECT_FALSE(one(""));
  EXPECT_FALSE(one("- jobs"));
  EXPECT_FALSE(one("[{count: 1}]"));
}

TEST(JobDocument, ReadsAFile) {
  const TemporaryFolder folder;
  const auto jobs = read_job_yaml(folder.write("job.yaml", kTrainingYaml));
  ASSERT_TRUE(jobs) << mistakes_of(jobs);
  EXPECT_FALSE(read_job_yaml(folder.path() / "nowhere.yaml"));
}

// ---- Any document a reader could have made.

std::string any_text_for_a_process() {
  return *rc::gen::oneOf(any_name("ab \n\t\x01\x7f/\"\\"), rc::gen::just(std::string{}));
}

JobDocument any_job() {
  JobDocument job;
  job.name = "j" + *rc::gen::container<std::string>(rc::gen::elementOf(std::string{"a1-_."}));
  job.name.resize(std::min(job.name.size(), kLongestJobName));
  job.launch.command =
      *rc::gen::container<std::vector<std::string>>(rc::gen::exec(any_text_for_a_process));
  job.launch.command.insert(job.launch.command.begin(), "program");
  if (*rc::gen::arbitrary<bool>())
    job.tenant = *rc::gen::element<std::string>("t", "a.b-c_9", "9", "default");
  job.priority = *rc::gen::inRange(-kHighestPriority, kHighestPriority + 1);
  if (*rc::gen::arbitrary<bool>()) job.launch.directory = "/" + *any_name("ab /");
  for (const auto& name : *rc::gen::container<std::vector<std::string>>(
           rc::gen::element<std::string>("A", "B_1", "_c", "LR"))) {
    job.launch.environment.emplace_back(name, any_text_for_a_process());
  }
  auto& environment = job.launch.environment;
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(environment.begin(), environment.end(), by_name);
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  environment.erase(std::unique(environment.begin(), environment.end(), same_name),
                    environment.end());
  job.gpus = 1 << *rc::gen::inRange(0, 17);
  job.is_training = *rc::gen::arbitrary<bool>();
  if (job.is_training) {
    job.is_rigid = *rc::gen::arbitrary<bool>();
    job.iterations = *rc::gen::inRange<std::int64_t>(1, kMostIterations + 1);
    job.curve = {*rc::gen::elementOf(std::vector<std::string>{job.name, "bert", "a\"b\""}),
                 *rc::gen::inRange<std::int64_t>(0, kMostGlobalBatch + 1)};
    if (*rc::gen::arbitrary<bool>()) {
      std::vector<CurvePoint> points{{job.gpus, IterationRate{1}}};
      for (std::int32_t gpus = 1; gpus <= 8; gpus *= 2) {
        points.push_back(
            {gpus, IterationRate{*rc::gen::inRange<std::int64_t>(1, kMostRate.value + 1)}});
      }
      job.throughput = Curve{points};
    }
  } else if (*rc::gen::arbitrary<bool>()) {
    job.duration = Duration{*rc::gen::inRange<std::int64_t>(1, from_seconds(kMostSeconds).count())};
  }
  if (job.is_training || job.duration) {
    const auto time = *rc::gen::inRange<std::int64_t>(1, from_seconds(kMostSeconds).count());
    const int style = *rc::gen::inRange(0, 3);
    if (style == 1) job.deadline = Duration{time};
    if (style == 2) job.deadline = Time{Duration{time}};
    if (style > 0) job.kind = *rc::gen::element(DeadlineKind::soft, DeadlineKind::hard);
  }
  job.launch.ranks = *rc::gen::element(Ranks::one, Ranks::per_gpu);
  const int progress = *rc::gen::inRange(0, 3);
  job.launch.reports_progress = progress > 0;
  if (progress == 2) job.launch.progress_line = *rc::gen::element("step {step}", "{loss}: {step}!");
  const auto any_day = rc::gen::inRange<std::int64_t>(1, kLongestGrace.count() + 1);
  if (*rc::gen::arbitrary<bool>()) job.launch.grace = Duration{*any_day - 1};
  if (*rc::gen::arbitrary<bool>()) job.launch.announce = Duration{*any_day};
  if (progress > 0 && *rc::gen::arbitrary<bool>()) job.launch.hang_after = Duration{*any_day};
  job.is_to_be_profiled = job.is_training && progress > 0 && *rc::gen::arbitrary<bool>();
  job.launch.memory_limit_bytes = *rc::gen::inRange<std::int64_t>(0, kMostMemory.value + 1) << 20;
  job.retries = *rc::gen::inRange(0, kMostRetries + 1);
  return job;
}

RC_GTEST_PROP(JobDocument, WhatIsWrittenReadsBackEqual, ()) {
  const JobDocument job = any_job();
  const std::string text = write_job_json(job);
  const auto back = from_json(text);
  if (!back) RC_LOG() << mistakes_of(back) << "\n" << text;
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == job);
  RC_ASSERT(write_job_json(*back) == text);
}

RC_GTEST_PROP(JobDocument, DamagedJsonIsReadOrRefusedWithAReason, ()) {
  std::string text{kTrainingJson};
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
  const auto job = from_json(text);
  if (job) RC_SUCCEED();
  RC_ASSERT(!job.error().details.empty());
  RC_ASSERT(job.error().details.list()[0].file == "request");
  RC_ASSERT(!job.error().details.list()[0].expected.empty());
}

}  // namespace
}  // namespace weir::formats
