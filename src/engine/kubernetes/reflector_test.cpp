// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "engine/kubernetes/fake_store_testing.h"

namespace weir::engine::kubernetes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using transport::HttpReply;

Result<HttpReply> no_connection() {
  Diagnostics details;
  details.add(Diagnostic{"cannot reach https://10.0.0.1:6443", 0, "the connection", "refused",
                         "a server there"});
  return tl::unexpected(Error{ErrorCode::unavailable, std::move(details)});
}

Result<HttpReply> ended() {
  return HttpReply{200, {}, ""};
}

// Keeps the copy, and lets a test lead the reflector through its steps.
class Copy final : public ReflectorSink {
 public:
  explicit Copy(ReflectorSettings settings = {}, ResourceKind kind = ResourceKind::pods,
                std::uint64_t seed = 1)
      : reflector{kind, settings, SeededRng{seed}, *this} {}

  void replace(std::vector<AnyObject> all, Time) override {
    FakeVersions fresh;
    for (const AnyObject& object : all) {
      const observe::ObjectMeta& meta = *meta_of(object);
      fresh[meta.full_name()] = {meta.uid, meta.version};
    }
    ++replaced;
    versions = std::move(fresh);
  }
  void put(WatchEventType type, std::string key, AnyObject object, Time) override {
    log.push_back(std::string{to_string(type)} + " " + key + " " + meta_of(object)->version);
    versions[key] = {meta_of(object)->uid, meta_of(object)->version};
  }
  void erase(const std::string& key, Time) override {
    log.push_back("deleted " + key);
    versions.erase(key);
  }
  void heard(WatchEventType type, Time) override { log.push_back(std::string{to_string(type)}); }
  void report(const SourceStatus&) override {}
  void say(std::string line) override { said.push_back(std::move(line)); }

  // The next step that is not a wait; `waited` grows.
  ReflectorStep next() {
    while (true) {
      ReflectorStep step = reflector.next(now);
      if (step.what != ReflectorStep::What::wait) return step;
      now += step.wait;
      waited += step.wait;
      waits.push_back(step.wait);
    }
  }
  // Answers lists from the store until a watch is wanted.
  std::string list_from(const FakeStore& store) {
    for (ReflectorStep step = next();; step = next()) {
      if (step.what == ReflectorStep::What::watch) return step.path;
      reflector.on_reply(store.list(step.path), now);
    }
  }
  const SourceStatus& status() const { return reflector.status(); }

  Reflector reflector;
  Time now{std::chrono::hours{1}};
  Duration waited{};
  std::vector<Duration> waits;
  FakeVersions versions;
  int replaced = 0;
  std::vector<std::string> log;
  std::vector<std::string> said;
};

TEST(Reflector, ListsInPagesThenWatchesFromTheListsVersion) {
  FakeStore store{100};
  for (const char* key : {"a/1", "a/2", "b/1", "b/2", "c/1"}) store.put(key, 1);
  Copy copy{{.page_size = 2}};
  EXPECT_EQ(copy.next().path, "/api/v1/pods?limit=2");
  copy.reflector.on_reply(store.list("/api/v1/pods?limit=2"), copy.now);
  EXPECT_EQ(copy.replaced, 0) << "not before all pages are there";
  const ReflectorStep second = copy.next();
  EXPECT_THAT(second.path, HasSubstr("/api/v1/pods?limit=2&continue=6%7Ca%2F2"));
  copy.reflector.on_reply(store.list(second.path), copy.now);
  const std::string watch = copy.list_from(store);
  EXPECT_THAT(
      watch,
      HasSubstr("/api/v1/pods?watch=1&resourceVersion=6&allowWatchBookmarks=true&timeoutSeconds="));
  EXPECT_EQ(copy.versions, store.versions());
  EXPECT_EQ(copy.replaced, 1);
  EXPECT_EQ(copy.status().state, SourceState::watching);
  EXPECT_TRUE(copy.status().is_known);
}

TEST(Reflector, AWatchLastsFiveToTenMinutes) {
  FakeStore store{100};
  Copy copy;
  std::set<std::string> seen;
  std::string path = copy.list_from(store);
  for (int i = 0; i < 200; ++i) {
    const int seconds = std::stoi(path.substr(path.rfind('=') + 1));
    EXPECT_GE(seconds, 300);
    EXPECT_LE(seconds, 600);
    seen.insert(path);
    copy.now += std::chrono::seconds{seconds};
    copy.reflector.on_watch_end(ended(), copy.now);
    path = copy.next().path;
  }
  EXPECT_GT(seen.size(), 50U);
  EXPECT_EQ(copy.waited, Duration{}) << "an end in time is normal";
  EXPECT_EQ(copy.status().lists, 1U) << "and no reason to list again";
}

TEST(Reflector, FollowsEventsAndBookmarks) {
  FakeStore store{100};
  store.put("a/1", 1);
  Copy copy;
  copy.list_from(store);
  const std::uint64_t from = store.version();
  store.put("a/2", 1);
  store.put("a/1", 2);
  store.erase("a/2");
  EXPECT_TRUE(copy.reflector.on_bytes(*store.lines_after(from), copy.now));
  store.pass_version();
  EXPECT_TRUE(copy.reflector.on_bytes(store.bookmark(), copy.now));
  EXPECT_THAT(copy.log, ElementsAre("added a/2 3", "modified a/1 4", "deleted a/2", "bookmark"));
  EXPECT_EQ(copy.versions, store.versions());
  copy.reflector.on_watch_end(no_connection(), copy.now);
  EXPECT_THAT(copy.next().path, HasSubstr("resourceVersion=6&")) << "of the bookmark";
}

TEST(Reflector, ACompleteListTellsWhatWasDeleted) {
  FakeStore store{100};
  store.put("a/1", 1);
  store.put("a/2", 1);
  Copy copy;
  copy.list_from(store);
  store.erase("a/1");
  EXPECT_FALSE(copy.reflector.on_bytes(FakeStore::gone_line(), copy.now));
  copy.reflector.on_watch_end(ended(), copy.now);
  EXPECT_EQ(copy.status().state, SourceState::listing);
  copy.list_from(store);
  EXPECT_EQ(copy.versions, store.versions());
  EXPECT_EQ(copy.status().lost, 1U);
  EXPECT_EQ(copy.status().mistakes, 0U);
  EXPECT_EQ(copy.status().relists(), 1U);
  EXPECT_EQ(copy.waited, Duration{}) << "the first time at once";
}

TEST(Reflector, GoneAsTheAnswerToAWatchListsAgainToo) {
  FakeStore store{100};
  Copy copy;
  copy.list_from(store);
  copy.reflector.on_watch_end(fake_status(410, "Gone", "too old resource version"), copy.now);
  EXPECT_EQ(copy.next().path, "/api/v1/pods?limit=500");
}

TEST(Reflector, AnExpiredPageBeginsTheListAgainInOnePiece) {
  FakeStore store{2};
  for (int i = 0; i < 5; ++i) store.put("a/" + std::to_string(i), 1);
  Copy copy{{.page_size = 2}};
  copy.reflector.on_reply(store.list(copy.next().path), copy.now);
  for (int i = 0; i < 5; ++i) store.put("b/" + std::to_string(i), 1);
  const HttpReply expired = store.list(copy.next().path);
  ASSERT_EQ(expired.status, 410);
  copy.reflector.on_reply(expired, copy.now);
  const ReflectorStep again = copy.next();
  EXPECT_EQ(again.path, "/api/v1/pods");
  copy.reflector.on_reply(store.list(again.path), copy.now);
  EXPECT_EQ(copy.versions, store.versions()) << "nothing of the first page is left";
  copy.list_from(store);
  copy.reflector.on_watch_end(fake_status(410, "Gone", ""), copy.now);
  EXPECT_EQ(copy.next().path, "/api/v1/pods?limit=2") << "the next list comes in pages again";
}

TEST(Reflector, OtherErrorsGoOnFromTheLastVersionAfterAWait) {
  FakeStore store{100};
  Copy copy;
  copy.list_from(store);
  const std::string error =
      R"({"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError","message":"etcd"}})"
      "\n";
  EXPECT_FALSE(copy.reflector.on_bytes(error, copy.now));
  copy.reflector.on_watch_end(ended(), copy.now);
  EXPECT_EQ(copy.status().state, SourceState::retrying);
  EXPECT_EQ(copy.status().detail, "500 InternalError: etcd");
  EXPECT_THAT(copy.next().path, HasSubstr("watch=1&resourceVersion=1&"));
  EXPECT_GE(copy.waited, 600ms);
}

TEST(Reflector, WaitsTwiceAsLongEachTimeAndNotForever) {
  Copy copy;
  for (int i = 0; i < 12; ++i) {
    copy.next();
    copy.reflector.on_reply(no_connection(), copy.now);
  }
  copy.next();
  ASSERT_EQ(copy.waits.size(), 12U);
  Duration expected = 800ms;
  for (const Duration wait : copy.waits) {
    EXPECT_GE(wait, expected * 3 / 4);
    EXPECT_LE(wait, expected * 5 / 4);
    expected = std::min<Duration>(expected * 2, 30s);
  }
  EXPECT_EQ(copy.status().state, SourceState::retrying);
  EXPECT_THAT(copy.status().detail, HasSubstr("refused"));
  EXPECT_EQ(copy.said.size(), 1U) << "one line, not twelve";
  EXPECT_FALSE(copy.status().is_known);
}

TEST(Reflector, WaitsAsLongAsTheServerAsks) {
  for (const int code : {429, 503}) {
    Copy copy;
    copy.next();
    HttpReply busy = fake_status(code, "TooManyRequests", "later");
    busy.headers.add("Retry-After", "17");
    copy.reflector.on_reply(busy, copy.now);
    copy.next();
    EXPECT_EQ(copy.waited, 17s);
  }
}

TEST(Reflector, ForbiddenIsAStateThatIsToldOnceAndLeftAgain) {
  FakeStore store{100};
  store.put("a/1", 1);
  Copy copy;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(copy.next().path, "/api/v1/pods?limit=500");
    copy.reflector.on_reply(fake_status(403, "Forbidden", "pods is forbidden: no"), copy.now);
  }
  EXPECT_EQ(copy.status().state, SourceState::forbidden);
  EXPECT_EQ(copy.status().detail, "pods is forbidden: no");
  EXPECT_TRUE(copy.status().is_known);
  EXPECT_THAT(copy.said, ElementsAre("pods: forbidden: pods is forbidden: no"));
  EXPECT_THAT(copy.waits, ElementsAre(60s, 60s, 60s, 60s));
  copy.list_from(store);
  EXPECT_EQ(copy.status().state, SourceState::watching);
  EXPECT_EQ(copy.versions, store.versions());
}

constexpr std::string_view kKueueResources =
    R"({"kind":"APIResourceList","resources":[{"name":"localqueues"},{"name":"workloads"},{"name":"workloads/status"}]})";

TEST(Reflector, AnExtensionIsLookedForInEveryVersionAndAgainLater) {
  Copy copy{{}, ResourceKind::kueue_workloads};
  EXPECT_EQ(copy.next().path, "/apis/kueue.x-k8s.io/v1beta2");
  copy.reflector.on_reply(HttpReply{404, {}, "404 page not found\n"}, copy.now);
  EXPECT_EQ(copy.next().path, "/apis/kueue.x-k8s.io/v1beta1");
  copy.reflector.on_reply(HttpReply{404, {}, "404 page not found\n"}, copy.now);
  EXPECT_EQ(copy.status().state, SourceState::absent);
  EXPECT_TRUE(copy.status().is_known);
  EXPECT_EQ(copy.next().path, "/apis/kueue.x-k8s.io/v1beta2");
  EXPECT_EQ(copy.waited, 60s);
  copy.reflector.on_reply(HttpReply{404, {}, ""}, copy.now);
  copy.next();
  copy.reflector.on_reply(HttpReply{200, {}, std::string{kKueueResources}}, copy.now);
  EXPECT_EQ(copy.next().path, "/apis/kueue.x-k8s.io/v1beta1/workloads?limit=500");
  EXPECT_TRUE(copy.said.empty()) << "nothing is wrong";
}

TEST(Reflector, AKindThatIsTakenAwayTakesItsObjectsAlong) {
  FakeStore store{100};
  store.put("a/1", 1);
  Copy copy{{}, ResourceKind::job_sets};
  copy.next();
  copy.reflector.on_reply(HttpReply{200, {}, R"({"resources":[{"name":"jobsets"}]})"}, copy.now);
  copy.list_from(store);
  ASSERT_EQ(copy.versions.size(), 1U);
  copy.reflector.on_watch_end(fake_status(404, "NotFound", "no such resource"), copy.now);
  EXPECT_EQ(copy.status().state, SourceState::absent);
  EXPECT_TRUE(copy.versions.empty());
}

TEST(Reflector, AnEventThatCannotBeReadIsNotLostSilently) {
  FakeStore store{100};
  Copy copy;
  copy.list_from(store);
  store.put("a/1", 1);
  for (const char* line : {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}\n",
                           "{}\n", "nonsense\n",
                           R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})"
                           "\n"}) {
    EXPECT_FALSE(copy.reflector.on_bytes(line, copy.now)) << line;
    copy.reflector.on_watch_end(ended(), copy.now);
    EXPECT_THAT(copy.list_from(store), HasSubstr("watch=1"));
    EXPECT_EQ(copy.versions, store.versions());
  }
  EXPECT_EQ(copy.status().relists(), 4U);
  EXPECT_EQ(copy.status().mistakes, 4U);
}

TEST(Reflector, AnObjectOfAWrongShapeIsLeftOutAndCounted) {
  FakeStore store{100};
  Copy copy;
  copy.list_from(store);
  const std::string wrong =
      R"({"type":"ADDED","object":{"metadata":{"name":"x","namespace":"a","resourceVersion":"7"},"spec":{"priority":"high"}}})"
      "\n";
  EXPECT_TRUE(copy.reflector.on_bytes(wrong, copy.now)) << "the others still come";
  EXPECT_TRUE(copy.versions.empty());
  EXPECT_EQ(copy.status().mistakes, 1U);
  EXPECT_THAT(
      copy.said,
      ElementsAre("pods: left out: pods a/x: spec.priority is a string, expected an integer"));
  copy.reflector.on_watch_end(no_connection(), copy.now);
  EXPECT_THAT(copy.next().path, HasSubstr("resourceVersion=7&"));
}

TEST(Reflector, AnEndlessLineIsRefused) {
  FakeStore store{100};
  Copy copy;
  copy.list_from(store);
  const std::string piece(1 << 20, 'x');
  int pieces = 0;
  while (pieces < 100 && copy.reflector.on_bytes(piece, copy.now)) ++pieces;
  EXPECT_EQ(pieces, 16);
  copy.reflector.on_watch_end(ended(), copy.now);
  EXPECT_EQ(copy.next().path, "/api/v1/pods?limit=500");
}

TEST(Reflector, AServerThatClosesEveryWatchAtOnceIsNotAskedInABusyLoop) {
  FakeStore store{100};
  Copy copy;
  copy.list_from(store);
  for (int i = 0; i < 4; ++i) {
    copy.reflector.on_watch_end(ended(), copy.now);
    EXPECT_THAT(copy.next().path, HasSubstr("watch=1"));
  }
  EXPECT_EQ(copy.waits.size(), 4U);
}

TEST(Reflector, AfterALongOutageEverythingIsLookedAtAgain) {
  FakeStore store{100};
  Copy copy;
  copy.list_from(store);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(copy.next().what, i == 0 ? ReflectorStep::What::watch : ReflectorStep::What::watch);
    copy.reflector.on_watch_end(no_connection(), copy.now);
  }
  EXPECT_EQ(copy.next().path, "/api/v1/pods?limit=500");
}

// What a watch of the store carries, cut anywhere.
TEST(Reflector, TheSameStreamCutAtEveryPlaceGivesTheSameEvents) {
  FakeStore store{100};
  Copy base;
  base.list_from(store);
  const std::uint64_t from = store.version();
  store.put("a/1", 1);
  store.put("a/\u00e9t\u00e9", 2);
  store.erase("a/1");
  const std::string stream =
      *store.lines_after(from) + store.bookmark() + "\r\n" + store.bookmark();
  base.reflector.on_bytes(stream, base.now);
  ASSERT_EQ(base.log.size(), 5U);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    Copy copy;
    copy.list_from(FakeStore{100});
    EXPECT_TRUE(copy.reflector.on_bytes(std::string_view{stream}.substr(0, cut), copy.now));
    EXPECT_TRUE(copy.reflector.on_bytes(std::string_view{stream}.substr(cut), copy.now));
    ASSERT_EQ(copy.log, base.log) << "cut at " << cut;
  }
  Copy bytewise;
  bytewise.list_from(FakeStore{100});
  for (const char byte : stream) bytewise.reflector.on_bytes({&byte, 1}, bytewise.now);
  EXPECT_EQ(bytewise.log, base.log);
}

// Whatever is cut off at the end comes again: nothing is lost, nothing comes twice.
TEST(Reflector, ATruncatedTailIsSentAgain) {
  FakeStore store{100};
  store.put("a/1", 1);
  store.put("a/2", 2);
  const std::string stream = *store.lines_after(1);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    Copy copy;
    copy.list_from(FakeStore{100});
    copy.reflector.on_bytes(std::string_view{stream}.substr(0, cut), copy.now);
    copy.reflector.on_watch_end(no_connection(), copy.now);
    const std::string path = copy.next().path;
    const std::string version = *FakeStore::query(path, "resourceVersion");
    copy.reflector.on_bytes(*store.lines_after(std::stoull(version)), copy.now);
    ASSERT_THAT(copy.log, ElementsAre("added a/1 2", "added a/2 3")) << "cut at " << cut;
    ASSERT_EQ(copy.versions, store.versions());
  }
}

// A server and a reflector with a connection that can do everything connections do.
class Storm {
 public:
  Storm(std::size_t window, std::uint64_t seed)
      : store_{window}, copy_{{.page_size = 3}, ResourceKind::pods, seed} {}

  void write(std::uint32_t draw) {
    const std::string key = fmt::format("n{}/p{}", draw % 2, draw / 2 % 7);
    if (draw / 14 % 3 == 0) {
      store_.erase(key);
    } else {
      store_.put(key, static_cast<int>(draw % 1000));
    }
  }

  // One thing happens to the client.
  void step(std::uint32_t draw) {
    if (!is_watching_) {
      ask();
    } else if (draw % 8 == 0) {
      lose_connection();
    } else if (draw % 8 == 1) {
      fetch();
      end_stream();
    } else {
      fetch();
      deliver(1 + draw / 8 % 400);
    }
  }
  void compact() { store_.compact(); }
  void forget_position() {
    if (is_watching_) push(FakeStore::gone_line());
  }

  // No more faults: until all is delivered.
  void settle() {
    for (int i = 0; i < 10'000; ++i) {
      if (!is_watching_) {
        ask();
        continue;
      }
      fetch();
      if (wire_.empty()) return;
      deliver(wire_.size());
    }
  }

  FakeStore& store() { return store_; }
  Copy& copy() { return copy_; }

 private:
  void ask() {
    const ReflectorStep step = copy_.next();
    if (step.what == ReflectorStep::What::get) {
      copy_.reflector.on_reply(store_.list(step.path), copy_.now);
      return;
    }
    position_ = std::stoull(*FakeStore::query(step.path, "resourceVersion"));
    copy_.now += 1s;
    if (!store_.lines_after(position_)) {
      copy_.reflector.on_watch_end(fake_status(410, "Expired", "too old"), copy_.now);
      return;
    }
    copy_.reflector.on_watch_begin(copy_.now);
    is_watching_ = true;
    wire_.clear();
  }
  // What the server has sent since.
  void fetch() {
    const auto lines = store_.lines_after(position_);
    if (lines) {
      wire_ += *lines;
      position_ = store_.version();
    } else {
      push(FakeStore::gone_line());
    }
  }
  void push(const std::string& line) { wire_ += line; }
  void deliver(std::size_t bytes) {
    const std::string piece = wire_.substr(0, bytes);
    wire_.erase(0, piece.size());
    if (piece.empty() || copy_.reflector.on_bytes(piece, copy_.now)) return;
    is_watching_ = false;
    copy_.reflector.on_watch_end(ended(), copy_.now);
  }
  void end_stream() {
    deliver(wire_.size());
    if (!is_watching_) return;
    is_watching_ = false;
    copy_.now += 5min;
    copy_.reflector.on_watch_end(ended(), copy_.now);
  }
  void lose_connection() {
    is_watching_ = false;
    copy_.reflector.on_watch_end(no_connection(), copy_.now);
  }

  FakeStore store_;
  Copy copy_;
  bool is_watching_ = false;
  std::uint64_t position_ = 0;
  std::string wire_;
};

// A history of ten changes and five writers: whatever happens, the copy ends equal to the server.
RC_GTEST_PROP(Reflector, TheCopyEqualsTheServerAfterAnyStorm,
              (const std::vector<std::uint32_t>& draws, std::uint64_t seed)) {
  Storm storm{10, seed};
  SeededRng rng{seed};
  for (const std::uint32_t draw : draws) {
    const std::uint64_t writes = rng.below(6);
    for (std::uint64_t i = 0; i < writes; ++i)
      storm.write(static_cast<std::uint32_t>(rng.below(1'000'000)));
    if (draw % 31 == 0) storm.compact();
    if (draw % 29 == 0) storm.forget_position();
    storm.step(static_cast<std::uint32_t>(rng.below(1'000'000)));
  }
  storm.settle();
  RC_ASSERT(storm.copy().versions == storm.store().versions());
  RC_ASSERT(storm.copy().status().state == SourceState::watching);
}

TEST(Reflector, ALongStormIsFullOfLostHistories) {
  Storm storm{10, 7};
  SeededRng rng{7};
  for (int i = 0; i < 20'000; ++i) {
    for (std::uint64_t w = rng.below(6); w > 0; --w)
      storm.write(static_cast<std::uint32_t>(rng.below(1'000'000)));
    storm.step(static_cast<std::uint32_t>(rng.below(1'000'000)));
  }
  storm.settle();
  EXPECT_EQ(storm.copy().versions, storm.store().versions());
  EXPECT_GT(storm.copy().status().lost, 500U) << "else this is no storm";
}

}  // namespace
}  // namespace weir::engine::kubernetes
