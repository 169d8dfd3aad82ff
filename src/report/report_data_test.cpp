// SPDX-License-Identifier: Apache-2.0
#include "report/report_data.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "report/report_data_testing.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

const ReportHeader kHeader{"weir simulate --jobs \"</script><b>\"", "0.1.0", {}};

TEST(ReportData, AddsVersionRecipeAndWhatIsShown) {
  const std::vector<Result<std::string>> shown = {R"({"run":0})", R"({"run":3})"};
  const Json data = Json::parse(report_data("{\"runs\":[\n{}\n]}\n", kHeader, shown));
  EXPECT_EQ(data.at("runs").size(), 1U);
  EXPECT_EQ(data.at("recipe"), kHeader.recipe);
  EXPECT_EQ(data.at("shown").at(1).at("run"), 3);
  EXPECT_FALSE(Json::parse(report_data("{\"runs\":[]}", kHeader)).contains("shown"));
}

TEST(ReportData, NothingInItEndsItsElement) {
  const std::string data = report_data("{\"runs\":[]}", kHeader);
  const std::string element = data_element(data);
  EXPECT_THAT(data_of(element), Not(HasSubstr("<")));
  EXPECT_EQ(without_data(element), "\n");
  EXPECT_EQ(Json::parse(data_of(element)), Json::parse(data)) << "it means the same";
}

TEST(ReportData, OfNothingIsNoElement) {
  EXPECT_EQ(data_element(""), "");
  const Result<std::string> broken = tl::unexpected(Error{});
  EXPECT_EQ(report_data(broken, kHeader), "");
  EXPECT_EQ(report_data("{}", kHeader, std::vector{broken}), "");
}

}  // namespace
}  // namespace weir::report
