// SPDX-License-Identifier: Apache-2.0
#include "control/access.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace weir::control {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Answer = AccessTokens::Answer;

class AccessFile : public ::testing::Test {
 protected:
  AccessFile() : folder_{fs::temp_directory_path() / ("weir-access-" + new_secret())} {
    fs::create_directories(folder_);
    file_ = folder_ / "tokens.json";
    reopen();
  }
  ~AccessFile() override { fs::remove_all(folder_); }

  void reopen() {
    auto opened = AccessTokens::open(file_, "the first", [this] { return now_; });
    ASSERT_TRUE(opened) << to_string(opened.error().details);
    tokens_ = std::move(*opened);
  }
  std::string make(std::string name, Role role, std::string tenant = {},
                   std::optional<Duration> lasts = std::nullopt) {
    AccessToken token;
    token.name = std::move(name);
    token.role = role;
    token.tenant = std::move(tenant);
    if (lasts) token.expires = now_ + *lasts;
    const auto secret = tokens_->create(std::move(token));
    EXPECT_TRUE(secret);
    return secret.value_or("");
  }
  std::string file_text() const {
    std::stringstream text;
    text << std::ifstream{file_}.rdbuf();
    return text.str();
  }

  Time now_{std::chrono::hours{500'000}};
  fs::path folder_;
  fs::path file_;
  std::unique_ptr<AccessTokens> tokens_;
};

TEST_F(AccessFile, TheFirstTokenOpensEverything) {
  const auto found = tokens_->find("the first");
  ASSERT_EQ(found.answer, Answer::welcome);
  EXPECT_TRUE(found.caller->is_operator());
  EXPECT_EQ(found.caller->name(), kFirstToken);
  for (const char* wrong : {"", "the firs", "the first ", "The first"})
    EXPECT_EQ(tokens_->find(wrong).answer, Answer::unknown) << wrong;
}

TEST_F(AccessFile, TokensOutliveARestart) {
  const std::string secret = make("ci", Role::submitter, "vision", std::chrono::hours{24});
  const auto before = tokens_->list();
  reopen();
  const auto found = tokens_->find(secret);
  ASSERT_EQ(found.answer, Answer::welcome);
  EXPECT_EQ(found.caller->token(), before.back());
  EXPECT_TRUE(found.caller->is_of_tenant("vision"));
  EXPECT_FALSE(found.caller->is_of_tenant("language"));
}

TEST_F(AccessFile, TheFileTellsNoToken) {
  const std::string secret = make("ci", Role::viewer);
  EXPECT_EQ(secret.size(), 5 + 64U);
  EXPECT_THAT(file_text(), Not(HasSubstr(secret.substr(5))));
  EXPECT_THAT(file_text(), HasSubstr("\"sha256\""));
  struct stat about {};
  ASSERT_EQ(stat(file_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(AccessFile, ARevokedTokenIsNotWelcomeAtOnceAndForEver) {
  const std::string secret = make("ci", Role::viewer);
  const auto caller = tokens_->find(secret).caller;
  EXPECT_TRUE(caller->is_welcome());
  const auto revoked = tokens_->revoke("ci");
  ASSERT_TRUE(revoked && *revoked);
  EXPECT_EQ((*revoked)->revoked, now_);
  EXPECT_FALSE(caller->is_welcome()) << "whoever listens already hears it";
  EXPECT_EQ(tokens_->find(secret).answer, Answer::revoked);
  reopen();
  EXPECT_EQ(tokens_->find(secret).answer, Answer::revoked);
  EXPECT_TRUE(tokens_->revoke("ci")) << "once more does no harm";
  EXPECT_FALSE(*tokens_->revoke("nobody"));
  EXPECT_FALSE(tokens_->revoke(kFirstToken)) << "nobody locks himself out";
}

TEST_F(AccessFile, ATokenExpires) {
  const std::string secret = make("ci", Role::viewer, "", std::chrono::minutes{5});
  const auto caller = tokens_->find(secret).caller;
  now_ += std::chrono::minutes{5} - Duration{1};
  EXPECT_TRUE(caller->is_welcome());
  now_ += Duration{1};
  EXPECT_FALSE(caller->is_welcome());
  EXPECT_EQ(tokens_->find(secret).answer, Answer::expired);
}

TEST_F(AccessFile, ANameIsOfOneTokenUntilItIsForgotten) {
  make("ci", Role::viewer, "", std::chrono::minutes{5});
  AccessToken again;
  again.name = "ci";
  const auto refused = tokens_->create(again);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  again.name = kFirstToken;
  EXPECT_FALSE(tokens_->create(again));
  now_ += std::chrono::hours{24 * 91};
  make("ci", Role::viewer);
  EXPECT_EQ(tokens_->list().size(), 2U);
}

TEST_F(AccessFile, NothingChangesWhenTheFileCannotBeWritten) {
  const std::string secret = make("ci", Role::viewer);
  fs::create_directories(file_.string() + ".new");
  AccessToken other;
  other.name = "other";
  EXPECT_EQ(tokens_->create(other).error().code, ErrorCode::unavailable);
  EXPECT_FALSE(tokens_->revoke("ci"));
  EXPECT_EQ(tokens_->find(secret).answer, Answer::welcome);
  EXPECT_EQ(tokens_->list().size(), 2U);
}

TEST_F(AccessFile, ADamagedFileOpensNothing) {
  make("ci", Role::viewer, "", std::chrono::minutes{5});
  const std::string good = file_text();
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"viewer\"", "\"boss\""},
                                                        {"\"version\": 1", "\"version\": 2"},
                                                        {"\"expires\": \"", "\"expires\": \"x"},
                                                        {"{", "["}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    std::ofstream{file_} << bad;
    EXPECT_FALSE(AccessTokens::open(file_, "x", [this] { return now_; })) << to;
  }
}

}  // namespace
}  // namespace weir::control
