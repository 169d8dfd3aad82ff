// SPDX-License-Identifier: Apache-2.0
#include "cli/client_dashboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/client_server_testing.h"
#include "cli/open_in_browser.h"
#include "cli/run_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class DashboardLink : public testing::Test {
 protected:
  DashboardLink() {
    environment_.set("WEIR_SERVER", server_.url());
    environment_.set("WEIR_TOKEN", ScriptedServer::kToken);
    environment_.unset("DISPLAY");
    environment_.unset("WAYLAND_DISPLAY");
  }

  // A program of that name which notes what it is called with.
  fs::path with_xdg_open() {
    const fs::path folder = environment_.home().path() / "bin";
    const fs::path noted = environment_.home().path() / "noted";
    fs::create_directories(folder);
    std::ofstream{folder / "xdg-open"} << "#!/bin/sh\necho \"$@\" >'" << noted.string()
                                       << ".new' && mv '" << noted.string() << ".new' '"
                                       << noted.string() << "'\n";
    fs::permissions(folder / "xdg-open", fs::perms::owner_all);
    environment_.set("PATH", folder.string() + ":" + std::getenv("PATH"));
    return noted;
  }

  ClientEnvironment environment_;
  ScriptedServer server_;
};

TEST_F(DashboardLink, HasTheTokenWhereItIsNotSent) {
  const Ran ran = weir({"dashboard"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, server_.url() + "/#token=" + std::string{ScriptedServer::kToken} + "\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(DashboardLink, IsJsonForPrograms) {
  const Ran ran = weir({"dashboard", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["url"], server_.url() + "/");
  EXPECT_EQ(json["token"], ScriptedServer::kToken);
  EXPECT_EQ(json["link"], server_.url() + "/#token=" + std::string{ScriptedServer::kToken});
}

TEST_F(DashboardLink, IsNotPrintedWhenItWouldNotWork) {
  environment_.set("WEIR_TOKEN", "wrong");
  const Ran stranger = weir({"dashboard"});
  EXPECT_EQ(stranger.exit_code, 1);
  EXPECT_EQ(stranger.out, "");
  EXPECT_THAT(stranger.err, HasSubstr("this is not the server's token"));
  environment_.set("WEIR_TOKEN", ScriptedServer::kToken);
  server_.stop();
  const Ran gone = weir({"dashboard", "--json"});
  EXPECT_EQ(gone.exit_code, 4);
  EXPECT_EQ(gone.out, "");
  EXPECT_THAT(gone.err, HasSubstr(server_.url()));
}

TEST_F(DashboardLink, SaysWhyNothingIsOpened) {
  const Ran headless = weir({"dashboard", "--open"});
  EXPECT_EQ(headless.exit_code, 0);
  EXPECT_THAT(headless.out, HasSubstr("/#token="));
  EXPECT_EQ(headless.err, "weir: there is no display here; open the link yourself\n");
  environment_.set("DISPLAY", ":0");
  environment_.set("PATH", environment_.home().path().string());
  EXPECT_EQ(weir({"dashboard", "--open"}).err,
            "weir: xdg-open is not installed; open the link yourself\n");
}

TEST_F(DashboardLink, OpensAFileThatOnlyItsOwnerReads) {
  const fs::path noted = with_xdg_open();
  environment_.set("WAYLAND_DISPLAY", "wayland-0");
  const Ran ran = weir({"dashboard", "--open"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!fs::exists(noted) && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  std::string arguments = content_of(noted);
  ASSERT_THAT(arguments, HasSubstr("dashboard.html\n"));
  EXPECT_EQ(arguments.find(ScriptedServer::kToken), std::string::npos);
  arguments.pop_back();
  const std::string page = content_of(arguments);
  EXPECT_THAT(page, HasSubstr("url=" + server_.url() +
                              "/#token=" + std::string{ScriptedServer::kToken} + "\""));
  struct stat status {};
  ASSERT_EQ(::stat(arguments.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(PageLeadingTo, LetsNoLinkOutOfItsPlace) {
  EXPECT_THAT(page_leading_to("http://h/\"><script>&"),
              HasSubstr("url=http://h/&quot;&gt;&lt;script&gt;&amp;\">"));
}

}  // namespace
}  // namespace weir::cli
