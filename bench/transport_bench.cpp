// SPDX-License-Identifier: Apache-2.0
//
// Small POSTs per second through the HTTP server, 64 keep-alive connections: answered at once, and answered in
// batches from another thread, as the control plane does after a commit.
#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "http_load.h"
#include "transport/http_server.h"

namespace {

using namespace weir;
using transport::HttpRequest;
using transport::HttpResponse;
using transport::Responder;

constexpr double kLeastPerSecond = 10'000;

// Answers from its own thread, all that wait at a time.
class Batcher {
 public:
  Batcher() : thread_{[this] { run(); }} {}
  ~Batcher() {
    {
      const std::lock_guard lock{mutex_};
      is_over_ = true;
    }
    arrived_.notify_one();
    thread_.join();
  }

  void put(Responder responder) {
    {
      const std::lock_guard lock{mutex_};
      waiting_.push_back(std::move(responder));
      if (waiting_.size() > 1) return;
    }
    arrived_.notify_one();
  }

 private:
  void run() {
    std::vector<Responder> batch;
    while (true) {
      {
        std::unique_lock lock{mutex_};
        arrived_.wait(lock, [&] { return is_over_ || !waiting_.empty(); });
        if (is_over_) return;
        batch.swap(waiting_);
      }
      for (Responder& responder : batch)
        responder.send(HttpResponse{201, "application/json", R"({"id":1})", {}});
      batch.clear();
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Responder> waiting_;
  bool is_over_ = false;
  std::thread thread_;
};

bool measure(std::string_view name, std::uint16_t port, std::string_view path,
             std::size_t requests) {
  const std::string body = R"({"name":"train","command":["python","train.py"],"gpus":8})";
  bench::HttpLoad load;
  load.port = port;
  load.requests = requests;
  load.fill = [&](std::size_t n, std::string& out) {
    bench::append_post(out, path, fmt::format("Idempotency-Key: key-{}\r\n", n), body);
  };
  const auto outcome = bench::run_http_load(load);
  if (!outcome) {
    fmt::print(stderr, "{}", to_string(outcome.error().details));
    return false;
  }
  fmt::print("{:<32} {:>9.0f} /s   p50 {:.3f} ms   p99 {:.3f} ms   ({} of {} succeeded)\n", name,
             outcome->per_second(), outcome->latency_ms(0.5), outcome->latency_ms(0.99),
             outcome->succeeded, requests);
  return outcome->succeeded == requests && outcome->per_second() > kLeastPerSecond;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t requests = argc > 1 ? std::stoul(argv[1]) : 200'000;
  Batcher batcher;
  transport::Router router;
  router.add("POST", "/at-once", [](const HttpRequest&, Responder responder) {
    responder.send(HttpResponse{201, "application/json", R"({"id":1})", {}});
  });
  router.add("POST", "/later",
             [&](const HttpRequest&, Responder responder) { batcher.put(std::move(responder)); });
  auto server = transport::HttpServer::start({}, std::move(router));
  if (!server) {
    fmt::print(stderr, "{}", to_string(server.error().details));
    return 1;
  }
  fmt::print("small POSTs, 64 keep-alive connections, one server thread, one client thread\n");
  bool is_fast = measure("answered at once", (*server)->port(), "/at-once", requests);
  is_fast =
      measure("answered from another thread", (*server)->port(), "/later", requests) && is_fast;
  return is_fast ? 0 : 1;
}
