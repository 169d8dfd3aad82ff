// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a watch: the same lines however they arrive, and a reflector that takes all of it.
#include <vector>

#include "engine/kubernetes/reflector.h"
#include "engine/kubernetes/watch_lines.h"
#include "round_trip_check.h"

namespace {

using namespace weir;
using namespace weir::engine::kubernetes;

constexpr std::size_t kMost = 4096;

std::vector<std::string> lines_in(std::string_view bytes, std::size_t piece) {
  WatchLines lines{kMost};
  std::vector<std::string> all;
  while (!bytes.empty()) {
    const std::string_view some = bytes.substr(0, piece);
    bytes.remove_prefix(some.size());
    if (!lines.put(some, [&](std::string_view line) {
          all.emplace_back(line);
          return true;
        })) {
      break;
    }
  }
  return all;
}

class Log final : public ReflectorSink {
 public:
  void replace(std::vector<AnyObject>, Time) override {}
  void put(WatchEventType, std::string key, AnyObject object, Time) override {
    log.push_back("put " + key + " " + meta_of(object)->version);
  }
  void erase(const std::string& key, Time) override { log.push_back("erase " + key); }
  void heard(WatchEventType, Time) override { log.emplace_back("heard"); }
  void report(const SourceStatus&) override {}
  void say(std::string) override {}
  std::vector<std::string> log;
};

// What comes of it, and where the watch would go on.
std::vector<std::string> outcome(std::string_view bytes, std::size_t piece) {
  Log log;
  Reflector reflector{ResourceKind::pods, {}, SeededRng{1}, log};
  const Time now{};
  reflector.next(now);
  reflector.on_reply(
      transport::HttpReply{200, {}, R"({"metadata":{"resourceVersion":"1"},"items":[]})"}, now);
  reflector.next(now);
  while (!bytes.empty()) {
    const std::string_view some = bytes.substr(0, piece);
    bytes.remove_prefix(some.size());
    if (!reflector.on_bytes(some, now)) break;
  }
  reflector.on_watch_end(transport::HttpReply{200, {}, ""}, now + std::chrono::minutes{5});
  ReflectorStep step = reflector.next(now);
  if (step.what == ReflectorStep::What::wait) step = reflector.next(now);
  fuzz::check(!step.path.empty(), "it goes on");
  log.log.push_back(step.path);
  return log.log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const auto whole = lines_in(bytes, bytes.size());
  fuzz::check(lines_in(bytes, 1) == whole, "byte by byte gives the same lines");
  fuzz::check(lines_in(bytes, 7) == whole, "pieces give the same lines");
  const auto events = outcome(bytes, bytes.size());
  fuzz::check(outcome(bytes, 1) == events, "byte by byte gives the same events");
  fuzz::check(outcome(bytes, 5) == events, "pieces give the same events");
  return 0;
}
