// SPDX-License-Identifier: Apache-2.0
//
// The commands; what happens on a terminal and with TLS is tests/login.py.
#include "cli/client_login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "cli/client_context.h"
#include "cli/client_server_testing.h"
#include "cli/login_file.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class LoginTest : public testing::Test {
 protected:
  Result<void> login(const std::string& url, const std::string& token,
                     std::vector<GivenOption> more = {}) {
    const fs::path file = environment_.home().path() / "given";
    std::ofstream{file} << token << "\n";
    more.push_back({"url", {url}});
    more.push_back({"token-file", {file.string()}});
    return login_command(*read_options(login_spec(), more), console_);
  }
  ServerAddress address(const std::vector<GivenOption>& given = {}) {
    CommandSpec spec{.name = "jobs", .options = server_options()};
    return *server_address(*read_options(spec, given));
  }
  fs::path kept() const { return environment_.home().path() / ".config/weir/login.yaml"; }
  static std::string mistakes(const Result<void>& done) {
    return done ? "none" : to_string(done.error().details);
  }

  ClientEnvironment environment_;
  ScriptedServer server_;
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{out_, err_};
};

TEST_F(LoginTest, KeepsServerAndTokenForItsOwner) {
  ASSERT_TRUE(login(server_.url() + "/", ScriptedServer::kToken)) << err_.str();
  EXPECT_EQ(out_.str(), "Logged in to " + server_.url() +
                            " as ci: submitter of vision, until "
                            "2027-02-14T10:00:00Z\n");
  struct stat about {};
  ASSERT_EQ(stat(kept().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  EXPECT_EQ(address().url, server_.url());
  EXPECT_EQ(address().token, ScriptedServer::kToken);
}

TEST_F(LoginTest, KeepsNothingOfATokenThatIsNotGood) {
  const auto done = login(server_.url(), "wrong");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::failure);
  EXPECT_THAT(err_.str(), HasSubstr("this is not the server's token"));
  EXPECT_FALSE(fs::exists(kept()));
  EXPECT_THAT(mistakes(login(server_.url(), "")), HasSubstr("weir token create"));
}

TEST_F(LoginTest, WhatIsSaidExplicitlyComesFirstAndGetsNoTokenOfTheLogin) {
  ASSERT_TRUE(login(server_.url(), ScriptedServer::kToken));
  EXPECT_EQ(address({{"server", {"http://127.0.0.1:9"}}}).token, "");
  EXPECT_EQ(address({{"server", {server_.url() + "/"}}}).token, ScriptedServer::kToken);
  environment_.set("WEIR_TOKEN", "of the environment");
  EXPECT_EQ(address().token, "of the environment");
  environment_.unset("WEIR_TOKEN");
  environment_.set("WEIR_SERVER", "http://127.0.0.1:8");
  EXPECT_EQ(address().url, "http://127.0.0.1:8");
  EXPECT_EQ(address().token, "");
  environment_.unset("WEIR_SERVER");
  environment_.set("WEIR_STATE", environment_.home().path().string());
  EXPECT_EQ(address().url, kDefaultServer);
  environment_.unset("WEIR_STATE");
  std::ofstream{kept().parent_path() / "config.yaml"}
      << "current: a\ncontexts:\n  a: {server: \"http://127.0.0.1:7\"}\n";
  EXPECT_EQ(address().url, server_.url());
  EXPECT_EQ(address({{"context", {"a"}}}).url, "http://127.0.0.1:7");
  EXPECT_EQ(address({{"context", {"a"}}}).token, "");
}

TEST_F(LoginTest, WarnsOfVariablesThatComeFirst) {
  environment_.set("WEIR_SERVER", "http://127.0.0.1:8");
  ASSERT_TRUE(login(server_.url(), ScriptedServer::kToken));
  EXPECT_EQ(err_.str(), "weir: WEIR_SERVER is set, and comes before the login\n");
}

TEST_F(LoginTest, AFileThatOthersCanOpenIsNotUsed) {
  ASSERT_TRUE(login(server_.url(), ScriptedServer::kToken));
  chmod(kept().c_str(), 0640);
  const auto read = read_login();
  ASSERT_FALSE(read);
  EXPECT_THAT(to_string(read.error().details), HasSubstr("chmod 600"));
}

TEST_F(LoginTest, AnyTextIsReadBack) {
  const Login login{"http://127.0.0.1:1", "a\"b\\c: #\t\xC3\xBC", "", "certificates/a b: c.pem"};
  ASSERT_TRUE(write_login(login));
  EXPECT_EQ(**read_login(), login);
}

TEST_F(LoginTest, RefusesWhatWouldNotBeSafe) {
  EXPECT_THAT(mistakes(login("http://gpu1:7070", "x")), HasSubstr("expected https://"));
  EXPECT_THAT(mistakes(login("gpu1", "x")), HasSubstr("expected a URL"));
  EXPECT_THAT(mistakes(login("https://me@gpu1", "x")), HasSubstr("a token says who you are"));
  const auto both = login("https://gpu1", "x", {{"fingerprint", {"abc"}}, {"ca-file", {"/x"}}});
  EXPECT_EQ(both.error().details.total(), 2U);
  EXPECT_THAT(mistakes(login(server_.url(), "x", {{"ca-file", {"/x"}}})),
              HasSubstr("an https:// URL"));
  EXPECT_TRUE(server_.calls().empty());
}

TEST_F(LoginTest, LogoutForgets) {
  ASSERT_TRUE(login(server_.url(), ScriptedServer::kToken));
  out_.str("");
  const OptionValues none = *read_options(logout_spec(), {});
  ASSERT_TRUE(logout_command(none, console_));
  EXPECT_FALSE(fs::exists(kept()));
  EXPECT_EQ(address().token, "");
  ASSERT_TRUE(logout_command(none, console_));
  EXPECT_EQ(out_.str(), "Logged out\nYou were not logged in\n");
}

}  // namespace
}  // namespace weir::cli
