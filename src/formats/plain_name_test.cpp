// SPDX-License-Identifier: Apache-2.0
#include "formats/plain_name.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::formats {
namespace {

TEST(PlainName, AcceptsPrintableUtf8) {
  for (const char* name :
       {"gpu-01", "A100 80GB", "n\xC3\xB8rd", "\xE7\xAF\x80", "\xF0\x9F\x90\x9F"}) {
    EXPECT_TRUE(is_plain_name(name)) << name;
  }
}

TEST(PlainName, RefusesControlCharactersAndBrokenUtf8) {
  for (const char* name :
       {"", "a\nb", "a\x1b[2J", "a\x7f", "\xC2\x85", "\xE2\x80\xA8", "\xEF\xBB\xBFx", "\xFF",
        "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_FALSE(is_plain_name(name)) << name;
  }
}

TEST(PlainName, IsAtMost253BytesLong) {
  EXPECT_TRUE(is_plain_name(std::string(253, 'a')));
  EXPECT_FALSE(is_plain_name(std::string(254, 'a')));
}

TEST(PlainName, OfANodeHasNoBracketsAndOfAModelNoBar) {
  EXPECT_FALSE(is_node_name("gpu-[1-2]"));
  EXPECT_TRUE(is_plain_name("job [1]"));
  EXPECT_FALSE(is_model_name("T4|A10"));
  EXPECT_TRUE(is_node_name("T4|A10"));
}

}  // namespace
}  // namespace weir::formats
