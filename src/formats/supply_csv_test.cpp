// SPDX-License-Identifier: Apache-2.0
#include "formats/supply_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"
#include "formats/time_text.h"

namespace weir::formats {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

Result<SupplyFile> supply_from(std::string_view text, std::optional<CarbonFactors> factors = {}) {
  return read_supply(*InputFile::from_memory("grid.csv", text), factors);
}

Result<ForecastFile> read_forecasts(std::string_view text) {
  return read_forecast(*InputFile::from_memory("forecast.csv", text));
}

Time at(std::string_view text) {
  return parse_time(text).value();
}

TEST(SupplyCsv, ReadsCarbonPriceAndPowerCaps) {
  const auto carbon = supply_from(
      "utc_time,carbon_g_per_kwh\n2021-01-01T00:00Z,310.5\n"
      "2021-01-01T01:00Z,290\n");
  ASSERT_TRUE(carbon) << mistakes_of(carbon);
  EXPECT_EQ(carbon->kind, SupplyKind{});
  EXPECT_EQ(carbon->series, SupplySeries(at("2021-01-01T00:00:00Z"), 1h, {310.5, 290}));
  EXPECT_EQ(carbon->repairs, SupplyRepairs{});
  const auto price = supply_from(
      "zone,price_gbp_per_mwh,utc_time\r\nGB,50,2021-01-01 00:00\r\n"
      "GB,75,2021-01-01 00:30:00Z\r\n");
  ASSERT_TRUE(price) << mistakes_of(price);
  EXPECT_EQ(price->kind, (SupplyKind{SupplyQuantity::price, "GBP"}));
  EXPECT_EQ(price->series.step(), 30min);
  EXPECT_THAT(price->series.values(), ElementsAre(0.05, 0.075));
  const auto cap =
      supply_from("utc_time,power_cap_kw\n2021-01-01T00:00Z,40\n2021-01-01T00:15Z,38.5\n");
  ASSERT_TRUE(cap) << mistakes_of(cap);
  EXPECT_EQ(cap->kind.quantity, SupplyQuantity::power_cap);
  EXPECT_EQ(cap->series.step(), 15min);
  EXPECT_THAT(cap->series.values(), ElementsAre(40'000, 38'500));
}

TEST(SupplyCsv, ReadsGzip) {
  const std::string packed = gzip("utc_time,carbon_g_per_kwh\n2021-01-01T00:00Z,310\n");
  const auto file = supply_from(packed);
  ASSERT_TRUE(file) << mistakes_of(file);
  EXPECT_EQ(file->series.step(), 1h);  // of a single value
}

TEST(SupplyCsv, TakesOneOfThePublicColumnsAndNeverBoth) {
  constexpr std::string_view kPublic =
      "utc_time,ci_lifecycle,ci_direct\n2020-01-01T00:00Z,330,243\n";
  EXPECT_EQ(supply_from(kPublic)->series.values().front(), 330);
  EXPECT_EQ(supply_from(kPublic)->kind.quantity, SupplyQuantity::carbon_lifecycle);
  EXPECT_EQ(supply_from(kPublic, CarbonFactors::direct)->series.values().front(), 243);
  EXPECT_EQ(supply_from(kPublic, CarbonFactors::direct)->kind.quantity,
            SupplyQuantity::carbon_direct);
}

TEST(SupplyCsv, RefusesFactorsThatTheFileDoesNotHave) {
  EXPECT_EQ(
      mistakes_of(
          supply_from("utc_time,carbon_g_per_kwh\n2021-01-01T00:00Z,1\n", CarbonFactors::direct)),
      "grid.csv:1: column is \"carbon_g_per_kwh\", expected carbon with direct factors, which "
      "were asked for\n");
  EXPECT_THAT(mistakes_of(supply_from("utc_time,price_eur_per_kwh\n2021-01-01T00:00Z,1\n",
                                      CarbonFactors::lifecycle)),
              HasSubstr("expected carbon with lifecycle factors"));
  EXPECT_TRUE(supply_from("utc_time,carbon_direct_g_per_kwh\n2021-01-01T00:00Z,1\n"));
}

// On 28 March 2021 clocks in Berlin went from 02:00 to 03:00, on 31 October from 03:00 to 02:00.
TEST(SupplyCsv, KeepsTheHoursOfDaylightSavingApartByTheirOffsets) {
  const auto spring = supply_from(
      "time,carbon_g_per_kwh\n2021-03-28T01:00+01:00,1\n"
      "2021-03-28T03:00+02:00,2\n2021-03-28T04:00+02:00,3\n");
  ASSERT_TRUE(spring) << mistakes_of(spring);
  EXPECT_EQ(spring->series, SupplySeries(at("2021-03-28T00:00:00Z"), 1h, {1, 2, 3}));
  EXPECT_EQ(spring->repairs.filled, 0U);
  const auto autumn = supply_from(
      "time,carbon_g_per_kwh\n2021-10-31T02:00+02:00,1\n"
      "2021-10-31T02:00+01:00,2\n2021-10-31T03:00+01:00,3\n");
  ASSERT_TRUE(autumn) << mistakes_of(autumn);
  EXPECT_EQ(autumn->series, SupplySeries(at("2021-10-31T00:00:00Z"), 1h, {1, 2, 3}));
}

TEST(SupplyCsv, RefusesLocalTimesWithoutAnOffset) {
  EXPECT_EQ(
      mistakes_of(supply_from("time,carbon_g_per_kwh\n2021-03-28T01:00,1\n")),
      "grid.csv:2: time is \"2021-03-28T01:00\", expected an offset from UTC in every row, as "
      "in 2021-03-28T01:00+01:00: where clocks are changed, a local hour without one happens "
      "twice or never\n");
  EXPECT_EQ(mistakes_of(supply_from("utc_time,carbon_g_per_kwh\n2021-03-28T01:00+01:00,1\n")),
            "grid.csv:2: utc_time is \"2021-03-28T01:00+01:00\", expected UTC, with Z or nothing "
            "after it; with offsets the column is called time\n");
}

TEST(SupplyCsv, FillsUpToThreeMissingHoursAndSaysSo) {
  const auto file = supply_from(
      "utc_time,carbon_g_per_kwh\n2021-01-01T00:00Z,1\n2021-01-01T01:00Z,2\n"
      "2021-01-01T05:00Z,6\n2021-01-01T06:00Z,\n2021-01-01T07:00Z,8\n");
  ASSERT_TRUE(file) << mistakes_of(file);
  EXPECT_THAT(file->series.values(), ElementsAre(1, 2, 2, 2, 2, 6, 6, 8));
  EXPECT_EQ(file->repairs.filled, 4U);
  EXPECT_EQ(file->repairs.first_filled, at("2021-01-01T02:00:00Z"));
  EXPECT_THAT(to_lines(file->repairs),
              ElementsAre("4 missing steps got the value before, the first at "
                          "2021-01-01T02:00:00Z"));
}

TEST(SupplyCsv, RefusesLongerGaps) {
  EXPECT_EQ(mistakes_of(supply_from("utc_time,carbon_g_per_kwh\n2021-01-01T00:00Z,1\n"
                                    "2021-01-01T01:00Z,2\n2021-01-01T06:00Z,7\n")),
            "grid.csv:4: utc_time is \"2021-01-01T06:00:00Z\", expected no more than 3h missing "
            "after 2021-01-01T01:00:00Z of line 3, not 4h\n");
}

TEST(SupplyCsv, TakesNegativePricesAsZeroAndCountsThem) {
  const auto file = supply_from(
      "utc_time,price_eur_per_mwh\n2021-01-01T00:00Z,40\n2021-01-01T01:00Z,-12\n"
      "2021-01-01T02:00Z,-0.5\n");
  ASSERT_TRUE(file) << mistakes_of(file);
  EXPECT_THAT(file->series.values(), ElementsAre(0.04, 0, 0));
  EXPECT_EQ(file->repairs.raised, 2U);
  EXPECT_THAT(to_lines(file->repairs),
              ElementsAre("2 negative prices became 0, the first at 2021-01-01T01:00:00Z"));
}

TEST(SupplyCsv, ReportsEveryMistakeOfTheRowsAtOnce) {
  EXPECT_EQ(mistakes_of(supply_from("utc_time,carbon_g_per_kwh\n"
                                    "2021-01-01T00:00Z,1\n"
                                    "2021-01-01T01:00Z,-3\n"
                                    "2021-01-01T02:00Z,nan\n"
                                    "2021-01-01T03:00Z,inf\n"
                                    "2021-01-01T00:00Z,5\n"
                                    "2020-12-31T23:00Z,5\n"
                                    "2021-02-29T00:00Z,5\n"
                                    "1950-01-01T00:00Z,5\n"
                                    "2021-01-01T01:00Z\n"
                                    "2021-01-01T01:07Z,much\n")),
            "grid.csv:3: carbon_g_per_kwh is \"-3\", expected a number from 0 to 1e+12\n"
            "grid.csv:4: carbon_g_per_kwh is \"nan\", expected a number from 0 to 1e+12\n"
            "grid.csv:5: carbon_g_per_kwh is \"inf\", expected a number from 0 to 1e+12\n"
            "grid.csv:6: utc_time is \"2021-01-01T00:00:00Z\", expected another time: line 2 has "
            "this one\n"
            "grid.csv:7: utc_time is \"2020-12-31T23:00:00Z\", expected a time after "
            "2021-01-01T00:00:00Z of line 2: rows in the order of time\n"
            "grid.csv:8: utc_time is \"2021-02-29T00:00Z\", expected a time from 1970 to 2199 such "
            "as 2021-03-28T01:00Z\n"
            "grid.csv:9: utc_time is \"1950-01-01T00:00Z\", expected a time from 1970 to 2199 such "
            "as 2021-03-28T01:00Z\n"
            "grid.csv:10: row is \"1 cells\", expected 2 cells, as many as the first line has\n"
            "grid.csv:11: carbon_g_per_kwh is \"much\", expected a number from 0 to 1e+12\n");
}

TEST(SupplyCsv, RefusesTimesBesideTheStep) {
  EXPECT_EQ(mistakes_of(
                supply_from("utc_time,carbon_g_per_kwh\n2021-01-01T00:00Z,1\n2021-01-01T01:00Z,1\n"
                            "2021-01-01T02:00Z,1\n2021-01-01T03:07Z,1\n")),
            "grid.csv:5: utc_time is \"2021-01-01T03:07:00Z\", expected a whole number of steps of "
            "1h after 2021-01-01T02:00:00Z\n");
  EXPECT_THAT(mistakes_of(supply_from("utc_time,carbon_g_per_kwh\n2021-01-01T00:00:00Z,1\n"
                                      "2021-01-01T00:00:01Z,1\n")),
              HasSubstr("rows from 1m to 1d apart"));
}

TEST(SupplyCsv, RefusesColumnsWithoutAUnitAndMixedUnits) {
  EXPECT_EQ(mistakes_of(supply_from("utc_time,carbon,price_per_kwh\n")),
            "grid.csv:1: column is \"carbon\", expected carbon_g_per_kwh, carbon_direct_g_per_kwh, "
            "or either with kg or mwh: the unit is part of the name\n"
            "grid.csv:1: column is \"price_per_kwh\", expected price_eur_per_kwh or "
            "price_eur_per_mwh, or another currency of three letters: the unit is part of the "
            "name\n");
  EXPECT_EQ(mistakes_of(supply_from("utc_time,carbon_g_per_kwh,price_eur_per_kwh\n")),
            "grid.csv:1: columns is \"carbon_g_per_kwh, price_eur_per_kwh\", expected one of them: "
            "a file has one quantity in one unit\n");
  EXPECT_THAT(mistakes_of(supply_from("utc_time,carbon_g_per_kwh,carbon_kg_per_mwh\n")),
              HasSubstr("one of them"));
  EXPECT_EQ(mistakes_of(supply_from("hour,intensity\n")),
            "grid.csv:1: column utc_time is missing, expected it, or time with offsets, in the "
            "first line\n"
            "grid.csv:1: columns is \"hour, intensity\", expected a column carbon_g_per_kwh, "
            "price_eur_per_kwh (or another currency) or power_cap_w\n");
  EXPECT_THAT(mistakes_of(supply_from("utc_time,utc_time,time,power_cap_w\n")),
              testing::AllOf(HasSubstr("given twice"), HasSubstr("one of the two")));
}

TEST(SupplyCsv, RefusesFilesWithoutAValue) {
  EXPECT_THAT(mistakes_of(supply_from("")), HasSubstr("grid.csv: file is \"empty\""));
  EXPECT_EQ(mistakes_of(supply_from("utc_time,carbon_g_per_kwh\n")),
            "grid.csv: file is \"no value\", expected at least one row with a value below the "
            "first line\n");
  EXPECT_THAT(mistakes_of(supply_from("utc_time,carbon_g_per_kwh\n2021-01-01T00:00Z,\n")),
              HasSubstr("no value"));
}

TEST(SupplyCsv, DoesNotTakeAForecastForWhatWas) {
  EXPECT_THAT(mistakes_of(supply_from("issue_day,lead_hour,utc_time,actual,forecast\n")),
              HasSubstr("file is \"a forecast\""));
}

TEST(ForecastCsv, ReadsPublicForecastsByTheirLead) {
  const auto file = read_forecasts(
      "issue_day,lead_hour,utc_time,actual,forecast\n"
      "0,0,2021-07-01T00:00Z,233,253\n"
      "0,1,2021-07-01T01:00Z,258,284\n"
      "1,0,2021-07-02T00:00Z,235,248\n"
      "1,2,2021-07-02T02:00Z,235,240\n"
      "1,3,2021-07-02T03:00Z,235,241\n"
      "1,4,2021-07-02T04:00Z,235,242\n");
  ASSERT_TRUE(file) << mistakes_of(file);
  EXPECT_EQ(file->kind, SupplyKind{});
  ASSERT_EQ(file->book.all().size(), 2U);
  const Time first = at("2021-07-01T00:00:00Z");
  EXPECT_EQ(*file->book.issued_at(first), SupplySeries(first, 1h, {253, 284}));
  EXPECT_THAT(file->book.known_at(first + 30h)->values(), ElementsAre(248, 248, 240, 241, 242));
  EXPECT_EQ(file->repairs.filled, 1U);
}

TEST(ForecastCsv, GoesByIssueDayWhereAForecastHasTheDateOfAnother) {
  const auto file = read_forecasts(
      "issue_day,lead_hour,utc_time,forecast\n"
      "4,0,2021-12-04T00:00Z,1\n4,1,2021-12-04T01:00Z,2\n"
      "5,0,2021-12-04T00:00Z,3\n5,1,2021-12-04T01:00Z,4\n"
      "6,0,2021-12-06T00:00Z,5\n");
  ASSERT_TRUE(file) << mistakes_of(file);
  ASSERT_EQ(file->book.all().size(), 3U);
  const Time fifth = at("2021-12-05T00:00:00Z");
  EXPECT_EQ(*file->book.issued_at(fifth), SupplySeries(fifth, 1h, {3, 4}));
  EXPECT_EQ(file->book.issued_at(fifth + 24h)->begin(), fifth + 24h);
  EXPECT_THAT(to_lines(file->repairs),
              ElementsAre("1 forecast was dated by issue_day, not by utc_time, the first of "
                          "2021-12-05T00:00:00Z"));
}

TEST(ForecastCsv, RefusesIssueDaysThatDoNotCountDays) {
  EXPECT_EQ(
      mistakes_of(read_forecasts("issue_day,lead_hour,utc_time,forecast\n"
                                 "0,0,2021-12-04T00:00Z,1\n"
                                 "1,0,2021-12-04T06:00Z,2\n"
                                 "2,0,2021-12-04T12:00Z,3\n")),
      "forecast.csv: file is \"2 of 3 forecasts dated otherwise than by issue_day\", expected "
      "issue_day to count days: one forecast in ten may be dated wrongly\n");
}

TEST(ForecastCsv, ReadsOwnForecastsWithTheirUnit) {
  const auto file = read_forecasts(
      "issue_utc_time,utc_time,price_eur_per_mwh\n"
      "2021-07-01T12:00Z,2021-07-02T00:00Z,50\n"
      "2021-07-01T12:00Z,2021-07-02T00:30Z,-5\n"
      "2021-07-02T12:00Z,2021-07-03T00:00Z,60\n");
  ASSERT_TRUE(file) << mistakes_of(file);
  EXPECT_EQ(file->kind, (SupplyKind{SupplyQuantity::price, "EUR"}));
  EXPECT_EQ(file->book.known_at(at("2021-07-01T11:59:59Z")), nullptr);
  EXPECT_THAT(file->book.known_at(at("2021-07-01T12:00:00Z"))->values(), ElementsAre(0.05, 0));
  EXPECT_EQ(file->repairs.raised, 1U);
}

TEST(ForecastCsv, ReportsEveryMistakeAtOnce) {
  EXPECT_EQ(mistakes_of(read_forecasts("issue_day,lead_hour,utc_time,forecast\n"
                                       "1,0,2021-07-02T00:00Z,1\n"
                                       "1,2,2021-07-02T01:00Z,1\n"
                                       "1,-1,2021-07-02T01:00Z,1\n"
                                       "0,0,2021-07-01T00:00Z,1\n"
                                       "2,0,2021-07-03T00:00Z,-1\n")),
            "forecast.csv:3: lead_hour is \"2\", expected the hours from the issue of day 1 at "
            "2021-07-02T00:00:00Z to utc_time\n"
            "forecast.csv:4: lead_hour is \"-1\", expected an integer from 0 to 10000\n"
            "forecast.csv:5: issue_day is \"2021-07-01T00:00:00Z\", expected an issue after "
            "2021-07-02T00:00:00Z: forecasts in the order of their issue\n"
            "forecast.csv:6: forecast is \"-1\", expected a number from 0 to 1e+12\n");
  EXPECT_EQ(mistakes_of(read_forecasts("utc_time,carbon_g_per_kwh\n")),
            "forecast.csv:1: column issue_utc_time is missing, expected it, or issue_time with "
            "offsets, in the first line\n");
  EXPECT_THAT(mistakes_of(read_forecasts("issue_day,utc_time\n")),
              testing::AllOf(HasSubstr("column lead_hour is missing"),
                             HasSubstr("column forecast is missing")));
  EXPECT_THAT(mistakes_of(read_forecasts("issue_day,lead_hour,utc_time,forecast\n")),
              HasSubstr("no value"));
}

TEST(ForecastCsv, IsOfTheSameKindAsTheSeriesOrRefused) {
  Diagnostics mistakes;
  check_same_kind("was.csv", SupplyKind{}, "will.csv", SupplyKind{}, mistakes);
  EXPECT_TRUE(mistakes.empty());
  check_same_kind("was.csv", SupplyKind{}, "will.csv", {SupplyQuantity::price, "EUR"}, mistakes);
  EXPECT_EQ(
      to_string(mistakes),
      "will.csv:1: unit is \"price in EUR/kWh\", expected carbon in g/kWh, lifecycle factors, "
      "as in was.csv\n");
}

}  // namespace
}  // namespace weir::formats
