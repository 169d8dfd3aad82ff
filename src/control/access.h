// SPDX-License-Identifier: Apache-2.0
//
// Who may do what: tokens with a name, a role and, for those who belong to one, a tenant.
//
//   viewer     reads
//   submitter  reads, submits and cancels jobs of its tenant
//   operator   everything
//
// A token that has a tenant does not see what is inside of other tenants' jobs: command, environment,
// logs. A file keeps the tokens' SHA-256, never the tokens. No slow hash is needed: those are for
// passwords, of which few are likely; a token is 256 random bits, and nobody tries them all.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "domain/time.h"
#include "transport/http_message.h"

namespace weir::control {

enum class Role : std::uint8_t { viewer, submitter, operator_ };
std::string_view to_string(Role role);
std::optional<Role> role_named(std::string_view name);

// 256 random bits, as 64 hexadecimal digits.
std::string new_secret();

struct AccessToken {
  std::string name;
  Role role = Role::viewer;
  std::string tenant;  // of a submitter always; of a viewer maybe; empty: none
  Time created;
  std::optional<Time> expires;
  std::optional<Time> revoked;
  friend bool operator==(const AccessToken&, const AccessToken&) = default;
};

// The token of the state folder, which made everything else.
inline constexpr std::string_view kFirstToken = "first";
inline constexpr std::size_t kLongestTokenName = 64;
inline constexpr std::size_t kMostTokens = 1000;

// Who sent a request. Belongs to one token, and knows at once when that is revoked or has expired.
class AccessCaller final : public transport::Caller {
 public:
  std::string_view name() const override { return token_->name; }
  std::string_view role() const override { return to_string(token_->role); }
  bool is_welcome() const override;

  bool may_submit() const { return token_->role != Role::viewer; }
  bool is_operator() const { return token_->role == Role::operator_; }
  // Empty: none, so that all are open to it.
  const std::string& tenant() const { return token_->tenant; }
  bool is_of_tenant(std::string_view tenant) const {
    return token_->tenant.empty() || token_->tenant == tenant;
  }
  const AccessToken& token() const { return *token_; }

 private:
  friend class AccessTokens;
  struct Shared;
  AccessCaller(std::shared_ptr<const AccessToken> token, std::shared_ptr<const Shared> shared)
      : token_{std::move(token)}, shared_{std::move(shared)} {}
  std::shared_ptr<const AccessToken> token_;
  std::shared_ptr<const Shared> shared_;
};

// All tokens of a server. May be used from any thread.
class AccessTokens {
 public:
  using Clock = std::function<Time()>;  // the wall clock

  // `first` opens everything and is in no file. An empty `file` keeps tokens in memory only.
  static Result<std::unique_ptr<AccessTokens>> open(std::filesystem::path file,
                                                    std::string_view first, Clock clock);

  enum class Answer : std::uint8_t { welcome, unknown, expired, revoked };
  struct Found {
    Answer answer = Answer::unknown;
    std::shared_ptr<const AccessCaller> caller;  // only when welcome
  };
  Found find(std::string_view secret) const;

  // Durable on return: the secret, which nobody can be told again. The error is bad_input when the
  // name is taken or there are too many; `created` is filled in.
  Result<std::string> create(AccessToken token);
  // Holds from its return on. Nothing: no such token.
  Result<std::optional<AccessToken>> revoke(std::string_view name);
  std::vector<AccessToken> list() const;  // in the order of creation

 private:
  using Hash = std::array<unsigned char, 32>;
  struct Entry {
    Hash hash{};
    std::shared_ptr<const AccessToken> token;
    std::shared_ptr<AccessCaller::Shared> shared;
  };
  AccessTokens(std::filesystem::path file, Clock clock);
  static Hash hash_of(std::string_view secret);
  Result<void> read();
  Result<void> write(const std::vector<Entry>& entries) const;
  Entry entry_of(const Hash& hash, AccessToken token) const;
  void forget_old(std::vector<Entry>& entries) const;

  const std::filesystem::path file_;
  const Clock clock_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // the first token first
};

}  // namespace weir::control
