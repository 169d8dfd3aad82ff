// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_common.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <ostream>

#include "cli/live_story.h"
#include "cli/serve_doors.h"
#include "cli/state_folder.h"
#include "cli/version.h"
#include "dashboard/dashboard.h"
#include "dashboard/embedded_page.h"

namespace weir::cli {

namespace fs = std::filesystem;

Result<std::unique_ptr<ServedState>> open_state(const OptionValues& options) {
  auto state = std::make_unique<ServedState>();
  state->folder =
      fs::absolute(options.has("state") ? fs::path{options.text("state")} : default_state_folder());
  const auto access =
      options.is_given("tenant-user") ? FolderAccess::others_pass : FolderAccess::own;
  if (auto made = make_state_folder(state->folder, access); !made)
    return tl::unexpected<Error>(std::move(made.error()));
  auto token = read_or_make_token(token_file(state->folder));
  if (!token) return tl::unexpected<Error>(std::move(token.error()));
  state->token = std::move(*token);
  state->options.file = store_file(state->folder);
  state->options.build = kVersion;
  state->options.accepts_damage = options.flag("accept-damage");
  if (const char* vfs = std::getenv("WEIR_TEST_VFS"); vfs != nullptr && vfs[0] != '\0') {
    state->faulty.emplace(vfs);
    state->options.vfs = vfs;
  }
  auto store = control::Store::open(state->options);
  if (!store) return tl::unexpected<Error>(std::move(store.error()));
  state->store = std::move(*store);
  return state;
}

Result<Served> listen(const OptionValues& options, ServedState& state, control::LiveLoop& loop,
                      Engine* engine, control::Metrics& metrics, std::string log_header,
                      std::function<void()> refresh_metrics) {
  control::ApiOptions api_options;
  api_options.token = state.token;
  api_options.tokens_file = tokens_file(state.folder);
  api_options.rate_per_tenant = rate_per_tenant(options);
  auto audit = control::AuditLog::open({.file = audit_file(state.folder)});
  if (!audit) return tl::unexpected<Error>(std::move(audit.error()));
  api_options.audit = std::move(*audit);
  api_options.version = kVersion;
  api_options.log_header = std::move(log_header);
  api_options.store = state.options;
  api_options.story = live_story_json;
  api_options.refresh_metrics = std::move(refresh_metrics);
  auto api = control::Api::make(std::move(api_options), loop, *state.store, engine, metrics);
  if (!api) return tl::unexpected<Error>(std::move(api.error()));
  auto doors = http_doors(options, state.folder);
  if (!doors) return tl::unexpected<Error>(std::move(doors.error()));
  transport::HttpServerOptions http = std::move(*doors);
  http.default_headers = control::api_headers();
  std::string fingerprint = http.tls ? http.tls->fingerprint() : std::string{};
  control::Api* used = api->get();
  http.gate = [used](transport::HttpRequest& request) { return used->authorise(request); };
  http.on_access = [used](const transport::AccessEntry& entry) { used->note_access(entry); };
  transport::Router router = used->router();
  dashboard::add_dashboard(router);
  auto server = transport::HttpServer::start(std::move(http), std::move(router));
  if (!server) return tl::unexpected<Error>(std::move(server.error()));
  std::ofstream{url_file(state.folder)} << (*server)->url() << "\n";
  return Served{std::move(*api), std::move(*server), std::move(fingerprint)};
}

std::string dashboard_line(const Served& served) {
  return fmt::format("{}dashboard: {}/ ({})",
                     served.fingerprint.empty()
                         ? ""
                         : fmt::format("fingerprint of its key: {}\n  ", served.fingerprint),
                     served.server->url(),
                     dashboard::embedded_page().empty()
                         ? "this weir was built without it"
                         : "weir dashboard prints the link with the token");
}

void describe(const control::Recovery& recovery, Console& console) {
  if (recovery.end.entry == 0) return;
  console.err << fmt::format(
      "weir: recovered {} jobs from {} records ({} since the last snapshot)\n", recovery.jobs,
      recovery.end.record, recovery.records_folded);
  for (const control::Damage& damage : recovery.damage) {
    const std::string where =
        damage.first_entry == 0 ? "the store"
        : damage.first_entry == damage.last_entry
            ? fmt::format("entry {} of the log", damage.first_entry)
            : fmt::format("entries {} to {} of the log", damage.first_entry, damage.last_entry);
    console.err << fmt::format("weir: warning: {}: {}\n", where, damage.what);
  }
}

}  // namespace weir::cli
