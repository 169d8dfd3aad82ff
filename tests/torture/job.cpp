// SPDX-License-Identifier: Apache-2.0
//
// A job of the torture test. Leaves marks that it ran, so that the test can tell afterwards what ran
// when, whatever the server believes:
//
//   weir-torture-job FOLDER plain MS CODE       works that long and leaves with CODE
//   weir-torture-job FOLDER train STEPS MS      that many steps of MS / WEIR_GPUS^0.9 each
//
// FOLDER/marks gets lines "begin JOB GENERATION RANK PID BOOTTIME_NS DEVICES" and, at an orderly end,
// "end JOB GENERATION RANK PID BOOTTIME_NS CODE". FOLDER/JOB.RANK.lock is held as long as the process
// lives; "clash JOB GENERATION RANK PID BOOTTIME_NS -" says that another process has it.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

constexpr int kAskedToStop = 143;
volatile std::sig_atomic_t is_asked_to_stop = 0;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::int64_t since_boot_ns() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// One write, so that lines of different processes do not mix.
void mark(const std::string& folder, const std::string& what, const std::string& last) {
  const std::string file = folder + "/marks";
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = what + " " + variable("WEIR_JOB") + " " + variable("WEIR_GENERATION") +
                           " " + variable("RANK") + " " + std::to_string(getpid()) + " " +
                           std::to_string(since_boot_ns()) + " " + last + "\n";
  if (write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    std::perror(file.c_str());
  close(fd);
}

void work_until(std::int64_t end_ns) {
  timespec end{};
  end.tv_sec = end_ns / 1'000'000'000;
  end.tv_nsec = end_ns % 1'000'000'000;
  while (is_asked_to_stop == 0 && since_boot_ns() < end_ns)
    clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &end, nullptr);
}

void tell_step(std::int64_t step) {
  static const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const std::string name = variable("WEIR_PROGRESS");
  sockaddr_un address{};
  if (name.size() < 2 || name.size() > sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
  const std::string line = "{\"step\": " + std::to_string(step) + "}\n";
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  sendto(fd, line.data(), line.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&address), size);
}

void save(const std::string& file, std::int64_t step) {
  const std::string draft = file + ".new";
  { std::ofstream{draft} << step << "\n"; }
  if (std::rename(draft.c_str(), file.c_str()) != 0) std::perror(file.c_str());
}

int train(std::int64_t steps, double step_ms) {
  const std::string file = variable("WEIR_CHECKPOINT_DIR") + "/step";
  std::int64_t step = 0;
  std::ifstream{file} >> step;
  const double gpus = std::max(1, std::atoi(variable("WEIR_GPUS").c_str()));
  const auto step_ns = static_cast<std::int64_t>(step_ms * 1e6 / std::pow(gpus, 0.9));
  std::int64_t next = since_boot_ns();
  while (step < steps && is_asked_to_stop == 0) {
    next += step_ns;
    work_until(next);
    if (is_asked_to_stop != 0) break;
    ++step;
    tell_step(step);
    if (step % 10 == 0) save(file, step);
  }
  save(file, step);
  return step < steps ? kAskedToStop : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 99;
  std::signal(SIGTERM, [](int) { is_asked_to_stop = 1; });
  const std::string folder = argv[1];
  const std::string lock = folder + "/" + variable("WEIR_JOB") + "." + variable("RANK") + ".lock";
  const int fd = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) mark(folder, "clash", "-");
  mark(folder, "begin", variable("CUDA_VISIBLE_DEVICES"));
  int code = 0;
  if (std::string{"train"} == argv[2]) {
    code = train(std::atoll(argv[3]), std::atof(argv[4]));
  } else {
    work_until(since_boot_ns() + std::atoll(argv[3]) * 1'000'000);
    code = is_asked_to_stop != 0 ? kAskedToStop : std::atoi(argv[4]);
  }
  mark(folder, "end", std::to_string(code));
  return code;
}
