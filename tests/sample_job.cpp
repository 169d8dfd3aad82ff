// SPDX-License-Identifier: Apache-2.0
//
// A job for tests of engines. Its arguments are steps, done one after another:
//
//   exit CODE      leave with CODE               signal NUMBER   kill itself
//   sleep MS       wait                          wait FILE       until there is such a file
//   print TEXT     a line of output              lines COUNT     numbered lines
//   step N         tell progress                 flood COUNT     steps 1..COUNT, as fast as it can
//   env NAME       print NAME=VALUE              touch FILE      make a file
//   deaf           ignore SIGTERM from now on    claim FILE      its GPUs, see below
//   fork FILE      a grandchild in its own session that writes its pid to FILE and never ends
//   memory MIB     take that much                rank N STEP ARG only if this is rank N
//   end FILE       wait for FILE and leave with the code that stands in it
//   tell JSON      send that line of progress    leaves          from now on SIGTERM: leave with 143
//   saves FILE     from now on SIGUSR1: append a line to FILE and tell that it has saved
//
// claim takes locks named after the GPUs and the job, which last as long as the process, and appends
// "run JOB.GENERATION" to FILE, or "clash JOB.GENERATION" where another process has one of them.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void pause_for(long milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds{milliseconds});
}

void tell(const std::string& line) {
  static const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const std::string name = variable("WEIR_PROGRESS");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  sendto(fd, line.data(), line.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&address), size);
}

void tell_step(long long step) {
  tell("{\"step\": " + std::to_string(step) + ", \"loss\": 0.5}\n");
}

void append_line(const std::string& file, const std::string& line) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (write(fd, line.data(), line.size()) < 0) std::perror(file.c_str());
  close(fd);
}

std::string save_file;
void save_now(int) {
  append_line(save_file, "saved\n");
  tell("{\"event\": \"saved\", \"seconds\": 0.25}\n");
}
void leave_now(int) {
  _exit(143);
}

// Claims FILE.gpu.N for each GPU; two processes that overlap on one are noted as a clash.
void claim(const std::string& file) {
  std::string gpus = variable("CUDA_VISIBLE_DEVICES") + ",";
  const std::string who = variable("WEIR_JOB") + "." + variable("WEIR_GENERATION");
  for (std::size_t comma = gpus.find(','); comma != std::string::npos; comma = gpus.find(',')) {
    const std::string gpu = gpus.substr(0, comma);
    gpus.erase(0, comma + 1);
    const std::string lock_file = file + ".gpu." + gpu;
    const int fd = open(lock_file.c_str(), O_RDWR | O_CREAT, 0600);  // held until we are gone
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) append_line(file, "clash " + who + "\n");
  }
  const std::string job_file = file + ".job." + variable("WEIR_JOB") + "." + variable("RANK");
  const int fd = open(job_file.c_str(), O_RDWR | O_CREAT, 0600);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) append_line(file, "clash " + who + "\n");
  append_line(file, "run " + who + "\n");
}

void leave_grandchild(const std::string& file) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      // Beside it, then renamed: whoever waits for the file finds it whole.
      append_line(file + ".new", std::to_string(getpid()) + "\n");
      std::rename((file + ".new").c_str(), file.c_str());
      while (true) pause();
    }
    _exit(0);
  }
}

void do_step(const std::string& what, const std::string& argument) {
  if (what == "exit") std::exit(std::atoi(argument.c_str()));
  if (what == "signal") {
    std::signal(std::atoi(argument.c_str()), SIG_DFL);  // sanitizers have handlers of their own
    std::raise(std::atoi(argument.c_str()));
  }
  if (what == "sleep") pause_for(std::atol(argument.c_str()));
  if (what == "wait")
    while (access(argument.c_str(), F_OK) != 0) pause_for(2);
  if (what == "print") std::puts(argument.c_str());
  if (what == "lines")
    for (long i = 0; i < std::atol(argument.c_str()); ++i) std::printf("line %ld\n", i);
  if (what == "step") tell_step(std::atoll(argument.c_str()));
  if (what == "flood")
    for (long long i = 1; i <= std::atoll(argument.c_str()); ++i) tell_step(i);
  if (what == "env") std::printf("%s=%s\n", argument.c_str(), variable(argument.c_str()).c_str());
  if (what == "touch") append_line(argument, "");
  if (what == "claim") claim(argument);
  if (what == "end") {
    do_step("wait", argument);
    std::ifstream file{argument};
    int code = 98;
    file >> code;
    std::exit(code);
  }
  if (what == "fork") leave_grandchild(argument);
  if (what == "tell") tell(argument + "\n");
  if (what == "saves") {
    save_file = argument;
    std::signal(SIGUSR1, save_now);
  }
  if (what == "memory") {
    std::vector<char> taken(static_cast<std::size_t>(std::atol(argument.c_str())) << 20, 'x');
    std::printf("took %zu bytes, %c\n", taken.size(), taken[taken.size() / 2]);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int i = 1;
  while (i < argc) {
    if (std::strcmp(argv[i], "deaf") == 0) {
      std::signal(SIGTERM, SIG_IGN);
      ++i;
    } else if (std::strcmp(argv[i], "leaves") == 0) {
      std::signal(SIGTERM, leave_now);
      ++i;
    } else if (std::strcmp(argv[i], "rank") == 0 && i + 3 < argc) {
      if (variable("RANK") == argv[i + 1]) do_step(argv[i + 2], argv[i + 3]);
      i += 4;
    } else if (i + 1 < argc) {
      do_step(argv[i], argv[i + 1]);
      i += 2;
    } else {
      return 99;
    }
  }
  return 0;
}
