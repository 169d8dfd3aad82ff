// SPDX-License-Identifier: Apache-2.0
#include "formats/gpu_types_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::formats {
namespace {

using testing::ElementsAre;

Result<std::vector<DescribedGpu>> described(std::string_view text) {
  return read_gpu_types_yaml(*InputFile::from_memory("gpus.yaml", text));
}

std::vector<std::string> mistakes_of(std::string_view text) {
  const auto types = described(text);
  std::vector<std::string> lines;
  if (types) return lines;
  for (const Diagnostic& each : types.error().details.list()) lines.push_back(to_string(each));
  return lines;
}

TEST(GpuTypesYaml, WhatIsNotSaidIsAsUsual) {
  const auto types = described(
      "gpus:\n"
      "  - {name: X1, tflops: 400, memory: 64GiB, memory_rate: 3000, link_rate: 200}\n"
      "  - {name: CPU, tflops: 0.05, memory: 1536MiB, memory_rate: 10, link_rate: 1.5,\n"
      "     link_efficiency: 1, latency: 250, nics: 2, nic_rate: 10, gemm_efficiency: 1, "
      "short_side: 8, call: 0,\n"
      "     attention_forward: 0.2, attention_backward: 0.1, element_bytes: 4, price: 0.05}\n");
  ASSERT_TRUE(types) << to_string(types.error().details);
  DescribedGpu plain;
  plain.name = "X1";
  plain.tflops = 400;
  plain.memory_gib = 64;
  plain.memory_gb_s = 3000;
  plain.link_gb_s = 200;
  const DescribedGpu cpu{"CPU", 0.05, 1.5, 10, 1.5, 1, 250, 2, 10, 1, 8, 0, 0.2, 0.1, 4, 0.05};
  EXPECT_THAT(*types, ElementsAre(plain, cpu));
}

TEST(GpuTypesYaml, NamesAllMistakesAtOnce) {
  EXPECT_THAT(
      mistakes_of("gpus:\n"
                  "  - {name: X1, tflops: 0, memory: 64, memory_rate: fast, speed: 1}\n"
                  "  - {name: X1, tflops: 1, memory: 1GiB, memory_rate: 1, link_rate: nan,\n"
                  "     gemm_efficiency: 1.5, element_bytes: 3, nics: 0}\n"),
      ElementsAre(
          testing::HasSubstr("gpus.yaml:2: key is \"speed\", expected one of name, tflops"),
          "gpus.yaml:2: tflops is \"0\", expected a number from 1e-06 to 1000000000",
          "gpus.yaml:2: memory_rate is \"fast\", expected a number from 0.001 to 1000000000",
          "gpus.yaml:2: link_rate is missing, expected a number from 1e-06 to 1000000000",
          testing::HasSubstr("gpus.yaml:2: memory is \"64\""),
          "gpus.yaml:3: link_rate is \"nan\", expected a number from 1e-06 to 1000000000",
          "gpus.yaml:4: gemm_efficiency is \"1.5\", expected a number from 0.001 to 1",
          testing::HasSubstr("gpus.yaml:4: nics is \"0\""),
          "gpus.yaml:4: element_bytes is \"3\", expected 2 or 4",
          "gpus.yaml:3: name is \"X1\", expected another name: a type before has this one"));
}

TEST(GpuTypesYaml, NoMemoryIsAMistakeOfTheMemory) {
  EXPECT_THAT(mistakes_of("gpus: [{name: X1, tflops: 400, memory: 0GiB, memory_rate: 3000, "
                          "link_rate: 200}]"),
              ElementsAre("gpus.yaml:1: memory is \"0GiB\", expected more than 0, such as 80GiB"));
}

TEST(GpuTypesYaml, AnEmptyFileIsToldWhatToWrite) {
  EXPECT_THAT(
      mistakes_of("gpus: []\n"),
      ElementsAre(testing::HasSubstr("gpus is \"an empty list\", expected a list of types")));
  EXPECT_EQ(mistakes_of("name: X1\n").size(), 2U);
}

}  // namespace
}  // namespace weir::formats
