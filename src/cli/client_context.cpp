// SPDX-License-Identifier: Apache-2.0
#include "cli/client_context.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/login_file.h"
#include "cli/state_folder.h"
#include "domain/nearest_name.h"
#include "formats/input_file.h"
#include "formats/yaml_document.h"
#include "formats/yaml_quantities.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxContextBytes = 4096;
constexpr std::array<std::string_view, 2> kFileKeys{"current", "contexts"};
constexpr std::array<std::string_view, 4> kContextKeys{"server", "token_file", "ca_file",
                                                       "fingerprint"};
constexpr std::uint64_t kMostAuthorityBytes = 1 << 20;

struct Context {
  std::optional<std::string> server;
  std::optional<fs::path> token_file;
  std::optional<fs::path> ca_file;
  std::string fingerprint;
  std::string token;  // of a login
};

// Nothing when it is not set, or empty.
std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

fs::path config_file() {
  const fs::path folder = client_config_folder();
  return folder.empty() ? folder : folder / "config.yaml";
}

// The names of all contexts, and the wanted one.
class ContextFile {
 public:
  ContextFile(const formats::YamlDocument& document, std::optional<std::string> wanted)
      : document_{document}, wanted_{std::move(wanted)} {}

  Result<Context> read() {
    const formats::YamlFields top{document_, document_.root(), "file", kFileKeys, mistakes_};
    if (top.is_usable()) read_file(top);
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return context_;
  }

 private:
  void read_file(const formats::YamlFields& top) {
    const auto current = top.get("current", "the name of a context", formats::plain_name);
    if (!wanted_ && current) wanted_ = std::string{*current};
    const auto contexts = top.find("contexts");
    if (contexts && !contexts->is_map()) return top.reject("contexts", "a map of contexts by name");
    bool is_found = false;
    std::vector<std::string> names;
    if (contexts) {
      for (const auto& [name, value] : contexts->entries()) {
        names.emplace_back(name.text());
        const formats::YamlFields fields{document_, value, names.back(), kContextKeys, mistakes_};
        if (!fields.is_usable()) continue;
        const Context read = read_context(fields);
        if (names.back() != wanted_) continue;
        context_ = read;
        is_found = true;
      }
    }
    if (!wanted_ || is_found) return;
    top.note(0, "context", *wanted_,
             "the name of a context of this file" + did_you_mean(*wanted_, names));
  }

  static Context read_context(const formats::YamlFields& fields) {
    Context context;
    const auto server =
        fields.require("server", "a URL, such as http://127.0.0.1:7070", formats::any_text);
    if (server) context.server = *server;
    const auto file = fields.get("token_file", "a file name", formats::any_text);
    if (file) context.token_file = fs::path{*file};
    const auto authority = fields.get("ca_file", "a file name", formats::any_text);
    if (authority) context.ca_file = fs::path{*authority};
    context.fingerprint =
        fields
            .get("fingerprint", "what `weir serve` prints: sha256// and 44 characters",
                 key_fingerprint)
            .value_or("");
    if (authority && fields.find("fingerprint"))
      fields.reject("fingerprint", "either a fingerprint or a ca_file");
    return context;
  }

  const formats::YamlDocument& document_;
  std::optional<std::string> wanted_;
  Diagnostics mistakes_;
  Context context_;
};

Result<Context> find_context(const OptionValues& options) {
  std::optional<std::string> wanted = variable("WEIR_CONTEXT");
  if (options.has("context")) wanted = options.text("context");
  const fs::path path = config_file();
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (!wanted) return Context{};
    return bad_input(Diagnostic{path.string(), 0, "context", *wanted,
                                "this file, with a map `contexts`: it does not exist"});
  }
  auto input = formats::InputFile::open(path);
  if (!input) return tl::unexpected(std::move(input.error()));
  const auto document = formats::YamlDocument::read(std::move(*input));
  if (!document) return tl::unexpected(document.error());
  return ContextFile{*document, std::move(wanted)}.read();
}

// The one line of a small file.
Result<std::string> read_line_of(const fs::path& path) {
  auto input = formats::InputFile::open(path, kMaxContextBytes);
  if (!input) return tl::unexpected(std::move(input.error()));
  auto text = input->read_all();
  if (!text) return text;
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  return text;
}

// What `weir login` kept, unless somebody names another server. Its token goes to no other.
Result<std::optional<Context>> find_login(const OptionValues& options) {
  if (options.has("context") || variable("WEIR_CONTEXT")) return std::optional<Context>{};
  auto login = read_login();
  if (!login) return tl::unexpected(std::move(login.error()));
  if (!*login) return std::optional<Context>{};
  auto named =
      options.has("server") ? std::optional{options.text("server")} : variable("WEIR_SERVER");
  while (named && named->ends_with('/')) named->pop_back();
  if (named ? *named != (*login)->server : variable("WEIR_STATE").has_value())
    return std::optional<Context>{};
  Context context;
  context.server = std::move((*login)->server);
  context.token = std::move((*login)->token);
  context.fingerprint = std::move((*login)->fingerprint);
  if (!(*login)->ca_file.empty()) context.ca_file = std::move((*login)->ca_file);
  return std::optional{std::move(context)};
}

// A file of the default state folder; empty when there is none.
Result<std::string> of_state_folder(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::string{};
  return read_line_of(file);
}

struct FoundUrl {
  std::string url;
  bool is_of_state_folder = false;
};

Result<FoundUrl> find_url(const OptionValues& options, const Context& context) {
  if (options.has("server")) return FoundUrl{options.text("server")};
  if (const auto given = variable("WEIR_SERVER")) return FoundUrl{*given};
  if (context.server) return FoundUrl{*context.server};
  auto last = of_state_folder(url_file(default_state_folder()));
  if (!last) return tl::unexpected(std::move(last.error()));
  if (last->empty()) return FoundUrl{std::string{kDefaultServer}};
  return FoundUrl{std::move(*last), true};
}

// Whom to trust when the server has TLS.
Result<transport::HttpTls> find_trust(const OptionValues& options, const Context& context,
                                      const FoundUrl& found) {
  transport::HttpTls tls;
  std::optional<fs::path> file;
  if (options.has("ca-file")) {
    file = options.text("ca-file");
  } else if (const auto given = variable("WEIR_CA_FILE")) {
    file = *given;
  } else if (context.ca_file) {
    file = *context.ca_file;
  } else if (!context.fingerprint.empty()) {
    tls.pinned_key = context.fingerprint;
  } else if (const fs::path made = certificate_file(default_state_folder());
             found.is_of_state_folder && found.url.starts_with("https://")) {
    std::error_code error;
    if (fs::exists(made, error)) file = made;
  }
  if (!file) return tls;
  auto authorities = read_authorities(*file);
  if (!authorities) return tl::unexpected(std::move(authorities.error()));
  tls.authorities = std::move(*authorities);
  return tls;
}

Result<std::string> find_token(const Context& context) {
  if (const auto given = variable("WEIR_TOKEN")) return *given;
  if (!context.token.empty()) return context.token;
  if (context.token_file) return read_line_of(*context.token_file);
  return of_state_folder(token_file(default_state_folder()));
}

}  // namespace

Result<std::string> read_token_file(const fs::path& file) {
  return read_line_of(file);
}

Result<std::string> read_authorities(const fs::path& file) {
  auto input = formats::InputFile::open(file, kMostAuthorityBytes);
  if (!input) return tl::unexpected(std::move(input.error()));
  auto text = input->read_all();
  if (text && text->find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
    return bad_input(
        Diagnostic{file.string(), 0, "the certificate authority", "none", "certificates as PEM"});
  }
  return text;
}

Result<ServerAddress> server_address(const OptionValues& options) {
  auto login = find_login(options);
  if (!login) return tl::unexpected(std::move(login.error()));
  auto context = *login ? Result<Context>{std::move(**login)} : find_context(options);
  if (!context) return tl::unexpected(std::move(context.error()));
  auto found = find_url(options, *context);
  if (!found) return tl::unexpected(std::move(found.error()));
  auto tls = find_trust(options, *context, *found);
  if (!tls) return tl::unexpected(std::move(tls.error()));
  std::string* const url = &found->url;
  while (url->ends_with('/')) url->pop_back();
  if (!url->starts_with("http://") && !url->starts_with("https://")) {
    return bad_input(
        Diagnostic{"", 0, "the server's address", *url, "a URL, such as http://127.0.0.1:7070"});
  }
  auto token = find_token(*context);
  if (!token) return tl::unexpected(std::move(token.error()));
  return ServerAddress{std::move(*url), std::move(*token), std::move(*tls)};
}

transport::HttpClient client_of(ServerAddress address) {
  transport::HttpClientOptions options;
  options.base_url = std::move(address.url);
  options.token = std::move(address.token);
  options.tls = std::move(address.tls);
  return transport::HttpClient{std::move(options)};
}

std::vector<OptionSpec> server_options() {
  return {
      {.name = "server",
       .type = OptionType::text,
       .unit = "URL",
       .help =
           "The server to talk to. Otherwise WEIR_SERVER, that of `weir login`, the context's, the "
           "last one that was started here, or http://127.0.0.1:7070.",
       .in_recipe = false},
      {.name = "context",
       .type = OptionType::text,
       .help = "Which context of ~/.config/weir/config.yaml to use. Otherwise WEIR_CONTEXT, or "
               "the file's `current`.",
       .in_recipe = false},
      {.name = "ca-file",
       .type = OptionType::file,
       .help = "Certificates (PEM) to trust when the server has TLS. Otherwise WEIR_CA_FILE, "
               "the context's, or those of the system.",
       .in_recipe = false}};
}

}  // namespace weir::cli
