// SPDX-License-Identifier: Apache-2.0
#include "formats/models_of_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ModelsOfJobsFile : public testing::Test {
 protected:
  Result<ModelsOfJobs> look(const std::string& text, const char* name = "night.yaml") {
    return models_of_jobs(folder_.write(name, text));
  }
  TemporaryFolder folder_;
};

TEST_F(ModelsOfJobsFile, HasModelsToPlanOrNot) {
  EXPECT_EQ(*look("jobs: [{name: a, model: bert}, {name: b, model: {config: x}}]"),
            ModelsOfJobs::planned);
  EXPECT_EQ(*look("jobs: [{name: a, model: bert}, {name: b}]"), ModelsOfJobs::named);
  EXPECT_EQ(*look("jobs: [model]\nmodel: {config: x}"), ModelsOfJobs::named);
  EXPECT_EQ(*look("jobs: none"), ModelsOfJobs::named) << "for the reader to say";
  EXPECT_EQ(*look("job,model\n1,bert\n", "trace.csv"), ModelsOfJobs::named);
  EXPECT_EQ(*look("job,model\n1,bert\n", "trace"), ModelsOfJobs::named);
  EXPECT_EQ(*look(R"({"jobs": [{"name": "a", "model": {"config": "x"}}]})", "night.json"),
            ModelsOfJobs::planned);
  EXPECT_EQ(*models_of_jobs("/dev/null"), ModelsOfJobs::named) << "no regular file";
}

TEST_F(ModelsOfJobsFile, WhatIsNoneSaysWhatItIs) {
  EXPECT_THAT(mistakes_of(look("")), HasSubstr("night.yaml: file is \"empty\", expected training"));
  EXPECT_THAT(mistakes_of(look("", "trace.csv")), HasSubstr("trace.csv: file is \"empty\""));
  EXPECT_THAT(mistakes_of(look("nodes: [1]")), HasSubstr("file is \"without jobs\", expected tra"));
  EXPECT_THAT(mistakes_of(look("just text")), HasSubstr("file is \"without jobs\""));
  EXPECT_THAT(mistakes_of(look(R"({"n_embd": 768, "n_layer": 12})", "gpt.json")),
              AllOf(HasSubstr("gpt.json: file is \"the config of a model\""),
                    HasSubstr("model: {config: gpt.json, batch: 256}")));
  EXPECT_THAT(mistakes_of(look("jobs: [")), Not(HasSubstr("without jobs")));
  EXPECT_FALSE(look("jobs: ["));
  EXPECT_THAT(mistakes_of(models_of_jobs(folder_.path() / "none.yaml")), HasSubstr("none.yaml"));
}

}  // namespace
}  // namespace weir::formats
