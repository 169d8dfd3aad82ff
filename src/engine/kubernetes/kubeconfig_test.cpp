// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/kubeconfig.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "formats/temporary_file_testing.h"
#include "formats/time_text.h"

namespace weir::engine::kubernetes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::filesystem::path kFolder{WEIR_KUBECONFIGS};
const Time kNow = *formats::parse_time("2026-11-16T02:00:00Z");

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

// "https://10.0.0.1:6443 with a token, namespace team-a"
std::string summary(const ApiServer& server, Time now) {
  std::vector<std::string> parts;
  if (!server.authorities.empty()) parts.emplace_back("an authority");
  const auto credentials = server.credentials->current(now);
  if (!credentials) return to_string(credentials.error().details);
  if (!credentials->token.empty()) parts.emplace_back("a token");
  if (!credentials->password.empty()) parts.emplace_back("a password");
  if (!credentials->client_key.empty()) parts.emplace_back("a client certificate");
  if (!server.server_name.empty()) parts.push_back("server name " + server.server_name);
  if (!server.proxy.empty()) parts.push_back("proxy " + server.proxy);
  if (!server.ns.empty()) parts.push_back("namespace " + server.ns);
  if (server.is_unchecked) parts.emplace_back("unchecked");
  return server.url + (parts.empty() ? "" : " with ") + fmt::format("{}", fmt::join(parts, ", "));
}

Result<ApiServer> read(const std::string& name, const std::string& context = "") {
  return read_kubeconfig({{kFolder / name}, false, context}, kNow);
}

std::string token_of(const Result<ApiServer>& server, Time now = kNow) {
  if (!server) return to_string(server.error().details);
  const auto credentials = server->credentials->current(now);
  return credentials ? credentials->token : to_string(credentials.error().details);
}

// Names of files without their folder, which differs.
std::string without_folder(std::string text) {
  const std::string folder = kFolder.string() + "/";
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
    text.erase(at, folder.size());
  }
  return text;
}

class KubeconfigCorpus : public ::testing::TestWithParam<std::string> {};

TEST_P(KubeconfigCorpus, IsReadAsItsCommentSays) {
  const std::string text = content_of(kFolder / GetParam());
  const std::string mark = "# expect: ";
  const std::size_t begin = text.find(mark) + mark.size();
  const std::string expected = text.substr(begin, text.find('\n', begin) - begin);
  const auto server = read(GetParam());
  if (expected != "mistakes") {
    ASSERT_TRUE(server) << to_string(server.error().details);
    EXPECT_EQ(summary(*server, kNow), expected);
    return;
  }
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::bad_input);
  std::filesystem::path file = kFolder / GetParam();
  EXPECT_EQ(without_folder(to_string(server.error().details)),
            content_of(file.replace_extension(".mistakes")));
}

std::vector<std::string> corpus() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{kFolder}) {
    if (entry.path().extension() == ".yaml") names.insert(entry.path().filename().string());
  }
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Kubeconfig, KubeconfigCorpus, ::testing::ValuesIn(corpus()),
                         [](const auto& one) { return one.param.substr(0, one.param.find('.')); });

TEST(Kubeconfig, OfTwoFilesTheFirstCounts) {
  const auto merged = read_kubeconfig(
      {{kFolder / "not_there.yaml", kFolder / "merged_first.yaml", kFolder / "merged_second.yaml"},
       true,
       ""},
      kNow);
  ASSERT_TRUE(merged) << to_string(merged.error().details);
  EXPECT_EQ(merged->context, "t");
  EXPECT_EQ(merged->url, "https://10.0.0.1:6443");
  EXPECT_EQ(token_of(merged), "first");
  const auto second = read_kubeconfig(
      {{kFolder / "merged_first.yaml", kFolder / "merged_second.yaml"}, true, "second"}, kNow);
  ASSERT_TRUE(second) << to_string(second.error().details);
  EXPECT_EQ(second->url, "https://10.0.0.2:6443") << "context and cluster of the second file";
  EXPECT_EQ(token_of(second), "first") << "but the user of that name in the first";
}

TEST(Kubeconfig, AFileThatIsNamedMustBeThere) {
  const auto server = read("not_there.yaml");
  ASSERT_FALSE(server);
  EXPECT_THAT(to_string(server.error().details), HasSubstr("not_there.yaml"));
}

TEST(Kubeconfig, WhatAnotherContextUsesIsNotLookedAt) {
  EXPECT_TRUE(read("token.yaml"));
  const auto other = read("token.yaml", "other");
  ASSERT_FALSE(other);
  EXPECT_THAT(to_string(other.error().details), HasSubstr("nowhere"));
  EXPECT_THAT(to_string(other.error().details), HasSubstr("nobody"));
}

TEST(Kubeconfig, ATokensFileIsReadAgainAfterAMinuteAndAfterARefusal) {
  const formats::TemporaryFolder folder;
  folder.write("config", content_of(kFolder / "token_file.yaml"));
  folder.write("token", "one\n");
  const auto server = read_kubeconfig({{folder.path() / "config"}, false, ""}, kNow);
  EXPECT_EQ(token_of(server), "one");
  folder.write("token", "two\n");
  EXPECT_EQ(token_of(server, kNow + std::chrono::seconds{59}), "one");
  EXPECT_EQ(token_of(server, kNow + std::chrono::seconds{60}), "two");
  folder.write("token", "three\n");
  server->credentials->refused({.token = "one"});
  EXPECT_EQ(token_of(server, kNow + std::chrono::seconds{61}), "two")
      << "that one was replaced already";
  server->credentials->refused({.token = "two"});
  EXPECT_EQ(token_of(server, kNow + std::chrono::seconds{61}), "three");
}

TEST(Kubeconfig, ATokensFileThatIsAwayForAMomentIsNoEnd) {
  const formats::TemporaryFolder folder;
  const auto file = folder.write("token", "one\n");
  const auto source = credentials_from_files({.token = file});
  EXPECT_EQ(source->current(kNow)->token, "one");
  std::filesystem::remove(file);
  const auto later = source->current(kNow + std::chrono::minutes{2});
  ASSERT_TRUE(later);
  EXPECT_EQ(later->token, "one");
  source->refused({.token = "one"});
  EXPECT_FALSE(source->current(kNow + std::chrono::minutes{2}));
}

TEST(Kubeconfig, APluginIsAskedAgainWhenItsCredentialsEnd) {
  const formats::TemporaryFolder folder;
  folder.write("config", content_of(kFolder / "exec.yaml"));
  std::filesystem::copy_file(kFolder / "plugin.sh", folder.path() / "plugin.sh");
  const auto server = read_kubeconfig({{folder.path() / "config"}, false, ""}, kNow);
  EXPECT_EQ(token_of(server), "token two words a b");
  std::filesystem::remove(folder.path() / "plugin.sh");
  EXPECT_EQ(token_of(server, kNow + std::chrono::minutes{59}), "token two words a b") << "kept";
  EXPECT_THAT(token_of(server, kNow + std::chrono::minutes{60}), HasSubstr("No such file"))
      << "asked";
}

TEST(Kubeconfig, SecretsAreInNoMessage) {
  const formats::TemporaryFolder folder;
  folder.write(
      "config",
      "current-context: t\ncontexts: [{name: t, context: {cluster: c, user: u}}]\n"
      "clusters: [{name: c, cluster: {server: nonsense}}]\n"
      "users: [{name: u, user: {token: [hidden], password: hidden, client-key-data: hidden!, "
      "client-certificate-data: hidden!}}]\n");
  const auto server = read_kubeconfig({{folder.path() / "config"}, false, ""}, kNow);
  ASSERT_FALSE(server);
  EXPECT_THAT(to_string(server.error().details), Not(HasSubstr("hidden")));
}

// The environment of a search: nothing but this.
ServerSearch search_in(std::map<std::string, std::string> variables) {
  ServerSearch search;
  search.environment = [variables =
                            std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional{at->second};
  };
  return search;
}

TEST(FindApiServer, LooksWhereKubectlLooks) {
  const formats::TemporaryFolder home;
  std::filesystem::create_directory(home.path() / ".kube");
  home.write(".kube/config", content_of(kFolder / "nobody.yaml"));
  const std::string list =
      (kFolder / "not_there").string() + ":" + (kFolder / "ipv6.yaml").string();
  ServerSearch search = search_in({{"KUBECONFIG", list}, {"HOME", home.path().string()}});
  EXPECT_EQ(find_api_server(search, kNow)->url, "https://[2001:db8::1]:6443");
  search.kubeconfig = (kFolder / "token.yaml").string();
  EXPECT_EQ(find_api_server(search, kNow)->context, "t");
  EXPECT_EQ(find_api_server(search_in({{"HOME", home.path().string()}}), kNow)->url,
            "http://127.0.0.1:8001");
  const auto nothing = find_api_server(search_in({{"HOME", "/nonexistent"}}), kNow);
  ASSERT_FALSE(nothing);
  EXPECT_THAT(to_string(nothing.error().details), HasSubstr("--kubeconfig FILE"));
}

TEST(FindApiServer, InAPodUsesItsServiceAccount) {
  const formats::TemporaryFolder account;
  account.write("ca.crt", content_of(kFolder / "ca.crt"));
  account.write("namespace", "weir");
  ServerSearch search =
      search_in({{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}});
  search.service_account = account.path();
  const auto without = find_api_server(search, kNow);
  ASSERT_FALSE(without);
  EXPECT_THAT(to_string(without.error().details), HasSubstr("token"));
  account.write("token", "bound");
  const auto server = find_api_server(search, kNow);
  ASSERT_TRUE(server) << to_string(server.error().details);
  EXPECT_EQ(summary(*server, kNow),
            "https://[fd00::1]:443 with an authority, a token, namespace weir");
  account.write("token", "rotated");
  EXPECT_EQ(token_of(server, kNow + std::chrono::seconds{61}), "rotated");
}

}  // namespace
}  // namespace weir::engine::kubernetes
