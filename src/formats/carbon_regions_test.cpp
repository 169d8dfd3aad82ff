// SPDX-License-Identifier: Apache-2.0
#include "formats/carbon_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

void write_some_regions(const TemporaryFolder& folder) {
  for (const char* name : {"ciso_2020_2021.csv.gz", "ciso_forecast96_jul_dec_2021.csv.gz",
                           "pjm_2020_2021.csv", "se_forecast96.csv", "README.md"}) {
    folder.write(name, "");
  }
}

TEST(CarbonRegions, AreFoundByTheNamesOfTheirFiles) {
  const TemporaryFolder folder;
  write_some_regions(folder);
  const auto regions = carbon_regions_in(folder.path(), "--region");
  ASSERT_TRUE(regions) << mistakes_of(regions);
  ASSERT_EQ(regions->size(), 2U);  // a forecast without a series is none
  EXPECT_EQ(regions->at(0).name, "ciso");
  EXPECT_EQ(regions->at(0).series.filename(), "ciso_2020_2021.csv.gz");
  EXPECT_EQ(regions->at(0).forecast->filename(), "ciso_forecast96_jul_dec_2021.csv.gz");
  EXPECT_EQ(regions->at(1).name, "pjm");
  EXPECT_FALSE(regions->at(1).forecast);
}

TEST(CarbonRegions, AreChosenInTheOrderGiven) {
  const std::vector<CarbonRegion> known = {{"ciso"}, {"de"}, {"pjm"}};
  const auto chosen = choose_regions(known, {"PJM", "ciso"}, "--region");
  ASSERT_TRUE(chosen) << mistakes_of(chosen);
  EXPECT_EQ(chosen->at(0).name, "pjm");
  EXPECT_EQ(chosen->at(1).name, "ciso");
}

TEST(CarbonRegions, ThatAreUnknownAreRefusedWithTheNearestAndTheList) {
  EXPECT_EQ(mistakes_of(choose_regions({{"ciso"}, {"de"}, {"pjm"}}, {"caiso", "de", "de", "mars"},
                                       "--region")),
            "--region is \"caiso\", expected one of ciso, de, pjm; did you mean ciso?\n"
            "--region is \"de\", expected each region once\n"
            "--region is \"mars\", expected one of ciso, de, pjm\n");
}

TEST(CarbonRegions, WithoutTheDataTellWhatToDo) {
  const TemporaryFolder folder;
  EXPECT_THAT(mistakes_of(carbon_regions_in(folder.path(), "--region")), HasSubstr("WEIR_DATA"));
  EXPECT_THAT(mistakes_of(carbon_regions_in(folder.path() / "none", "--region")),
              HasSubstr("WEIR_DATA"));
}

TEST(CarbonRegions, HaveOneSeriesEach) {
  const TemporaryFolder folder;
  write_some_regions(folder);
  folder.write("ciso_2022.csv", "");
  EXPECT_THAT(mistakes_of(carbon_regions_in(folder.path(), "--region")),
              HasSubstr("one series of it"));
}

}  // namespace
}  // namespace weir::formats
