// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/kubeconfig.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/kubernetes/base64.h"
#include "engine/kubernetes/certificate_dates.h"
#include "formats/input_file.h"
#include "formats/json_string.h"
#include "formats/yaml_document.h"

namespace weir::engine::kubernetes {
namespace {

using formats::YamlDocument;
using formats::YamlValue;

constexpr int kMaxDepth = 32;                        // extensions hold whatever their owners like
constexpr std::uint64_t kMaxFileBytes = 4ULL << 20;  // certificates and keys are a few kilobytes

// A map of one file, with the name by which messages call it: "users[admin].user".
struct Section {
  const YamlDocument* document = nullptr;
  std::optional<YamlValue> value;
  std::string title;
  Diagnostics* mistakes = nullptr;

  std::optional<YamlValue> find(std::string_view key) const {
    if (!value) return std::nullopt;
    for (const auto& [name, found] : value->entries()) {
      if (name.text() == key && !found.is_empty()) return found;
    }
    return std::nullopt;
  }
  bool has(std::string_view key) const { return find(key).has_value(); }

  std::string title_of(std::string_view key) const {
    return title.empty() ? std::string{key} : fmt::format("{}.{}", title, key);
  }
  // File, line and field.
  Diagnostic place_of(std::string_view key) const {
    const auto at = find(key);
    const std::uint64_t line = at ? at->line() : value ? value->line() : 0;
    return Diagnostic{document->name(), line, title_of(key)};
  }
  void reject(std::string_view key, std::string found, std::string_view expected) const {
    Diagnostic diagnostic = place_of(key);
    diagnostic.found = std::move(found);
    diagnostic.expected = std::string{expected};
    mistakes->add(std::move(diagnostic));
  }

  std::string text(std::string_view key) const {
    const auto found = find(key);
    if (!found) return {};
    if (!found->is_text()) reject(key, found->describe(), "a text");
    return std::string{found->text()};
  }
  bool flag(std::string_view key) const {
    const std::string word = text(key);
    if (!word.empty() && word != "true" && word != "false")
      reject(key, formats::shortened(word), "true or false");
    return word == "true";
  }
  Section section(std::string_view key) const {
    Section inner{document, find(key), title_of(key), mistakes};
    if (inner.value && !inner.value->is_map()) {
      reject(key, inner.value->describe(), "a map");
      inner.value.reset();
    }
    return inner;
  }
  std::vector<YamlValue> items(std::string_view key) const {
    const auto found = find(key);
    if (found && !found->is_list()) reject(key, found->describe(), "a list");
    return found ? found->items() : std::vector<YamlValue>{};
  }
  // Relative to the file that names it.
  std::filesystem::path path(std::string_view key) const {
    const std::string name = text(key);
    if (name.empty()) return {};
    return std::filesystem::path{document->name()}.parent_path() / name;
  }
};

// All the files, and what is found in them by name.
class Kubeconfig {
 public:
  explicit Kubeconfig(const KubeconfigChoice& choice) {
    for (const std::filesystem::path& path : choice.files) {
      std::error_code ignored;
      if (choice.may_be_absent && !std::filesystem::exists(path, ignored)) continue;
      read(path);
    }
  }

  Diagnostics& mistakes() { return mistakes_; }
  bool is_empty() const { return documents_.empty(); }
  const std::string& first_file() const { return documents_.front()->name(); }

  // The entry of that name in a list: {"clusters", "cluster", "kind"}. Nothing, and a mistake at the place that names
  // it: there is none.
  std::optional<Section> entry(std::string_view list, std::string_view inside,
                               std::string_view name, Diagnostic named_by) {
    const std::size_t mistakes_before = mistakes_.total();
    std::vector<std::string> names;
    for (const auto& document : documents_) {
      for (const YamlValue& item : root_of(*document).items(list)) {
        const Section one{document.get(), item, fmt::format("{}[{}]", list, name), &mistakes_};
        const auto found = one.find("name");
        if (!found) continue;
        if (found->text() == name) return one.section(inside);
        names.emplace_back(found->text());
      }
    }
    // A list that is none was told already.
    if (mistakes_.total() > mistakes_before) return std::nullopt;
    named_by.found = std::string{name};
    named_by.expected = names.empty() ? fmt::format("a name in {}, which has none", list)
                                      : fmt::format("one of {}", fmt::join(names, ", "));
    mistakes_.add(std::move(named_by));
    return std::nullopt;
  }

  // The text of that key in the first file that has it, and where that is.
  std::pair<std::string, Diagnostic> top_text(std::string_view key) {
    for (const auto& document : documents_) {
      const Section root = root_of(*document);
      const std::string text = root.text(key);
      if (!text.empty()) return {text, root.place_of(key)};
    }
    return {"", Diagnostic{first_file(), 0, std::string{key}}};
  }

 private:
  void read(const std::filesystem::path& path) {
    auto input = formats::InputFile::open(path);
    auto document = input ? YamlDocument::read(std::move(*input), kMaxDepth)
                          : Result<YamlDocument>{tl::unexpected(std::move(input.error()))};
    if (!document) {
      mistakes_.append(document.error().details);
      return;
    }
    if (!document->root().is_map()) {
      if (!document->root().is_empty()) {
        mistakes_.add(Diagnostic{document->name(), document->root().line(), "file",
                                 document->root().describe(), "a kubeconfig"});
      }
      return;
    }
    documents_.push_back(std::make_unique<YamlDocument>(std::move(*document)));
  }

  Section root_of(const YamlDocument& document) {
    return Section{&document, document.root(), "", &mistakes_};
  }

  Diagnostics mistakes_;
  std::vector<std::unique_ptr<YamlDocument>> documents_;  // sections point into them
};

std::string read_bytes(const Section& section, std::string_view key,
                       const std::filesystem::path& path) {
  auto input = formats::InputFile::open(path, kMaxFileBytes);
  auto bytes =
      input ? input->read_all(kMaxFileBytes) : Result<std::string>{tl::unexpected(input.error())};
  if (bytes) return std::move(*bytes);
  section.reject(key, path.string(), "a file that can be read");
  return {};
}

// PEM text given inside (KEY-data, base64) or as a file (KEY). What is inside counts first.
struct PemText {
  std::string bytes;
  std::filesystem::path file;  // empty: it was inside
  std::string key;             // that was used; empty: neither
};
PemText read_pem(const Section& section, const std::string& key) {
  PemText pem;
  if (section.has(key + "-data")) {
    pem.key = key + "-data";
    const auto bytes = base64_decoded(section.text(pem.key));
    if (!bytes) section.reject(pem.key, "not base64", "PEM text in base64");
    pem.bytes = bytes.value_or("");
  } else if (section.has(key)) {
    pem.key = key;
    pem.file = section.path(key);
    pem.bytes = read_bytes(section, key, pem.file);
  }
  return pem;
}

bool begins_with_one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::any_of(all.begin(), all.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

void read_cluster(const Section& cluster, ApiServer& server) {
  server.url = cluster.text("server");
  if (!begins_with_one_of(server.url, {"https://", "http://"}) || server.url.size() < 9) {
    cluster.reject("server", formats::shortened(server.url), "https://HOST:PORT");
  }
  const PemText authorities = read_pem(cluster, "certificate-authority");
  server.authorities = authorities.bytes;
  if (!authorities.bytes.empty() && !certificate_dates(authorities.bytes)) {
    cluster.reject(authorities.key, "not a PEM certificate", "the server's certificate authority");
  }
  server.is_unchecked = cluster.flag("insecure-skip-tls-verify");
  if (server.is_unchecked && !authorities.key.empty()) {
    cluster.reject("insecure-skip-tls-verify", "true beside a certificate authority",
                   "one of the two");
  }
  server.server_name = cluster.text("tls-server-name");
  server.proxy = cluster.text("proxy-url");
  if (!server.proxy.empty() &&
      !begins_with_one_of(server.proxy, {"http://", "https://", "socks5://"})) {
    cluster.reject("proxy-url", formats::shortened(server.proxy),
                   "http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT");
  }
}

std::string cluster_info(const ApiServer& server) {
  nlohmann::json info{{"server", server.url}};
  if (server.is_unchecked) info["insecure-skip-tls-verify"] = true;
  if (!server.server_name.empty()) info["tls-server-name"] = server.server_name;
  if (!server.proxy.empty()) info["proxy-url"] = server.proxy;
  return info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ExecPlugin read_exec(const Section& exec, const ApiServer& server) {
  ExecPlugin plugin;
  plugin.api_version = exec.text("apiVersion");
  constexpr std::string_view kGroup = "client.authentication.k8s.io/";
  if (plugin.api_version != fmt::format("{}v1", kGroup) &&
      plugin.api_version != fmt::format("{}v1beta1", kGroup)) {
    exec.reject("apiVersion", formats::shortened(plugin.api_version),
                fmt::format("{}v1 or {}v1beta1", kGroup, kGroup));
  }
  plugin.command = exec.text("command");
  if (plugin.command.empty()) exec.reject("command", "", "the program to run");
  // With a '/' it is a path, relative to the file.
  if (plugin.command.find('/') != std::string::npos) plugin.command = exec.path("command").string();
  for (const YamlValue& argument : exec.items("args")) {
    if (!argument.is_text()) exec.reject("args", argument.describe(), "a list of texts");
    plugin.arguments.emplace_back(argument.text());
  }
  for (const YamlValue& item : exec.items("env")) {
    const Section variable{exec.document, item, exec.title + ".env[]", exec.mistakes};
    const std::string name = variable.text("name");
    if (name.empty() || name.find('=') != std::string::npos) {
      variable.reject("name", name, "the name of a variable");
    }
    plugin.environment.emplace_back(name, variable.text("value"));
  }
  if (exec.text("interactiveMode") == "Always") {
    exec.reject("interactiveMode", "Always", "Never or IfAvailable: nobody is there to answer");
  }
  plugin.install_hint = exec.text("installHint");
  if (exec.flag("provideClusterInfo")) plugin.cluster_info = cluster_info(server);
  return plugin;
}

void check_certificate(const Section& user, const PemText& certificate, const PemText& key,
                       Time now) {
  if (certificate.key.empty() != key.key.empty()) {
    const bool lacks_key = key.key.empty();
    user.reject(lacks_key ? "client-key" : "client-certificate", "",
                lacks_key ? "the key that belongs to the certificate"
                          : "the certificate that belongs to the key");
    return;
  }
  if (certificate.bytes.empty()) return;
  const std::string fault = certificate_fault(certificate.bytes, now);
  if (!fault.empty()) user.reject(certificate.key, fault, "a certificate that is valid now");
}

void refuse_unsupported(const Section& user) {
  if (user.has("auth-provider")) {
    user.reject("auth-provider", "given", "exec: Kubernetes 1.26 removed auth-provider");
  }
  for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    if (user.has(key)) user.reject(key, "given", "nothing: weir does not impersonate others");
  }
}

std::shared_ptr<CredentialSource> read_user(const Section& user, const ApiServer& server,
                                            Time now) {
  refuse_unsupported(user);
  const Section exec = user.section("exec");
  const PemText certificate = read_pem(user, "client-certificate");
  const PemText key = read_pem(user, "client-key");
  check_certificate(user, certificate, key, now);
  Credentials known;
  known.token = user.text("token");
  known.user = user.text("username");
  known.password = user.text("password");
  CredentialFiles files;
  files.token = user.path("tokenFile");
  if (!files.token.empty()) read_bytes(user, "tokenFile", files.token);
  if (exec.value) return credentials_from_plugin(read_exec(exec, server));
  files.client_certificate = certificate.file;
  files.client_key = key.file;
  known.client_certificate = certificate.bytes;
  known.client_key = key.bytes;
  if (files.token.empty() && files.client_certificate.empty() && files.client_key.empty()) {
    return fixed_credentials(std::move(known));
  }
  files.others = std::move(known);
  return credentials_from_files(std::move(files));
}

void choose(Kubeconfig& config, const std::string& context_name, const Diagnostic& named_by,
            Time now, ApiServer& server) {
  const auto context = config.entry("contexts", "context", context_name, named_by);
  if (!context) return;
  server.context = context_name;
  server.ns = context->text("namespace");
  const std::string cluster_name = context->text("cluster");
  const std::string user_name = context->text("user");
  if (cluster_name.empty()) context->reject("cluster", "", "the name of a cluster");
  const auto cluster = cluster_name.empty() ? std::nullopt
                                            : config.entry("clusters", "cluster", cluster_name,
                                                           context->place_of("cluster"));
  if (cluster) read_cluster(*cluster, server);
  server.credentials = fixed_credentials({});
  if (user_name.empty()) return;
  if (const auto user = config.entry("users", "user", user_name, context->place_of("user"))) {
    server.credentials = read_user(*user, server, now);
  }
}

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

std::vector<std::filesystem::path> split_paths(std::string_view list) {
  std::vector<std::filesystem::path> paths;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) paths.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return paths;
}

}  // namespace

Result<ApiServer> read_kubeconfig(const KubeconfigChoice& choice, Time now) {
  Kubeconfig config{choice};
  if (!config.mistakes().empty()) return bad_input(config.mistakes());
  const std::string first = choice.files.empty() ? "" : choice.files.front().string();
  if (config.is_empty()) {
    return bad_input(
        Diagnostic{first, 0, "kubeconfig", "", "a file with clusters, users and contexts"});
  }
  auto [context, named_by] = config.top_text("current-context");
  if (!choice.context.empty()) {
    context = choice.context;
    named_by = Diagnostic{config.first_file(), 0, "the context"};
  }
  ApiServer server;
  if (!context.empty()) {
    choose(config, context, named_by, now, server);
  } else if (config.mistakes().empty()) {
    config.mistakes().add(Diagnostic{config.first_file(), 0, "current-context", "",
                                     "the name of a context, or say which with --context"});
  }
  if (!config.mistakes().empty()) return bad_input(config.mistakes());
  return server;
}

Result<ApiServer> in_cluster_server(std::string_view host, std::string_view port,
                                    const std::filesystem::path& folder) {
  ApiServer server;
  const bool is_ipv6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  server.url = fmt::format("https://{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
  server.context = "in-cluster";
  auto authorities = formats::InputFile::open(folder / "ca.crt", kMaxFileBytes);
  auto bytes = authorities ? authorities->read_all(kMaxFileBytes)
                           : Result<std::string>{tl::unexpected(authorities.error())};
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  server.authorities = std::move(*bytes);
  if (auto name = formats::InputFile::open(folder / "namespace", kMaxFileBytes)) {
    server.ns = name->read_all(kMaxFileBytes).value_or("");
  }
  server.credentials = credentials_from_files({.token = folder / "token"});
  if (auto token = server.credentials->current(Time{}); !token) {
    return tl::unexpected(std::move(token.error()));
  }
  return server;
}

Result<ApiServer> find_api_server(const ServerSearch& search, Time now) {
  const auto environment = search.environment ? search.environment : process_environment;
  if (!search.kubeconfig.empty()) {
    return read_kubeconfig({{search.kubeconfig}, false, search.context}, now);
  }
  if (const auto list = environment("KUBECONFIG"); list && !list->empty()) {
    return read_kubeconfig({split_paths(*list), true, search.context}, now);
  }
  const auto home = environment("HOME");
  const std::filesystem::path usual = std::filesystem::path{home.value_or("")} / ".kube/config";
  std::error_code ignored;
  if (home && std::filesystem::exists(usual, ignored)) {
    return read_kubeconfig({{usual}, false, search.context}, now);
  }
  const auto host = environment("KUBERNETES_SERVICE_HOST");
  const auto port = environment("KUBERNETES_SERVICE_PORT");
  if (host && !host->empty() && port)
    return in_cluster_server(*host, *port, search.service_account);
  return bad_input(Diagnostic{"", 0, "kubeconfig", "",
                              "--kubeconfig FILE, a KUBECONFIG variable or ~/.kube/config"});
}

}  // namespace weir::engine::kubernetes
