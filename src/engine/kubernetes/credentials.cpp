// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/credentials.h"

#include <fmt/format.h>

#include <utility>

#include "engine/kubernetes/exec_plugin.h"
#include "formats/input_file.h"

namespace weir::engine::kubernetes {
namespace {

constexpr std::uint64_t kMaxSecretBytes = 1 << 20;

class FixedCredentials final : public CredentialSource {
 public:
  explicit FixedCredentials(Credentials credentials) : credentials_{std::move(credentials)} {}
  Result<Credentials> current(Time) override { return credentials_; }
  void refused(const Credentials&) override {}

 private:
  Credentials credentials_;
};

Result<std::string> read_secret(const std::filesystem::path& path) {
  auto file = formats::InputFile::open(path, kMaxSecretBytes);
  if (!file) return tl::unexpected(std::move(file.error()));
  return file->read_all(kMaxSecretBytes);
}

std::string without_space_around(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string{text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1)};
}

class FileCredentials final : public CredentialSource {
 public:
  explicit FileCredentials(CredentialFiles files) : files_{std::move(files)} {}

  Result<Credentials> current(Time now) override {
    const std::lock_guard lock{mutex_};
    const bool is_fresh = known_ && now >= read_ && now - read_ < kCredentialFileAge;
    if (is_fresh) return *known_;
    auto credentials = read();
    if (!credentials && known_) return *known_;  // while somebody replaces the file
    if (!credentials) return credentials;
    read_ = now;
    known_ = *credentials;
    return credentials;
  }

  void refused(const Credentials& refused) override {
    const std::lock_guard lock{mutex_};
    if (known_ == refused) known_.reset();
  }

 private:
  Result<Credentials> read() const {
    Credentials all = files_.others;
    if (auto error = read_into(files_.token, all.token)) return tl::unexpected(std::move(*error));
    all.token = without_space_around(all.token);
    if (!files_.token.empty() && all.token.empty()) {
      return bad_input(Diagnostic{files_.token.string(), 0, "token", "empty", "a bearer token"});
    }
    if (auto error = read_into(files_.client_certificate, all.client_certificate)) {
      return tl::unexpected(std::move(*error));
    }
    if (auto error = read_into(files_.client_key, all.client_key)) {
      return tl::unexpected(std::move(*error));
    }
    return all;
  }

  static std::optional<Error> read_into(const std::filesystem::path& path, std::string& bytes) {
    if (path.empty()) return std::nullopt;
    auto secret = read_secret(path);
    if (!secret) return std::move(secret.error());
    bytes = std::move(*secret);
    return std::nullopt;
  }

  CredentialFiles files_;
  std::mutex mutex_;
  std::optional<Credentials> known_;
  Time read_{};
};

class PluginCredentials final : public CredentialSource {
 public:
  explicit PluginCredentials(ExecPlugin plugin) : plugin_{std::move(plugin)} {}

  Result<Credentials> current(Time now) override {
    const std::lock_guard lock{mutex_};
    if (known_ && (!known_->ends || now < *known_->ends)) return known_->credentials;
    auto made = run_exec_plugin(plugin_);
    if (!made) return tl::unexpected(std::move(made.error()));
    known_ = std::move(*made);
    return known_->credentials;
  }

  void refused(const Credentials& refused) override {
    const std::lock_guard lock{mutex_};
    if (known_ && known_->credentials == refused) known_.reset();
  }

 private:
  ExecPlugin plugin_;
  std::mutex mutex_;
  std::optional<PluginAnswer> known_;
};

}  // namespace

std::shared_ptr<CredentialSource> fixed_credentials(Credentials credentials) {
  return std::make_shared<FixedCredentials>(std::move(credentials));
}

std::shared_ptr<CredentialSource> credentials_from_files(CredentialFiles files) {
  return std::make_shared<FileCredentials>(std::move(files));
}

std::shared_ptr<CredentialSource> credentials_from_plugin(ExecPlugin plugin) {
  return std::make_shared<PluginCredentials>(std::move(plugin));
}

}  // namespace weir::engine::kubernetes
