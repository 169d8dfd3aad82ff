// SPDX-License-Identifier: Apache-2.0
#include "cli/login_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "formats/input_file.h"
#include "formats/yaml_document.h"
#include "formats/yaml_quantities.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxLoginBytes = 64 << 10;
constexpr std::array<std::string_view, 4> kKeys{"server", "token", "fingerprint", "ca_file"};

fs::path login_file() {
  const fs::path folder = client_config_folder();
  return folder.empty() ? folder : folder / "login.yaml";
}

tl::unexpected<Error> failed(const fs::path& file, int error) {
  Diagnostics details;
  details.add({file.string(), 0, "", std::strerror(error), "a file that can be written"});
  return tl::unexpected<Error>(Error{ErrorCode::failure, std::move(details)});
}

// Any text as one in quotes, for YAML as for JSON.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string text_of(const Login& login) {
  std::string text = "server: " + quoted(login.server) + "\ntoken: " + quoted(login.token) + "\n";
  if (!login.fingerprint.empty()) text += "fingerprint: " + quoted(login.fingerprint) + "\n";
  if (!login.ca_file.empty()) text += "ca_file: " + quoted(login.ca_file.string()) + "\n";
  return text;
}

}  // namespace

std::optional<std::string> key_fingerprint(std::string_view text) {
  constexpr std::string_view kBegin = "sha256//";
  constexpr std::size_t kLength = kBegin.size() + 44;
  const bool is_one = text.starts_with(kBegin) && text.size() == kLength && text.ends_with('=') &&
                      text.find_first_of("; \t\r\n") == std::string_view::npos;
  return is_one ? std::optional<std::string>{text} : std::nullopt;
}

fs::path client_config_folder() {
  const auto variable = [](const char* name) -> std::string {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const std::string given = variable("XDG_CONFIG_HOME"); !given.empty())
    return fs::path{given} / "weir";
  const std::string home = variable("HOME");
  return home.empty() ? fs::path{} : fs::path{home} / ".config/weir";
}

Result<std::optional<Login>> read_login() {
  const fs::path file = login_file();
  struct stat about {};
  if (file.empty() || stat(file.c_str(), &about) != 0) return std::optional<Login>{};
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return bad_input(Diagnostic{file.string(), 0, "", "a file that others can open",
                                "one for its owner only: chmod 600, or `weir login` again"});
  }
  auto input = formats::InputFile::open(file, kMaxLoginBytes);
  if (!input) return tl::unexpected(std::move(input.error()));
  const auto document = formats::YamlDocument::read(std::move(*input));
  if (!document) return tl::unexpected(document.error());
  Diagnostics mistakes;
  Login login;
  const formats::YamlFields top{*document, document->root(), "file", kKeys, mistakes};
  if (top.is_usable()) {
    login.server = top.require("server", "a URL", formats::any_text).value_or("");
    login.token = top.require("token", "a token", formats::any_text).value_or("");
    login.fingerprint =
        top.get("fingerprint", "sha256// and 44 characters", key_fingerprint).value_or("");
    login.ca_file = top.get("ca_file", "a file name", formats::any_text).value_or("");
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return std::optional{std::move(login)};
}

Result<void> write_login(const Login& login) {
  const fs::path file = login_file();
  if (file.empty()) {
    return bad_input(Diagnostic{"", 0, "HOME", "", "your home folder: the token is kept there"});
  }
  std::error_code error;
  if (fs::create_directories(file.parent_path(), error))
    fs::permissions(file.parent_path(), fs::perms::owner_all, error);
  if (error) return failed(file, error.value());
  const fs::path beside = file.string() + ".new";
  unlink(beside.c_str());
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return failed(file, errno);
  const std::string text = text_of(login);
  const bool is_written =
      write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  const int reason = errno;
  close(fd);
  if (is_written && rename(beside.c_str(), file.c_str()) == 0) return {};
  const int last = is_written ? errno : reason;
  unlink(beside.c_str());
  return failed(file, last);
}

Result<bool> remove_login() {
  const fs::path file = login_file();
  if (file.empty() || (unlink(file.c_str()) != 0 && errno == ENOENT)) return false;
  if (access(file.c_str(), F_OK) == 0) return failed(file, EACCES);
  return true;
}

}  // namespace weir::cli
