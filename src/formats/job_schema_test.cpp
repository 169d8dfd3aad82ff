// SPDX-License-Identifier: Apache-2.0
//
// docs/reference/job.schema.json says what the reader of job documents does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "domain/source_folder_testing.h"
#include "formats/input_ranges.h"
#include "formats/job_document.h"
#include "formats/plain_name.h"
#include "formats/transformer_config.h"

namespace weir::formats {
namespace {

using SortedJson = nlohmann::json;

SortedJson schema() {
  std::ifstream file{source_folder() / "docs/reference/job.schema.json"};
  return SortedJson::parse(file);
}

TEST(JobSchema, HasTheFieldsOfTheReader) {
  std::set<std::string> in_schema;
  const SortedJson properties = schema()["properties"];
  for (const auto& [name, description] : properties.items()) {
    in_schema.insert(name);
    EXPECT_TRUE(description.contains("description")) << name;
  }
  const auto fields = job_field_names();
  EXPECT_EQ(in_schema, (std::set<std::string>{fields.begin(), fields.end()}));
}

TEST(JobSchema, HasTheLimitsOfTheReader) {
  const SortedJson fields = schema()["properties"];
  EXPECT_EQ(fields["name"]["maxLength"], kLongestJobName);
  EXPECT_EQ(fields["tenant"]["maxLength"], kLongestTenantName);
  EXPECT_EQ(fields["priority"]["maximum"], kHighestPriority);
  EXPECT_EQ(fields["priority"]["minimum"], -kHighestPriority);
  EXPECT_EQ(fields["directory"]["maxLength"], kLongestPath);
  EXPECT_EQ(fields["environment"]["maxProperties"], kMaxEnvironmentEntries);
  EXPECT_EQ(fields["environment"]["propertyNames"]["maxLength"], kLongestName);
  EXPECT_EQ(fields["iterations"]["maximum"], kMostIterations);
  EXPECT_EQ(fields["batch"]["maximum"], kMostGlobalBatch);
  EXPECT_EQ(fields["gpus"]["maximum"], kMostGpusPerJob);
  EXPECT_EQ(fields["retries"]["maximum"], kMostRetries);
  EXPECT_EQ(fields["model"]["maxLength"], kLongestName);
}

TEST(JobSchema, HasTheLimitsOfAModelToPlan) {
  const SortedJson fields = schema()["properties"]["model"]["properties"];
  EXPECT_EQ(fields["batch"]["maximum"], kMostGlobalBatch);
  EXPECT_EQ(fields["sequence"]["maximum"], kLongestSequence);
  EXPECT_EQ(fields["layers"]["maximum"], kMostModelLayers);
  EXPECT_EQ(fields["hidden"]["maximum"], kMostHidden);
  EXPECT_EQ(fields["vocab"]["maximum"], kMostVocab);
  EXPECT_EQ(fields["ffn"]["maximum"], kMostFfn);
  EXPECT_EQ(fields["experts"]["maximum"], kMostExperts);
  // An unknown field is answered with the known ones.
  const auto wrong = read_job_json(
      R"({"name":"a","command":["x"],"iterations":1,"model":{"surprise":1}})", "request");
  ASSERT_FALSE(wrong);
  std::string known = wrong.error().details.list().front().expected;
  known = known.substr(0, known.find(';')) + ",";
  for (const auto& [name, description] : fields.items()) {
    EXPECT_TRUE(description.contains("description")) << name;
    EXPECT_THAT(known, testing::HasSubstr(" " + name + ","));
  }
  EXPECT_EQ(static_cast<std::size_t>(std::count(known.begin(), known.end(), ',')), fields.size());
}

TEST(JobSchema, ItsExamplesAreReadAndHaveEveryField) {
  std::set<std::string> shown;
  const SortedJson examples = schema()["examples"];
  for (const SortedJson& example : examples) {
    const auto job = read_job_json(example.dump(), "example");
    EXPECT_TRUE(job) << to_string(job.error().details);
    for (const auto& [name, value] : example.items()) shown.insert(name);
  }
  for (const std::string_view name : job_field_names()) {
    EXPECT_TRUE(shown.contains(std::string{name})) << name;
  }
}

// Each breaks one rule that the schema has too.
TEST(JobSchema, WhatItForbidsIsRefused) {
  const SortedJson good = {{"name", "a"}, {"command", {"x"}}};
  const auto refuses = [&](const char* field, const SortedJson& value) {
    SortedJson job = good;
    job[field] = value;
    return !read_job_json(job.dump(), "request").has_value();
  };
  EXPECT_TRUE(read_job_json(good.dump(), "request"));
  const SortedJson rules = schema();
  for (const auto& [field, needed] : rules["dependentRequired"].items()) {
    const SortedJson value = field == "batch"        ? SortedJson(1)
                             : field == "throughput" ? SortedJson{{"1", 2}}
                             : field == "kind"       ? SortedJson("hard")
                                                     : SortedJson("m");
    EXPECT_TRUE(refuses(field.c_str(), value)) << field;
  }
  for (const SortedJson& field : rules["required"]) {
    SortedJson job = good;
    job.erase(field.get<std::string>());
    EXPECT_FALSE(read_job_json(job.dump(), "request")) << field;
  }
  EXPECT_TRUE(refuses("surprise", 1));
  EXPECT_TRUE(refuses("name", "12"));
  EXPECT_TRUE(refuses("directory", "relative"));
  EXPECT_TRUE(refuses("deadline", "6h"));
}

}  // namespace
}  // namespace weir::formats
