// SPDX-License-Identifier: Apache-2.0
//
// What engine and supervisor write for each other: read back as it was, and nothing else believed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>

#include "engine/local/local_engine_testing.h"
#include "engine/local/progress_message.h"
#include "engine/local/rank_process.h"
#include "engine/local/run_end.h"
#include "engine/local/run_log.h"
#include "engine/local/run_status.h"
#include "engine/local/supervisor_order.h"

namespace weir::engine {
namespace {

std::string any_text() {
  return *rc::gen::container<std::string>(rc::gen::distinctFrom(rc::gen::arbitrary<char>(), '\0'));
}

SupervisorOrder any_order() {
  SupervisorOrder order;
  order.store = any_text();
  order.run = {*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint32_t>()};
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) order.command.push_back(any_text());
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    std::string name = any_text();
    order.environment.emplace_back(std::move(name), any_text());
  }
  order.directory = any_text();
  order.ranks = *rc::gen::inRange(1, 64);
  order.gpus.emplace_back(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange(0, 64));
  order.reports_progress = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) order.grace_ns = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  if (*rc::gen::arbitrary<bool>()) order.hang_after_ns = *rc::gen::inRange(0, 1000);
  order.is_torchrun = *rc::gen::arbitrary<bool>();
  order.progress_line = any_text();
  order.longest_save_ns = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  order.announce_ns = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  order.ordered_ns = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) order.warm_start.push_back(any_text());
  order.engine_socket = any_text();
  if (*rc::gen::arbitrary<bool>()) {
    order.user = RunUser{"u" + any_text(),
                         *rc::gen::arbitrary<uid_t>(),
                         *rc::gen::arbitrary<gid_t>(),
                         *rc::gen::arbitrary<std::vector<gid_t>>(),
                         any_text(),
                         any_text()};
  }
  return order;
}

RC_GTEST_PROP(SupervisorOrderFile, IsReadBackAsItWasWritten, ()) {
  const SupervisorOrder order = any_order();
  RC_ASSERT(decode_supervisor_order(encode(order)) == order);
}

RC_GTEST_PROP(SupervisorOrderFile, IsNotBelievedWhenCutShort, ()) {
  const std::string bytes = encode(any_order());
  const auto size = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT(!decode_supervisor_order(bytes.substr(0, size)));
}

TEST(SupervisorOrderFile, AZeroByteIsNoticed) {
  SupervisorOrder order;
  order.command = {"a"};
  EXPECT_FALSE(has_zero_byte(order));
  order.environment.emplace_back("A", std::string{"\0", 1});
  EXPECT_TRUE(has_zero_byte(order));
}

TEST(RunStatusFile, WhatWasNotedIsRead) {
  const TemporaryFolder folder;
  const OwnedFd fd{open(folder.path().c_str(), O_RDONLY | O_DIRECTORY)};
  RunStatusWriter writer;
  ASSERT_EQ(writer.open(fd.get()), 0);
  writer.note_identity({12, 345, "boot"});
  writer.note_ready();
  writer.note_progress(1000);
  writer.note_progress(7);
  writer.note_ended({RunEndKind::signalled, 11, "killed\nby something"});
  const RunStatus status = read_run_status(fd.get());
  EXPECT_EQ(status.supervisor, (ProcessIdentity{12, 345, "boot"}));
  EXPECT_TRUE(status.is_ready);
  EXPECT_EQ(status.progress, 7);
  EXPECT_EQ(status.ended, (RunEnded{RunEndKind::signalled, 11, "killed by something"}));
}

TEST(RunStatusFile, ALineThatIsNotWholeCountsForNothing) {
  EXPECT_FALSE(parse_run_status("ready\nended exited 0 exit co").is_over());
  EXPECT_FALSE(parse_run_status("ended exited zero x\nended nonsense 0 x\n").is_over());
  EXPECT_FALSE(parse_run_status("identity -1 5 boot\n").supervisor);
}

TEST(ProcessTable, AProgramNameMayHoldAnything) {
  const auto stat = parse_process_stat(
      "42 (a) b (c) S 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->session, 41);
  EXPECT_EQ(stat->start_time, 98765U);
  EXPECT_FALSE(parse_process_stat("42 (x) S 1 2"));
}

TEST(ProcessTable, ThisProcessIsAliveAndOneThatStartedAtAnotherTimeIsNot) {
  ProcessIdentity self = own_identity();
  EXPECT_TRUE(is_alive(self));
  ++self.start_time;
  EXPECT_FALSE(is_alive(self));
  --self.start_time;
  self.boot_id = "another";
  EXPECT_FALSE(is_alive(self));
}

TEST(SupervisorOrderFile, OneOfTheSecondFormatIsStillRead) {
  std::string bytes;
  for (const std::string_view word : {"weir order 2",
                                      "store",
                                      "7",
                                      "2",
                                      "1",
                                      "cmd",
                                      "0",
                                      "/dir",
                                      "1",
                                      "0",
                                      "1",
                                      "50",
                                      "0",
                                      "9",
                                      "100",
                                      "socket",
                                      "",
                                      "1",
                                      "line",
                                      "3",
                                      "4",
                                      "",
                                      "0",
                                      "5",
                                      "end"}) {
    bytes += word;
    bytes += '\0';
  }
  const auto order = decode_supervisor_order(bytes);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->progress_line, "line");
  EXPECT_EQ(order->ordered_ns, 5);
  EXPECT_FALSE(order->user);
}

TEST(SupervisorOrderFile, OneOfTheFirstFormatIsStillRead) {
  std::string bytes;
  for (const std::string_view word : {"weir order 1", "store", "7", "2", "1", "cmd", "0", "/dir",
                                      "1", "0", "1", "50", "0", "9", "100", "socket", "", "end"}) {
    bytes += word;
    bytes += '\0';
  }
  const auto order = decode_supervisor_order(bytes);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->run, (RunKey{7, 2}));
  EXPECT_EQ(order->grace_ns, 50);
  EXPECT_EQ(order->progress_interval_ns, 100);
  EXPECT_FALSE(order->hang_after_ns);
}

TEST(ProgressMessage, TheLargestStepOfTheLinesCounts) {
  const JobMessage message =
      read_job_message("{\"step\": 3}\n{\"loss\":1,\"step\" :7}\n{\"step\":5,\"loss\":2}");
  EXPECT_EQ(message.step, 7);
  EXPECT_EQ(message.loss, 1.0);
  EXPECT_EQ(read_job_message("{\"step\": 12.5}").step, 12);
}

TEST(ProgressMessage, WhatMakesNoSenseCountsForNothing) {
  for (const char* text :
       {"{\"step\": -1}", "{\"steps\": 4}", "\"step\"", "\"step\":", "[]", "7",
        "{\"step\": 99999999999999999999}", "{\"step\": \"5\"}", "{\"batch\": [1]}",
        "{\"event\": 3}", "{\"event\": \"dance\"}", "{\"step\": 1"})
    EXPECT_EQ(read_job_message(text), JobMessage{}) << text;
}

TEST(ProgressMessage, MilestonesAreRead) {
  const JobMessage message = read_job_message(
      "{\"event\": \"started\"}\n{\"event\": \"saved\", \"seconds\": 0.5}\n"
      "{\"step\": 1, \"batch\": [256, 32, 4]}\n");
  EXPECT_TRUE(message.has_started);
  EXPECT_FALSE(message.has_loaded);
  EXPECT_EQ(message.saved, std::chrono::milliseconds{500});
  EXPECT_EQ(message.batch, (BatchDivision{256, 32, 4}));
  EXPECT_EQ(read_job_message("{\"event\": \"saved\"}").saved, Duration{0});
  EXPECT_EQ(read_job_message("{\"event\": \"saved\", \"seconds\": 1e300}").saved, Duration{0});
}

RC_GTEST_PROP(ProgressMessage, NewsAreReadBackAsTheyWereSent, ()) {
  const auto any_time = rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  RunNews news;
  news.run = {*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint32_t>()};
  news.is_ready = *rc::gen::arbitrary<bool>();
  news.progress = *rc::gen::inRange<std::int64_t>(-1, INT64_MAX);
  news.progress_at = Duration{*any_time};
  if (*rc::gen::arbitrary<bool>()) news.loss = *rc::gen::inRange(-1000, 1000) / 7.0;
  news.start.start = Duration{*any_time};
  news.start.import = Duration{*any_time};
  news.start.step = Duration{*any_time};
  news.start.is_warm = *rc::gen::arbitrary<bool>();
  news.batch = {*rc::gen::inRange(0, 100), *rc::gen::inRange(0, 100), *rc::gen::inRange(0, 100)};
  news.longest_save = Duration{*any_time};
  RC_ASSERT(decode_run_news(encode(news)) == news);
}

TEST(ProgressMessage, NewsOfASupervisorOfAnotherVersionAreRead) {
  RunNews news;
  news.run = {7, 2};
  news.is_ready = true;
  news.progress = 55;
  EXPECT_EQ(decode_run_news("7 2 ready 55"), news);
  EXPECT_EQ(decode_run_news("7 2 ready 55 mood=3"), news);
  EXPECT_FALSE(decode_run_news("7 2 ready 55 nonsense"));
}

RC_GTEST_PROP(ProgressMessage, AnyBytesAreRead, (const std::string& bytes)) {
  read_job_message(bytes);
  decode_run_news(bytes);
  parse_run_status(bytes);
  decode_supervisor_order(bytes);
}

TEST(RunEnd, RanksAreNamedWhenThereAreSeveral) {
  EXPECT_EQ(explain_exit(3 << 8, 1, 2, false).explanation, "exit code 3 in rank 1");
  EXPECT_EQ(explain_exit(6, 0, 1, false).explanation, "killed by SIGABRT (signal 6)");
  EXPECT_EQ(explain_exit(9, 0, 1, true).kind, RunEndKind::out_of_memory);
}

TEST(RankEnvironment, LaterChangesWinAndTheRemovedNameIsGone) {
  const char* inherited[] = {"A=1", "B=2", "GONE=3", nullptr};
  EXPECT_EQ(merge_environment(inherited, {{"B", "x"}, {"B", "y"}, {"C", ""}}, "GONE"),
            (std::vector<std::string>{"A=1", "B=y", "C="}));
}

// Whatever is written in whatever portions, each place in the log shows the byte written there.
RC_GTEST_PROP(RunLog, APlaceAlwaysShowsTheByteThatWasWrittenThere, ()) {
  const TemporaryFolder folder;
  const OwnedFd fd{open(folder.path().c_str(), O_RDONLY | O_DIRECTORY)};
  const auto limit = *rc::gen::inRange<std::int64_t>(1, 40);
  RunLogWriter writer;
  RC_ASSERT(writer.open(fd.get(), 0, limit) == 0);
  std::string all;
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
    const auto portion = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
    writer.append(portion);
    all += portion;
  }
  const auto offset = *rc::gen::inRange<std::int64_t>(-50, 200);
  const auto most = *rc::gen::inRange<std::size_t>(0, 100);
  const auto part = read_run_log(fd.get(), 0, offset, most);
  RC_ASSERT(part.has_value());
  RC_ASSERT(part->bytes == all.substr(static_cast<std::size_t>(part->offset), part->bytes.size()));
  const auto size = static_cast<std::int64_t>(all.size());
  RC_ASSERT(part->reaches_end ==
            (part->offset + static_cast<std::int64_t>(part->bytes.size()) == size));
  // The newest `limit` bytes are always there.
  if (most > 0 && offset >= std::max<std::int64_t>(0, size - limit) && offset < size)
    RC_ASSERT(part->offset == offset && !part->bytes.empty());
}

}  // namespace
}  // namespace weir::engine
