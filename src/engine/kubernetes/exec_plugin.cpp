// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/exec_plugin.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/local/owned_fd.h"
#include "formats/time_text.h"

extern char** environ;

namespace weir::engine::kubernetes {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxOutput = 1 << 20;

tl::unexpected<Error> unusable(const std::string& name, std::string field, std::string found,
                               std::string expected) {
  Diagnostics details;
  details.add(Diagnostic{name, 0, std::move(field), std::move(found), std::move(expected)});
  return tl::unexpected(Error{ErrorCode::unavailable, std::move(details)});
}

std::string exec_info(const ExecPlugin& plugin) {
  nlohmann::json info{{"apiVersion", plugin.api_version},
                      {"kind", "ExecCredential"},
                      {"spec", {{"interactive", false}}}};
  if (!plugin.cluster_info.empty()) {
    info["spec"]["cluster"] = nlohmann::json::parse(plugin.cluster_info, nullptr, false);
  }
  return info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// "NAME=value" of our environment with the plugin's own in place of ours.
std::vector<std::string> environment_of(const ExecPlugin& plugin) {
  std::vector<std::pair<std::string, std::string>> own = plugin.environment;
  own.emplace_back("KUBERNETES_EXEC_INFO", exec_info(plugin));
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const std::string_view name = line.substr(0, line.find('='));
    const bool is_replaced =
        std::any_of(own.begin(), own.end(), [&](const auto& mine) { return mine.first == name; });
    if (!is_replaced) all.emplace_back(line);
  }
  for (const auto& [name, value] : own) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// Its standard output is `output`, its standard input empty. 0 or errno.
int spawn(const ExecPlugin& plugin, int output, pid_t& child) {
  std::vector<std::string> arguments{plugin.command};
  arguments.insert(arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::string> environment = environment_of(plugin);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  const int error = posix_spawnp(&child, plugin.command.c_str(), &files, nullptr,
                                 pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  return error;
}

enum class ReadEnd : std::uint8_t { end, too_late, too_much };

ReadEnd read_output(int from, Clock::time_point deadline, std::string& output) {
  std::array<char, 4096> piece{};
  while (output.size() <= kMaxOutput) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return ReadEnd::too_late;
    pollfd waiting{from, POLLIN, 0};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000)));
    if (ready <= 0) continue;
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ReadEnd::end;
    output.append(piece.data(), static_cast<std::size_t>(got));
  }
  return ReadEnd::too_much;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string text_at(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string{};
}

}  // namespace

Result<PluginAnswer> run_exec_plugin(const ExecPlugin& plugin) {
  const std::string name = "exec plugin " + plugin.command;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return unusable(name, "its output", std::strerror(errno), "a pipe");
  }
  const OwnedFd from{ends[0]};
  OwnedFd to{ends[1]};
  pid_t child = 0;
  if (const int error = spawn(plugin, to.get(), child)) {
    std::string expected = "a program on PATH";
    if (!plugin.install_hint.empty()) expected += "; " + plugin.install_hint;
    return unusable(name, "command", std::strerror(error), std::move(expected));
  }
  to.reset();
  std::string output;
  const ReadEnd end = read_output(from.get(), Clock::now() + plugin.time_limit, output);
  if (end != ReadEnd::end) ::kill(child, SIGKILL);
  const int status = wait_for(child);
  if (end == ReadEnd::too_late) {
    return unusable(name, "its answer", "not there in time",
                    fmt::format("one within {} s", plugin.time_limit.count() / 1000));
  }
  if (end == ReadEnd::too_much) {
    return unusable(name, "its answer", "too long", "at most 1 MiB");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return unusable(
        name, "its exit code",
        fmt::format("{}", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)),
        "0; what it wrote to standard error says more");
  }
  return read_exec_credential(name, output);
}

Result<PluginAnswer> read_exec_credential(const std::string& name, std::string_view json) {
  const nlohmann::json document = nlohmann::json::parse(json, nullptr, false);
  if (!document.is_object() || text_at(document, "kind") != "ExecCredential") {
    return unusable(name, "its answer", "something else", "an ExecCredential as JSON");
  }
  const auto status = document.find("status");
  if (status == document.end() || !status->is_object()) {
    return unusable(name, "status", "", "the credentials");
  }
  PluginAnswer answer;
  answer.credentials.token = text_at(*status, "token");
  answer.credentials.client_certificate = text_at(*status, "clientCertificateData");
  answer.credentials.client_key = text_at(*status, "clientKeyData");
  if (answer.credentials.client_certificate.empty() != answer.credentials.client_key.empty()) {
    return unusable(name, "status", "only one of clientCertificateData and clientKeyData", "both");
  }
  if (answer.credentials == Credentials{}) {
    return unusable(name, "status", "neither token nor clientCertificateData", "one of them");
  }
  if (const std::string ends = text_at(*status, "expirationTimestamp"); !ends.empty()) {
    answer.ends = formats::parse_time(ends);
    if (!answer.ends) {
      return unusable(name, "status.expirationTimestamp", ends,
                      "a time such as 2026-11-15T09:00:00Z");
    }
  }
  return answer;
}

}  // namespace weir::engine::kubernetes
