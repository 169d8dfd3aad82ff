// SPDX-License-Identifier: Apache-2.0
#include "worker/stop_request.h"

#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <utility>

namespace weir::worker {
namespace {

// What a rank wants, the larger the more; the largest of all ranks is done.
constexpr int kGoOn = 0;
constexpr int kSave = 1;
constexpr int kSaveAndLeave = 2;

// A handler knows nothing but its signal, so what it notes is the process's. Counted, never reset: a
// signal that comes while another is looked at is not lost.
std::atomic<int> stops{0};
std::atomic<int> announcements{0};
std::atomic<bool> is_installed{false};
std::atomic<pid_t> process{0};
static_assert(std::atomic<int>::is_always_lock_free);  // so a handler may use them
struct sigaction earlier_stop;
struct sigaction earlier_announcement;

const struct sigaction& earlier(int signal) {
  return signal == SIGTERM ? earlier_stop : earlier_announcement;
}

// A forked child, such as a loader of data, has no training loop: it must end when it is told to.
void as_if_not_installed(int signal) {
  sigaction(signal, &earlier(signal), nullptr);
  raise(signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int kept_errno = errno;
  if (getpid() != process.load()) {
    as_if_not_installed(signal);
  } else {
    ++(signal == SIGTERM ? stops : announcements);
    const struct sigaction& chained = earlier(signal);
    if ((chained.sa_flags & SA_SIGINFO) != 0) {
      chained.sa_sigaction(signal, info, context);
    } else if (chained.sa_handler != SIG_DFL && chained.sa_handler != SIG_IGN) {
      chained.sa_handler(signal);
    }
  }
  errno = kept_errno;
}

void install() {
  process.store(getpid());
  // Known before the handlers are there to call them.
  sigaction(SIGTERM, nullptr, &earlier_stop);
  sigaction(SIGUSR1, nullptr, &earlier_announcement);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;  // reads and writes of the program go on
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace

StopRequest::StopRequest(Options options)
    : options_{std::move(options)},
      calls_to_agreement_{options_.agree_every},
      stops_seen_{stops.load()},
      announcements_seen_{announcements.load()} {
  assert(options_.agree_every >= 1 && "calls from one agreement to the next");
  [[maybe_unused]] const bool was_installed = is_installed.exchange(true);
  assert(!was_installed && "one StopRequest at a time");
  install();
}

StopRequest::~StopRequest() {
  sigaction(SIGTERM, &earlier_stop, nullptr);
  sigaction(SIGUSR1, &earlier_announcement, nullptr);
  is_installed.store(false);
}

bool StopRequest::should_checkpoint(Clock::time_point now) {
  int wish = kGoOn;
  if (!options_.agree) {
    wish = own_wish(now);
  } else if (--calls_to_agreement_ == 0) {
    calls_to_agreement_ = options_.agree_every;
    wish = options_.agree(own_wish(now));
  }
  if (wish == kGoOn) return false;
  saved_at_ = now;
  is_leaving_ = is_leaving_ || wish == kSaveAndLeave;
  return true;
}

int StopRequest::own_wish(Clock::time_point now) {
  const int stops_now = stops.load();
  const int announcements_now = announcements.load();
  const bool is_stop = stops_now != stops_seen_;
  const bool is_announcement = announcements_now != announcements_seen_;
  stops_seen_ = stops_now;
  announcements_seen_ = announcements_now;
  const bool is_time = options_.save_every && now - saved_at_ >= *options_.save_every;
  if (is_stop) return kSaveAndLeave;
  return is_announcement || is_time ? kSave : kGoOn;
}

}  // namespace weir::worker
