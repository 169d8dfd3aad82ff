// SPDX-License-Identifier: Apache-2.0
#include "cli/what_if_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ApiJson job(int id, const std::string& name, const std::string& finish = {}) {
  ApiJson json{{"id", id}, {"name", name}, {"answer", "no_promise"}, {"most_gpus", 4}};
  if (!finish.empty()) json["finish"] = "2026-11-16T" + finish + "Z";
  return json;
}

ApiJson promised(ApiJson json, bool in_time) {
  json["answer"] = "promised";
  json["in_time"] = in_time;
  return json;
}

ApiJson side(std::vector<ApiJson> jobs, std::int64_t gpus = 8) {
  return {{"complete", true},
          {"gpus", gpus},
          {"until", "2026-11-16T12:00:00Z"},
          {"totals",
           {{"jobs", jobs.size()},
            {"promised", 3},
            {"kept", 2},
            {"refused", 1},
            {"finished", jobs.size()},
            {"mean_wait_seconds", 89.6},
            {"utilisation", 0.625}}},
          {"jobs", std::move(jobs)}};
}

ApiJson answer(ApiJson now, ApiJson then) {
  return {{"from", "2026-11-16T09:00:00Z"}, {"now", std::move(now)}, {"then", std::move(then)}};
}

// Of the row that has this word.
std::string row(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return "no such row";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

TEST(WhatIfText, SaysHowMuchSoonerOrLater) {
  const std::string text = what_if_text(answer(
      side({job(1, "soon", "10:00:00"), job(2, "late", "10:00:00"), job(3, "same", "10:00:00")}),
      side({job(1, "soon", "09:30:00"), job(2, "late", "11:05:00"), job(3, "same", "10:00:00")})));
  EXPECT_THAT(row(text, "soon"), HasSubstr("30m sooner"));
  EXPECT_THAT(row(text, "late"), HasSubstr("1h5m later"));
  EXPECT_THAT(row(text, " same "), HasSubstr("2026-11-16T10:00:00Z"));
  EXPECT_LT(text.find("late"), text.find("soon")) << "the largest difference first";
}

TEST(WhatIfText, WhatBecomesOfPromisesComesBeforeDifferences) {
  ApiJson refused = job(2, "turned-away");
  refused["answer"] = "refused";
  const std::string text = what_if_text(
      answer(side({job(3, "slow", "10:00:00"), promised(job(1, "kept-now", "10:00:00"), true),
                   job(2, "turned-away", "10:00:00")}),
             side({job(3, "slow", "11:59:00"), promised(job(1, "kept-now", "10:01:00"), false),
                   refused})));
  EXPECT_THAT(row(text, "kept-now"), HasSubstr("kept         broken"));
  EXPECT_THAT(row(text, "turned-away"), HasSubstr("refused"));
  EXPECT_THAT(row(text, "turned-away"), HasSubstr("is not done"));
  EXPECT_LT(text.find("kept-now"), text.find("slow"));
}

TEST(WhatIfText, ASupposedJobHasNoNumberAndNoNow) {
  ApiJson supposed = job(0, "supposed", "10:00:00");
  supposed.erase("id");
  const std::string text = what_if_text(
      answer(side({job(1, "a", "10:00:00")}), side({job(1, "a", "10:00:00"), supposed})));
  EXPECT_THAT(row(text, "supposed"), HasSubstr("new"));
  EXPECT_THAT(row(text, "supposed"), ::testing::ContainsRegex("^ *- +supposed +- "));
}

TEST(WhatIfText, OfManyThatAreTheSameOnlySomeAreShown) {
  std::vector<ApiJson> jobs;
  for (int i = 1; i <= 25; ++i) jobs.push_back(job(i, "job-" + std::to_string(i), "10:00:00"));
  const std::string text = what_if_text(answer(side(jobs), side(jobs)));
  EXPECT_THAT(text, HasSubstr("job-10"));
  EXPECT_THAT(text, Not(HasSubstr("job-11")));
  EXPECT_THAT(text, HasSubstr("15 more"));
}

TEST(WhatIfText, TotalsStandBesideEachOther) {
  const std::string text = what_if_text(answer(side({}), side({}, 12)));
  EXPECT_THAT(text, HasSubstr("There are no jobs."));
  EXPECT_THAT(row(text, "promises kept"), HasSubstr("2 of 3"));
  EXPECT_THAT(row(text, "mean wait"), HasSubstr("1m30s"));
  EXPECT_THAT(row(text, "GPUs in use"), HasSubstr("62 % of 8"));
  EXPECT_THAT(row(text, "GPUs in use"), HasSubstr("62 % of 12"));
  EXPECT_THAT(text, Not(HasSubstr("cut short")));
}

TEST(WhatIfText, AForecastThatWasCutShortSaysSo) {
  ApiJson cut = side({});
  cut["complete"] = false;
  EXPECT_THAT(what_if_text(answer(side({}), cut)), HasSubstr("The forecast was cut short"));
}

ApiJson with_charts(ApiJson made) {
  made["pools"] =
      ApiJson::array({{{"name", "A100"}, {"nodes", 2}, {"gpus_per_node", 4}, {"stride", 4}}});
  made["records"] = ApiJson::array();
  return made;
}

TEST(WhatIfPage, HasBothChartsAndTheTables) {
  const auto page = what_if_page(answer(with_charts(side({job(1, "<b>odd</b>", "10:00:00")})),
                                        with_charts(side({job(1, "<b>odd</b>", "09:00:00")}))),
                                 {"weir what-if --add-nodes 1", "test", {}});
  ASSERT_TRUE(page);
  EXPECT_LT(page->find("As it is"), page->find("As it would be"));
  EXPECT_THAT(*page, HasSubstr("1h sooner"));
  EXPECT_THAT(*page, HasSubstr("&lt;b&gt;odd"));
  EXPECT_THAT(*page, Not(HasSubstr("<b>odd")));
  EXPECT_THAT(*page, HasSubstr("weir what-if --add-nodes 1"));
}

TEST(WhatIfPage, ARecordThatIsNoneIsAnError) {
  ApiJson broken = with_charts(side({}));
  broken["records"].push_back("{\"type\": \"nothing\"}");
  EXPECT_FALSE(what_if_page(answer(with_charts(side({})), broken), {}));
}

}  // namespace
}  // namespace weir::cli
