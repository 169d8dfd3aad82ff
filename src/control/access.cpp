// SPDX-License-Identifier: Apache-2.0
#include "control/access.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "formats/time_text.h"

namespace weir::control {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kRoles{"viewer", "submitter", "operator"};
// Tokens that are over stay in the list for so long.
constexpr Duration kRemembered = from_seconds(90 * 86'400);

std::string hex_of(const unsigned char* bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// False when it is not exactly so many bytes in hexadecimal.
bool read_hex(std::string_view text, unsigned char* bytes, std::size_t count) {
  if (text.size() != 2 * count) return false;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

tl::unexpected<Error> failed(const fs::path& file, std::string_view what, int error) {
  Diagnostics details;
  details.add({file.string(), 0, "", fmt::format("{}: {}", what, std::strerror(error)),
               "a file that can be written"});
  return tl::unexpected<Error>(Error{ErrorCode::unavailable, std::move(details)});
}

// There whole, and on the disk, or as before.
Result<void> replace_file(const fs::path& file, std::string_view text) {
  const fs::path beside = file.string() + ".new";
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return failed(file, "cannot be written", errno);
  bool is_written = true;
  while (is_written && !text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    is_written = count > 0;
    if (is_written) text.remove_prefix(static_cast<std::size_t>(count));
  }
  is_written = is_written && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  if (!is_written || rename(beside.c_str(), file.c_str()) != 0)
    return failed(file, "cannot be written", is_written ? errno : error);
  const fs::path folder = file.parent_path();
  const int folder_fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd >= 0) {
    fsync(folder_fd);
    close(folder_fd);
  }
  return {};
}

tl::unexpected<Error> damaged(const fs::path& file, std::string found) {
  return bad_input(Diagnostic{file.string(), 0, "tokens", std::move(found),
                              "the file as weir wrote it; without it all tokens but that of the "
                              "state folder are gone"});
}

std::optional<Time> time_of(const nlohmann::json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_string()) return std::nullopt;
  return formats::parse_time(at->get_ref<const std::string&>());
}

}  // namespace

// What changes about a token, seen by every caller that uses it.
struct AccessCaller::Shared {
  AccessTokens::Clock clock;
  std::optional<Time> expires;
  std::atomic<bool> is_revoked{false};
};

bool AccessCaller::is_welcome() const {
  return !shared_->is_revoked && (!shared_->expires || shared_->clock() < *shared_->expires);
}

std::string_view to_string(Role role) {
  return kRoles[static_cast<std::size_t>(role)];
}

std::optional<Role> role_named(std::string_view name) {
  const auto at = std::find(kRoles.begin(), kRoles.end(), name);
  if (at == kRoles.end()) return std::nullopt;
  return static_cast<Role>(at - kRoles.begin());
}

std::string new_secret() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return hex_of(bytes.data(), bytes.size());
}

AccessTokens::AccessTokens(fs::path file, Clock clock)
    : file_{std::move(file)}, clock_{std::move(clock)} {}

Result<std::unique_ptr<AccessTokens>> AccessTokens::open(fs::path file, std::string_view first,
                                                         Clock clock) {
  std::unique_ptr<AccessTokens> tokens{new AccessTokens{std::move(file), std::move(clock)}};
  AccessToken opens_everything;
  opens_everything.name = kFirstToken;
  opens_everything.role = Role::operator_;
  opens_everything.created = tokens->clock_();
  tokens->entries_.push_back(tokens->entry_of(hash_of(first), std::move(opens_everything)));
  if (auto read = tokens->read(); !read) return tl::unexpected<Error>(std::move(read.error()));
  return tokens;
}

AccessTokens::Hash AccessTokens::hash_of(std::string_view secret) {
  Hash hash{};
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), hash.data());
  return hash;
}

AccessTokens::Entry AccessTokens::entry_of(const Hash& hash, AccessToken token) const {
  auto shared = std::make_shared<AccessCaller::Shared>();
  shared->clock = clock_;
  shared->expires = token.expires;
  shared->is_revoked = token.revoked.has_value();
  return {hash, std::make_shared<const AccessToken>(std::move(token)), std::move(shared)};
}

Result<void> AccessTokens::read() {
  std::error_code error;
  if (file_.empty() || !fs::exists(file_, error)) return {};
  std::ifstream in{file_};
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return damaged(file_, "unreadable");
  const auto json = nlohmann::json::parse(text.str(), nullptr, false);
  if (!json.is_object() || json.value("version", 0) != 1 || !json.contains("tokens") ||
      !json["tokens"].is_array())
    return damaged(file_, "no list of tokens");
  for (const auto& each : json["tokens"]) {
    const auto text_of = [&](const char* key) {
      return each.is_object() && each.contains(key) && each[key].is_string()
                 ? each[key].get<std::string>()
                 : std::string{};
    };
    Hash hash{};
    AccessToken token;
    const auto role = role_named(text_of("role"));
    token.name = text_of("name");
    token.tenant = text_of("tenant");
    if (token.name.empty() || !role || !read_hex(text_of("sha256"), hash.data(), hash.size()))
      return damaged(file_, "a token without name, role or hash");
    token.role = *role;
    token.created = time_of(each, "created").value_or(Time{});
    token.expires = time_of(each, "expires");
    token.revoked = time_of(each, "revoked");
    // Nothing that cannot be read may make a token live longer.
    if (each.contains("expires") != token.expires.has_value() ||
        each.contains("revoked") != token.revoked.has_value())
      return damaged(file_, "a time that is none");
    entries_.push_back(entry_of(hash, std::move(token)));
  }
  return {};
}

Result<void> AccessTokens::write(const std::vector<Entry>& entries) const {
  if (file_.empty()) return {};
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const AccessToken& token = *entries[i].token;
    nlohmann::ordered_json json;
    json["name"] = token.name;
    json["role"] = to_string(token.role);
    if (!token.tenant.empty()) json["tenant"] = token.tenant;
    json["created"] = formats::format_time(token.created);
    if (token.expires) json["expires"] = formats::format_time(*token.expires);
    if (token.revoked) json["revoked"] = formats::format_time(*token.revoked);
    json["sha256"] = hex_of(entries[i].hash.data(), entries[i].hash.size());
    list.push_back(std::move(json));
  }
  const nlohmann::ordered_json whole{{"version", 1}, {"tokens", std::move(list)}};
  return replace_file(file_, whole.dump(1) + "\n");
}

// Looks at all of them and compares all bytes, so that the time tells nothing.
AccessTokens::Found AccessTokens::find(std::string_view secret) const {
  const Hash hash = hash_of(secret);
  const std::lock_guard lock{mutex_};
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.hash.data(), hash.data(), hash.size()) == 0) found = &entry;
  }
  if (found == nullptr) return {};
  if (found->shared->is_revoked) return {Answer::revoked, nullptr};
  std::shared_ptr<const AccessCaller> caller{new AccessCaller{found->token, found->shared}};
  if (!caller->is_welcome()) return {Answer::expired, nullptr};
  return {Answer::welcome, std::move(caller)};
}

void AccessTokens::forget_old(std::vector<Entry>& entries) const {
  const Time before = clock_() - kRemembered;
  std::erase_if(entries, [&](const Entry& entry) {
    const AccessToken& token = *entry.token;
    return (token.revoked && *token.revoked < before) || (token.expires && *token.expires < before);
  });
}

Result<std::string> AccessTokens::create(AccessToken token) {
  const std::string secret = "weir_" + new_secret();
  token.created = clock_();
  token.revoked.reset();
  const std::lock_guard lock{mutex_};
  std::vector<Entry> entries = entries_;
  forget_old(entries);
  if (std::any_of(entries.begin(), entries.end(),
                  [&](const Entry& entry) { return entry.token->name == token.name; })) {
    return bad_input(Diagnostic{"", 0, "name", token.name,
                                "a name that no other token has, also none that is over"});
  }
  if (entries.size() > kMostTokens) {
    return bad_input(
        Diagnostic{"", 0, "tokens", fmt::format("{}", kMostTokens), "fewer; there is no room"});
  }
  entries.push_back(entry_of(hash_of(secret), std::move(token)));
  if (auto written = write(entries); !written)
    return tl::unexpected<Error>(std::move(written.error()));
  entries_ = std::move(entries);
  return secret;
}

Result<std::optional<AccessToken>> AccessTokens::revoke(std::string_view name) {
  const std::lock_guard lock{mutex_};
  std::vector<Entry> entries = entries_;
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const Entry& entry) { return entry.token->name == name; });
  if (at == entries.end()) return std::nullopt;
  if (at == entries.begin()) {
    return bad_input(Diagnostic{"", 0, "name", std::string{name},
                                "another token; for a new first one, remove the file `token` of "
                                "the state folder and start the server again"});
  }
  if (at->token->revoked) return *at->token;
  AccessToken revoked = *at->token;
  revoked.revoked = clock_();
  at->token = std::make_shared<const AccessToken>(revoked);
  if (auto written = write(entries); !written)
    return tl::unexpected<Error>(std::move(written.error()));
  at->shared->is_revoked = true;
  entries_ = std::move(entries);
  return revoked;
}

std::vector<AccessToken> AccessTokens::list() const {
  const std::lock_guard lock{mutex_};
  std::vector<AccessToken> tokens;
  tokens.reserve(entries_.size());
  for (const Entry& entry : entries_) tokens.push_back(*entry.token);
  return tokens;
}

}  // namespace weir::control
