// SPDX-License-Identifier: Apache-2.0
#include "engine/local/local_engine.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "engine/local/abstract_socket.h"
#include "engine/local/cgroup.h"
#include "engine/local/run_folders.h"
#include "engine/local/run_keeper.h"
#include "engine/local/supervisor_launcher.h"

namespace weir::engine {
namespace {

constexpr std::chrono::milliseconds kLockPatience{1000};

struct Forget {
  JobId job;
};
struct RemoveLogs {
  std::vector<JobId> jobs;
};
struct Leave {};
using Request = std::variant<RunOrder, Forget, RemoveLogs, Leave>;

tl::unexpected<Error> unavailable(std::string what, int error) {
  Error result{ErrorCode::unavailable, {}};
  result.details.add({"", 0, std::move(what), std::strerror(error), "a system that has it"});
  return tl::unexpected<Error>(std::move(result));
}

std::size_t two_for_each_core() {
  return 2 * std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

class ProcessEngine final : public LocalEngine {
 public:
  ProcessEngine(LocalEngineOptions options, std::unique_ptr<RunFolders> folders,
                CgroupSupport cgroup)
      : folders_{std::move(folders)},
        launcher_{options.supervisor.string()},
        cgroup_{std::move(cgroup)},
        settings_{std::move(options.gpu_uuids),
                  options.log_limit_bytes,
                  options.progress_interval,
                  options.stuck_after,
                  cgroup_.folder,
                  options.most_spares,
                  options.most_starting > 0 ? options.most_starting : two_for_each_core()} {}
  ~ProcessEngine() override { stop(); }

  // 0 or errno.
  int open() {
    wake_ = OwnedFd{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    events_ = OwnedFd{epoll_create1(EPOLL_CLOEXEC)};
    if (!wake_ || !events_) return errno;
    if (const int error = news_.open("weir.engine." + folders_->store()); error != 0) return error;
    if (!watch(wake_.get()) || !watch(news_.fd())) return errno;
    return 0;
  }

  void start(std::vector<RunOrder> standing, EngineListener& listener) override {
    thread_ = std::thread{[this, standing = std::move(standing), &listener]() mutable {
      run(std::move(standing), listener);
    }};
  }
  void order(const RunOrder& order) override { post(order); }
  void forget(JobId job) override { post(Forget{job}); }
  void remove_logs(const std::vector<JobId>& jobs) override { post(RemoveLogs{jobs}); }
  Result<LogChunk> read_log(const LogPlace& place, std::size_t most_bytes) override {
    return folders_->read_log(place, most_bytes);
  }
  void stop() override {
    if (!thread_.joinable()) return;
    post(Leave{});
    thread_.join();
  }
  std::string describe() const override {
    if (!cgroup_.folder.empty()) return "cgroup v2 at " + cgroup_.folder;
    return "process groups and limits of address space (" + cgroup_.reason + ")";
  }

 private:
  bool watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void post(Request request) {
    const std::lock_guard guard{mutex_};
    requests_.push_back(std::move(request));
    if (requests_.size() == 1) eventfd_write(wake_.get(), 1);
  }

  std::vector<Request> take_requests() {
    const std::lock_guard guard{mutex_};
    eventfd_t ignored = 0;
    eventfd_read(wake_.get(), &ignored);
    return std::exchange(requests_, {});
  }

  void run(std::vector<RunOrder> standing, EngineListener& listener) {
    RunKeeper keeper{*folders_, launcher_, news_, settings_, listener};
    keeper.adopt(std::move(standing));
    while (true) {
      for (const int fd : keeper.take_new_watches()) watch(fd);
      wait(keeper);
      for (const Request& request : take_requests()) {
        if (std::holds_alternative<Leave>(request)) return;
        obey(keeper, request);
      }
      keeper.on_deadlines(RunKeeper::Clock::now());
    }
  }

  void wait(RunKeeper& keeper) {
    int timeout = -1;
    if (const auto next = keeper.next_deadline(); next != RunKeeper::Clock::time_point::max()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(next - RunKeeper::Clock::now());
      timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
    }
    std::array<epoll_event, 64> ready{};
    const int count = epoll_wait(events_.get(), ready.data(), ready.size(), timeout);
    keeper.read_news();  // what a supervisor said before it went
    for (int i = 0; i < count; ++i) {
      const int fd = ready[static_cast<std::size_t>(i)].data.fd;
      if (fd != wake_.get() && fd != news_.fd()) keeper.on_readable(fd);
    }
  }

  static void obey(RunKeeper& keeper, const Request& request) {
    if (const auto* order = std::get_if<RunOrder>(&request)) keeper.order(*order);
    if (const auto* forget = std::get_if<Forget>(&request)) keeper.forget(forget->job);
    if (const auto* remove = std::get_if<RemoveLogs>(&request)) keeper.remove_logs(remove->jobs);
  }

  std::unique_ptr<RunFolders> folders_;
  SupervisorLauncher launcher_;
  CgroupSupport cgroup_;
  RunSettings settings_;
  AbstractSocket news_;
  OwnedFd wake_;
  OwnedFd events_;
  std::mutex mutex_;
  std::vector<Request> requests_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<LocalEngine>> make_local_engine(LocalEngineOptions options) {
  if (options.supervisor.empty()) {
    std::error_code ignored;
    options.supervisor =
        std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "weir-supervisor";
  }
  if (access(options.supervisor.c_str(), X_OK) != 0)
    return unavailable("program " + options.supervisor.string(), errno);
  // A supervisor that was being started when the engine before this one died has that one's lock and
  // socket for an instant, until its own program begins.
  const auto give_up_at = std::chrono::steady_clock::now() + kLockPatience;
  const auto try_again = [give_up_at] {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    return std::chrono::steady_clock::now() < give_up_at;
  };
  auto folders = RunFolders::open(options.folder);
  while (!folders && try_again()) folders = RunFolders::open(options.folder);
  if (!folders) return tl::unexpected<Error>(folders.error());
  auto engine =
      std::make_unique<ProcessEngine>(std::move(options), std::move(*folders), find_cgroup());
  int error = engine->open();
  while (error == EADDRINUSE && try_again()) error = engine->open();
  if (error != 0) return unavailable("the local engine", error);
  return engine;
}

}  // namespace weir::engine
