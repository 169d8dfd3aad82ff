// SPDX-License-Identifier: Apache-2.0
#include "cli/client_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/client_server_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Context : public testing::Test {
 protected:
  Result<ServerAddress> address(const std::vector<GivenOption>& given = {}) {
    CommandSpec spec{.name = "jobs", .options = server_options()};
    return server_address(*read_options(spec, given));
  }
  void write(const fs::path& file, const std::string& text) {
    const fs::path path = environment_.home().path() / file;
    fs::create_directories(path.parent_path());
    std::ofstream{path} << text;
  }
  void write_config() {
    write("lab-token", "of the lab\n");
    write(".config/weir/config.yaml",
          "current: lab\ncontexts:\n  lab: {server: \"http://127.0.0.1:1/\", token_file: " +
              (environment_.home().path() / "lab-token").string() +
              "}\n  home: {server: \"http://127.0.0.1:2\"}\n");
  }
  std::string mistake(const Result<ServerAddress>& found) {
    return found ? "none" : to_string(found.error().details);
  }

  ClientEnvironment environment_;
};

TEST_F(Context, TheServerOfTheStateFolderIsTheDefault) {
  EXPECT_EQ(address()->url, kDefaultServer);
  EXPECT_EQ(address()->token, "");
  write(".local/state/weir/token", "secret\n");
  write(".local/state/weir/url", "http://127.0.0.1:7171\n");
  EXPECT_EQ(address()->token, "secret");
  EXPECT_EQ(address()->url, "http://127.0.0.1:7171");
}

TEST_F(Context, TheFileNamesServers) {
  write_config();
  EXPECT_EQ(address()->url, "http://127.0.0.1:1");
  EXPECT_EQ(address()->token, "of the lab");
  EXPECT_EQ(address({{"context", {"home"}}})->url, "http://127.0.0.1:2");
  environment_.set("WEIR_CONTEXT", "home");
  EXPECT_EQ(address()->url, "http://127.0.0.1:2");
  EXPECT_EQ(address({{"context", {"lab"}}})->url, "http://127.0.0.1:1");
}

TEST_F(Context, TheEnvironmentAndTheCommandLineComeFirst) {
  write_config();
  environment_.set("WEIR_SERVER", "http://127.0.0.1:3");
  environment_.set("WEIR_TOKEN", "of the environment");
  EXPECT_EQ(address()->url, "http://127.0.0.1:3");
  EXPECT_EQ(address()->token, "of the environment");
  EXPECT_EQ(address({{"server", {"http://127.0.0.1:4"}}})->url, "http://127.0.0.1:4");
}

TEST_F(Context, AServerWithTlsIsTrustedByFileOrFingerprint) {
  const std::string fingerprint = "sha256//" + std::string(43, 'a') + "=";
  const std::string pem = "-----BEGIN CERTIFICATE-----\nof a test\n";
  write("ca.pem", pem);
  const std::string file = (environment_.home().path() / "ca.pem").string();
  write(".config/weir/config.yaml",
        "current: a\ncontexts:\n  a: {server: \"https://x:1\", ca_file: " + file +
            "}\n  b: {server: \"https://x:2\", fingerprint: " + fingerprint +
            "}\n  c: {server: \"https://x:3\"}\n");
  EXPECT_EQ(address()->tls.authorities, pem);
  EXPECT_EQ(address({{"context", {"b"}}})->tls.pinned_key, fingerprint);
  EXPECT_EQ(address({{"context", {"c"}}})->tls, transport::HttpTls{});
  EXPECT_EQ(address({{"context", {"c"}}, {"ca-file", {file}}})->tls.authorities, pem);
  environment_.set("WEIR_CA_FILE", file);
  EXPECT_EQ(address({{"context", {"c"}}})->tls.authorities, pem);
}

TEST_F(Context, TheCertificateThatAServerMadeIsTrustedForThatServerOnly) {
  write(".local/state/weir/url", "https://127.0.0.1:7171\n");
  write(".local/state/weir/tls-cert.pem", "-----BEGIN CERTIFICATE-----\nmade\n");
  EXPECT_THAT(address()->tls.authorities, HasSubstr("made"));
  EXPECT_EQ(address({{"server", {"https://elsewhere"}}})->tls, transport::HttpTls{});
}

TEST_F(Context, WrongTrustIsNamed) {
  write("empty.pem", "nothing");
  const std::string file = (environment_.home().path() / "empty.pem").string();
  EXPECT_THAT(mistake(address({{"ca-file", {file}}})), HasSubstr("expected certificates as PEM"));
  EXPECT_THAT(mistake(address({{"ca-file", {"/nowhere/x"}}})), HasSubstr("/nowhere/x"));
  const auto context = [&](const std::string& fields) {
    write(".config/weir/config.yaml",
          "current: a\ncontexts:\n  a: {server: \"https://x\", " + fields + "}\n");
    return mistake(address());
  };
  EXPECT_THAT(context("fingerprint: abc"), HasSubstr("sha256// and 44 characters"));
  EXPECT_THAT(context("fingerprint: \"sha256//" + std::string(43, 'a') + "=\", ca_file: /x"),
              HasSubstr("either a fingerprint or a ca_file"));
}

TEST_F(Context, MistakesAreNamed) {
  EXPECT_THAT(mistake(address({{"context", {"lab"}}})), HasSubstr("it does not exist"));
  EXPECT_THAT(mistake(address({{"server", {"localhost"}}})), HasSubstr("expected a URL"));
  write_config();
  EXPECT_THAT(mistake(address({{"context", {"lba"}}})), HasSubstr("did you mean lab?"));
  write(".config/weir/config.yaml", "contexts:\n  lab: {sever: x}\n");
  EXPECT_THAT(mistake(address()), HasSubstr("config.yaml:2"));
  write(".config/weir/config.yaml",
        "contexts:\n  lab: {server: http://x, token_file: /nowhere/x}\ncurrent: lab\n");
  EXPECT_THAT(mistake(address()), HasSubstr("/nowhere/x"));
}

}  // namespace
}  // namespace weir::cli
