// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/exec_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "formats/temporary_file_testing.h"
#include "formats/time_text.h"

namespace weir::engine::kubernetes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// A program made of those lines of shell.
class Plugin {
 public:
  explicit Plugin(const std::string& script) {
    const auto file = folder_.write("plugin", "#!/bin/sh\n" + script);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    plugin.api_version = "client.authentication.k8s.io/v1";
    plugin.command = file.string();
  }
  ExecPlugin plugin;

 private:
  formats::TemporaryFolder folder_;
};

std::string fault_of(const ExecPlugin& plugin) {
  const auto answer = run_exec_plugin(plugin);
  return answer ? "none" : to_string(answer.error().details);
}

TEST(ExecPlugin, IsToldWhatItNeedsToKnow) {
  Plugin one{
      R"~(printf '{"kind":"ExecCredential","status":{"token":"%s|%s|%s"}}' "$*" "$OWN" "$(echo "$KUBERNETES_EXEC_INFO" | tr -d '"')")~"};
  one.plugin.arguments = {"a b", "$HOME", "*"};
  one.plugin.environment = {{"OWN", "first"}};
  const auto answer = run_exec_plugin(one.plugin);
  ASSERT_TRUE(answer) << to_string(answer.error().details);
  EXPECT_EQ(answer->credentials.token,
            "a b $HOME "
            "*|first|{apiVersion:client.authentication.k8s.io/"
            "v1,kind:ExecCredential,spec:{interactive:false}}")
      << "no shell has seen the arguments";
  EXPECT_FALSE(answer->ends);
}

TEST(ExecPlugin, GivesCertificatesToo) {
  const auto answer = read_exec_credential(
      "p",
      R"({"kind":"ExecCredential","status":{"clientCertificateData":"C","clientKeyData":"K","expirationTimestamp":"2026-11-16T03:00:00Z"}})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->credentials, (Credentials{.client_certificate = "C", .client_key = "K"}));
  EXPECT_EQ(answer->ends, formats::parse_time("2026-11-16T03:00:00Z"));
}

TEST(ExecPlugin, WhateverGoesWrongIsTold) {
  ExecPlugin missing;
  missing.command = "weir-no-such-program";
  missing.install_hint = "install it with apt";
  EXPECT_THAT(fault_of(missing), HasSubstr("No such file or directory"));
  EXPECT_THAT(fault_of(missing), HasSubstr("install it with apt"));
  EXPECT_THAT(fault_of(Plugin{"exit 3"}.plugin), HasSubstr("its exit code is \"3\""));
  EXPECT_THAT(fault_of(Plugin{"kill -9 $$"}.plugin), HasSubstr("its exit code is \"137\""));
  EXPECT_THAT(fault_of(Plugin{"echo secret"}.plugin), HasSubstr("an ExecCredential as JSON"));
  EXPECT_THAT(fault_of(Plugin{"echo secret"}.plugin), Not(HasSubstr("secret")));
  EXPECT_THAT(fault_of(Plugin{"yes | head -c 3000000"}.plugin), HasSubstr("at most 1 MiB"));
  EXPECT_THAT(fault_of(Plugin{R"(echo '{"kind":"ExecCredential","status":{}}')"}.plugin),
              HasSubstr("neither token nor"));
  EXPECT_THAT(
      fault_of(Plugin{R"(echo '{"kind":"ExecCredential","status":{"clientKeyData":"k"}}')"}.plugin),
      HasSubstr("both"));
}

TEST(ExecPlugin, OneThatHangsIsEnded) {
  Plugin one{"exec sleep 100"};
  one.plugin.time_limit = 200ms;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(fault_of(one.plugin), HasSubstr("not there in time"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

}  // namespace
}  // namespace weir::engine::kubernetes
