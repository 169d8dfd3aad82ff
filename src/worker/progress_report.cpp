// SPDX-License-Identifier: Apache-2.0
#include "worker/progress_report.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace weir::worker {
namespace {

using namespace std::chrono_literals;
constexpr auto kLastTry = 500ms;
constexpr auto kTryAgain = 10ms;

int send_to(int socket, std::string_view address, std::string_view message) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  if (address.size() >= sizeof target.sun_path) return ENAMETOOLONG;
  std::memcpy(target.sun_path, address.data(), address.size());
  const bool is_abstract = address.front() == '@';
  if (is_abstract) target.sun_path[0] = '\0';
  const std::size_t size = offsetof(sockaddr_un, sun_path) + address.size() + (is_abstract ? 0 : 1);
  const ssize_t sent =
      sendto(socket, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&target), static_cast<socklen_t>(size));
  return sent < 0 ? errno : 0;
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

}  // namespace

std::string encode(const Progress& progress) {
  std::string line = fmt::format("{{\"step\": {}", progress.step);
  if (progress.samples) line += fmt::format(", \"samples\": {}", *progress.samples);
  if (progress.loss && std::isfinite(*progress.loss))
    line += fmt::format(", \"loss\": {}", *progress.loss);
  if (progress.batch) {
    const std::vector<std::int64_t> passes = progress.batch->micro_batches();
    line += fmt::format(", \"batch\": [{}, {}, {}]", progress.batch->global_batch(),
                        passes.empty() ? 0 : passes.front(), passes.size());
  }
  return line + "}\n";
}

std::string encode(Milestone milestone, std::optional<std::chrono::nanoseconds> took) {
  constexpr std::array<std::string_view, 3> kNames{"started", "loaded", "saved"};
  std::string line =
      fmt::format("{{\"event\": \"{}\"", kNames[static_cast<std::size_t>(milestone)]);
  if (took)
    line += fmt::format(", \"seconds\": {:.6f}", std::chrono::duration<double>(*took).count());
  return line + "}\n";
}

ProgressReporter::ProgressReporter(std::string address, std::int64_t rank, int most_per_second)
    : address_{rank == 0 ? std::move(address) : ""}, pause_{Clock::duration{1s} / most_per_second} {
  assert(most_per_second >= 1 && "reports per second");
}

ProgressReporter ProgressReporter::from_environment() {
  const std::string rank = variable("RANK");
  return ProgressReporter{variable("WEIR_PROGRESS"), rank.empty() || rank == "0" ? 0 : 1};
}

ProgressReporter::~ProgressReporter() {
  flush();
  if (socket_ >= 0) close(socket_);
}

void ProgressReporter::report(const Progress& progress, Clock::time_point now) {
  if (address_.empty()) return;
  kept_ = progress;
  if (now < next_at_) return;
  next_at_ = now + pause_;
  send();
}

void ProgressReporter::flush() {
  const auto give_up_at = Clock::now() + kLastTry;
  while (kept_ && !send() && Clock::now() < give_up_at) std::this_thread::sleep_for(kTryAgain);
}

bool ProgressReporter::send() {
  if (!kept_) return true;
  const int error = send_message(encode(*kept_));
  if (error == EAGAIN || error == ENOBUFS) return false;
  kept_.reset();
  return true;
}

void ProgressReporter::tell(Milestone milestone, std::optional<std::chrono::nanoseconds> took) {
  if (!address_.empty()) send_message(encode(milestone, took));
}

int ProgressReporter::send_message(const std::string& message) {
  if (socket_ < 0) socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return socket_ < 0 ? errno : send_to(socket_, address_, message);
}

}  // namespace weir::worker
