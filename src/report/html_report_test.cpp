// SPDX-License-Identifier: Apache-2.0
#include "report/html_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/outcome_json.h"
#include "report/outcomes_testing.h"
#include "report/report_data_testing.h"

namespace weir::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

const ReportHeader kHeader{"weir simulate --policy fgd,best-fit", "0.1.0", {{"GPUs", "100"}}};

std::vector<simulate::InflationOutcome> some_runs() {
  return {a_run("best-fit", 42, 91), a_run("best-fit", 43, 93), a_run("fgd", 42, 94),
          a_run("fgd", 43, 96)};
}

TEST(HtmlReport, SaysWhoStrandsTheFewestGpus) {
  const std::string html = html_report(kHeader, some_runs());
  EXPECT_THAT(html,
              HasSubstr("On default, fgd strands the fewest GPUs: 5 of 100 when demand equals "
                        "capacity. The most: 8, with best-fit."));
  EXPECT_THAT(html, HasSubstr("<pre>weir simulate --policy fgd,best-fit</pre>"));
  EXPECT_THAT(html, HasSubstr("<title>weir: Which policy strands the fewest GPUs?</title>"));
}

TEST(HtmlReport, OverSeveralListsCountsWhereAPolicyComesFirst) {
  const std::vector<simulate::InflationOutcome> runs = {
      a_run("best-fit", 1, 91), a_run("fgd", 1, 95), a_run("best-fit", 1, 80, "gpuspec33"),
      a_run("fgd", 1, 88, "gpuspec33")};
  EXPECT_THAT(html_report(kHeader, runs),
              HasSubstr("fgd strands the fewest GPUs on 2 of 2 lists."));
}

TEST(HtmlReport, NeedsNothingFromOutside) {
  const std::string html = html_report(kHeader, some_runs());
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(without_data(html), Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("href=")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
}

TEST(HtmlReport, EveryPlotHasATableBesideIt) {
  const std::string html = html_report(kHeader, some_runs());
  std::size_t plots = 0;
  for (std::size_t at = html.find("<svg"); at != std::string::npos;
       at = html.find("<svg", at + 1)) {
    ++plots;
    const std::size_t figure_end = html.find("</figure>", at);
    EXPECT_LT(html.find("<table>", at), figure_end);
  }
  EXPECT_EQ(plots, 3U);
}

TEST(HtmlReport, NamesFromFilesCannotBecomeMarkup) {
  const std::string html =
      html_report(kHeader, std::vector{a_run("fgd", 1, 90, "<script>alert(1)</script>")});
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_THAT(without_data(html), Not(HasSubstr("</script>"))) << "the name has not ended the data";
}

TEST(HtmlReport, CarriesWhatJsonPrints) {
  const auto runs = some_runs();
  const Json data = Json::parse(data_of(html_report(kHeader, runs)));
  EXPECT_EQ(data.at("runs"), Json::parse(*outcome_json(runs)).at("runs"));
  EXPECT_EQ(data.at("version"), "0.1.0");
  EXPECT_EQ(data.at("recipe"), kHeader.recipe);
  const std::vector churn = {a_churn_run("fgd", 0.9, "fifo", 42, 10)};
  EXPECT_EQ(Json::parse(data_of(html_report(kHeader, churn))).at("churn"),
            Json::parse(*outcome_json(churn)).at("churn"));
}

TEST(HtmlReport, ItsDataDoesNotTellHowLongTheSimulationTook) {
  auto runs = some_runs();
  const std::string before = html_report(kHeader, runs);
  runs[0].timing.emplace().decision_us_mean = 3;
  EXPECT_EQ(data_of(html_report(kHeader, runs)), data_of(before));
}

TEST(HtmlReport, ShowsWaitAgainstLoadForEachQueue) {
  const std::vector<simulate::ChurnOutcome> runs = {
      a_churn_run("fgd", 0.9, "fifo", 42, 10), a_churn_run("fgd", 1.0, "fifo", 42, 60),
      a_churn_run("fgd", 0.9, "backfill", 42, 4), a_churn_run("fgd", 1.0, "backfill", 42, 20)};
  const std::string html = html_report(kHeader, runs);
  EXPECT_THAT(html, HasSubstr("Waiting: default, fifo queue"));
  EXPECT_THAT(html, HasSubstr("Waiting: default, backfill queue"));
  EXPECT_THAT(html, HasSubstr("<title>fgd, offered GPU load 1: 60.0</title>"));
}

TEST(HtmlReport, OfNoRunsIsStillAPage) {
  EXPECT_THAT(html_report(kHeader, std::vector<simulate::InflationOutcome>{}),
              HasSubstr("</html>"));
}

}  // namespace
}  // namespace weir::report
