// SPDX-License-Identifier: Apache-2.0
#include "worker/sha256.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace weir::worker {
namespace {

std::string sha256(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.finish();
}

// The examples of FIPS 180-4.
TEST(Sha256, GivesThePublishedSums) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Sums of n times 'x' around the ends of blocks, as Python's hashlib gives them.
TEST(Sha256, PadsRightAroundTheEndOfABlock) {
  EXPECT_EQ(sha256(std::string(55, 'x')),
            "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(sha256(std::string(56, 'x')),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(sha256(std::string(63, 'x')),
            "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  EXPECT_EQ(sha256(std::string(64, 'x')),
            "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  EXPECT_EQ(sha256(std::string(65, 'x')),
            "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9");
  EXPECT_EQ(sha256(std::string(119, 'x')),
            "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c");
  EXPECT_EQ(sha256(std::string(120, 'x')),
            "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98");
  EXPECT_EQ(sha256(std::string(128, 'x')),
            "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464");
}

RC_GTEST_PROP(Sha256, DoesNotDependOnHowTheBytesCome, (const std::string& bytes, std::uint8_t at)) {
  const std::size_t cut = bytes.empty() ? 0 : at % bytes.size();
  Sha256 pieces;
  pieces.add(std::string_view{bytes}.substr(0, cut));
  pieces.add(std::string_view{bytes}.substr(cut));
  RC_ASSERT(pieces.finish() == sha256(bytes));
}

RC_GTEST_PROP(Sha256, ABitMakesAnotherSum, (std::string bytes, std::uint16_t at)) {
  RC_PRE(!bytes.empty());
  const std::string before = sha256(bytes);
  bytes[at % bytes.size()] = static_cast<char>(bytes[at % bytes.size()] ^ 1);
  RC_ASSERT(sha256(bytes) != before);
}

}  // namespace
}  // namespace weir::worker
