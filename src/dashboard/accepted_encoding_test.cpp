// SPDX-License-Identifier: Apache-2.0
#include "dashboard/accepted_encoding.h"

#include <gtest/gtest.h>

namespace weir::dashboard {
namespace {

bool accepts(const std::string& field) {
  return accepts_gzip({{"accept-encoding", field}});
}

TEST(AcceptedEncoding, IsWhatTheClientNames) {
  EXPECT_FALSE(accepts_gzip({}));
  EXPECT_FALSE(accepts(""));
  EXPECT_TRUE(accepts("gzip"));
  EXPECT_TRUE(accepts("GZip"));
  EXPECT_TRUE(accepts("gzip, deflate, br, zstd"));
  EXPECT_TRUE(accepts("br;q=1.0,\tgzip ; q=0.5"));
  EXPECT_FALSE(accepts("br, deflate"));
  EXPECT_FALSE(accepts("gzipped, xgzip"));
  EXPECT_FALSE(accepts("identity"));
}

TEST(AcceptedEncoding, AWeightOfZeroIsARefusal) {
  for (const char* refusal :
       {"gzip;q=0", "gzip;q=0.0", "gzip; q=0.000", "gzip ;Q=0.", "br, gzip;q=0"}) {
    EXPECT_FALSE(accepts(refusal)) << refusal;
  }
  for (const char* wish : {"gzip;q=0.001", "gzip;q=1", "gzip;q=0.5", "gzip;level=0"}) {
    EXPECT_TRUE(accepts(wish)) << wish;
  }
}

TEST(AcceptedEncoding, AStarMeansAllThatAreNotNamed) {
  EXPECT_TRUE(accepts("*"));
  EXPECT_FALSE(accepts("*;q=0"));
  EXPECT_TRUE(accepts("gzip, *;q=0"));
  EXPECT_TRUE(accepts("*;q=0, gzip"));
  EXPECT_FALSE(accepts("gzip;q=0, *"));
  EXPECT_FALSE(accepts("*, gzip;q=0"));
}

TEST(AcceptedEncoding, SeveralLinesAreOneList) {
  EXPECT_TRUE(accepts_gzip({{"Accept-Encoding", "br"}, {"Accept-Encoding", "gzip"}}));
  EXPECT_FALSE(accepts_gzip({{"Accept", "gzip"}, {"Accept-Encoding", "br"}}));
}

}  // namespace
}  // namespace weir::dashboard
