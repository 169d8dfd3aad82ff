// SPDX-License-Identifier: Apache-2.0
//
// What every `weir serve` does, whether it schedules or observes: its state folder, its store, its API and page.
#pragma once

#include <signal.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/console.h"
#include "control/api.h"
#include "control/faulty_vfs.h"
#include "control/store.h"
#include "domain/options.h"
#include "transport/http_server.h"

namespace weir::cli {

// SIGINT and SIGTERM wait until somebody asks for them; threads made from now on do the same. So does
// SIGHUP where it asks to read a file again.
class StopSignals {
 public:
  explicit StopSignals(bool takes_reload = false) {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    if (takes_reload) sigaddset(&set_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  int wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
    return signal;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

// Of a store whose server observes: its engine. Others have none.
inline constexpr std::string_view kEngineSetting = "engine";

// The folder, its token and its store.
struct ServedState {
  std::filesystem::path folder;
  std::string token;
  std::optional<control::FaultyVfs>
      faulty;  // for tests: loses what was not synced when the process dies
  control::StoreOptions options;
  std::unique_ptr<control::Store> store;
};
Result<std::unique_ptr<ServedState>> open_state(const OptionValues& options);

struct Served {
  std::unique_ptr<control::Api> api;
  std::unique_ptr<transport::HttpServer> server;
  std::string fingerprint;  // of its key, with TLS
};
// Listens, with the API and the page. `engine` may be null, `refresh_metrics` empty.
Result<Served> listen(const OptionValues& options, ServedState& state, control::LiveLoop& loop,
                      Engine* engine, control::Metrics& metrics, std::string log_header,
                      std::function<void()> refresh_metrics = {});

// "a page at URL/ (...)", for people; with TLS the key's fingerprint before it.
std::string dashboard_line(const Served& served);

void describe(const control::Recovery& recovery, Console& console);

}  // namespace weir::cli
