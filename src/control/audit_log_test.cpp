// SPDX-License-Identifier: Apache-2.0
#include "control/audit_log.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "control/access.h"

namespace weir::control {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream{file}.rdbuf();
  return text.str();
}

class Audit : public ::testing::Test {
 protected:
  Audit() : folder_{fs::temp_directory_path() / ("weir-audit-" + new_secret())} {
    fs::create_directories(folder_);
    options_.file = folder_ / "audit.jsonl";
  }
  ~Audit() override { fs::remove_all(folder_); }

  fs::path folder_;
  AuditOptions options_;
  AuditEntry entry_{Time{}, "10.0.0.7:51234", "ci", "submitter", "POST", "/v1/jobs", 201};
};

TEST_F(Audit, EveryRequestIsALine) {
  auto log = AuditLog::open(options_);
  ASSERT_TRUE(log);
  (*log)->add(entry_);
  entry_.token = {};
  entry_.status = 401;
  (*log)->add(entry_);
  (*log)->flush();
  EXPECT_EQ(text_of(options_.file),
            R"({"at":"1970-01-01T00:00:00Z","address":"10.0.0.7:51234","token":"ci",)"
            R"("role":"submitter","method":"POST","path":"/v1/jobs","status":201})"
            "\n"
            R"({"at":"1970-01-01T00:00:00Z","address":"10.0.0.7:51234","method":"POST",)"
            R"("path":"/v1/jobs","status":401})"
            "\n");
}

TEST_F(Audit, WhateverAClientSendsStaysInItsLine) {
  entry_.method = "GET\r\n\x1b[2J";
  entry_.path = "/v1/\n{\"at\":1}\"\\\xff\x7f\x1b]0;title\x07";
  const std::string line = audit_line(entry_);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_TRUE(
      std::all_of(line.begin(), line.end() - 1, [](char c) { return c >= ' ' && c < 0x7f; }));
  EXPECT_EQ(nlohmann::json::parse(line).at("status"), 201);
  entry_.path = std::string_view{line};
  const std::string twice = audit_line(entry_);
  EXPECT_EQ(nlohmann::json::parse(twice).at("path").get<std::string>(), line.substr(0, 512));
}

TEST_F(Audit, GoesOnWhereItStopped) {
  for (int i = 0; i < 3; ++i) (*AuditLog::open(options_))->add(entry_);
  const std::string text = text_of(options_.file);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(Audit, AFullFileIsPutAside) {
  options_.most_bytes = 500;
  options_.older_files = 2;
  auto log = AuditLog::open(options_);
  ASSERT_TRUE(log);
  for (int i = 0; i < 20; ++i) {
    (*log)->add(entry_);
    (*log)->flush();
  }
  for (const char* name : {"audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"}) {
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
    EXPECT_LE(fs::file_size(folder_ / name), 500U) << name;
  }
  EXPECT_FALSE(fs::exists(folder_ / "audit.jsonl.3"));
}

TEST_F(Audit, SaysHowManyLinesWereLost) {
  options_.most_waiting_bytes = 1000;
  auto log = AuditLog::open(options_);
  ASSERT_TRUE(log);
  for (int i = 0; i < 1000; ++i) (*log)->add(entry_);
  (*log)->flush();
  (*log)->add(entry_);
  (*log)->flush();
  EXPECT_THAT(text_of(options_.file), HasSubstr("\"lost\":"));
}

TEST_F(Audit, AFolderThatIsMissingIsAnError) {
  options_.file = folder_ / "nowhere" / "audit.jsonl";
  EXPECT_FALSE(AuditLog::open(options_));
}

}  // namespace
}  // namespace weir::control
