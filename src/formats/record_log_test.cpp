// SPDX-License-Identifier: Apache-2.0
#include "formats/record_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>
#include <sstream>

#include "formats/log_codec.h"
#include "formats/log_generators_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kHeaderLine =
    R"({"schema":1,"type":"log_header","payload":{"cluster":{"pools":[{"name":"A100","nodes":16,)"
    R"("gpus_per_node":8,"stride":8}]},"rescale":{"base_s":2,"per_doubling_s":2},"policy":"weir",)"
    R"("slot_s":0,"workload":"195job","curves":"throughput_a100","speed":{"permille":1000}},)"
    R"("build":"0.1.0"})"
    "\n";
const std::string kPromiseLine =
    R"({"schema":1,"seq":1,"time":3715485000000000,"type":"promise_made",)"
    R"("reason":{"code":"fits_beside_promises","detail":0},"payload":{"job":7,)"
    R"("deadline":3716178000000000,"timeline":{"steps":[[3715485000000000,8,4]],)"
    R"("end":3716100000000000}},"build":"0.1.0"})"
    "\n";
const std::string kObservedLine =
    R"({"schema":1,"seq":2,"time":3715486000000000,"type":"job_observed",)"
    R"("reason":{"code":"as_reported","detail":0},"payload":{"job":7,)"
    R"("left":"3249000000000000000","ready_at":3715493000000000,"speed_permille":1000},"build":"0.1.0"})"
    "\n";

struct Log {
  RecordLogHeader header;
  std::vector<LogEntry> entries;
};

Result<Log> log_from(std::string_view text) {
  auto reader = RecordLogReader::open(*InputFile::from_memory("run.jsonl", text));
  if (!reader) return tl::unexpected(reader.error());
  Log log{reader->header(), {}};
  while (true) {
    auto entry = reader->next();
    if (!entry) return tl::unexpected(entry.error());
    if (!*entry) return log;
    log.entries.push_back(std::move(**entry));
  }
}

std::string written(const RecordLogHeader& header, const std::vector<Record>& records) {
  std::ostringstream out;
  RecordLogWriter writer{out, "0.1.0"};
  writer.write(header);
  for (const Record& record : records) writer.write(record);
  return out.str();
}

std::string mistake_in(std::string_view text) {
  const auto log = log_from(text);
  if (log) return "none";
  EXPECT_EQ(log.error().details.total(), 1U);
  return to_string(log.error().details.list()[0]);
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

RecordLogHeader small_header() {
  RecordLogHeader header;
  header.pools = {{"A100", 16, 8, 8, {}}};
  header.rescale_base = header.rescale_per_doubling = from_seconds(2);
  header.policy = "weir";
  header.workload = "195job";
  header.curves = "throughput_a100";
  return header;
}

// What was written by schema 1 stays readable, whatever comes after it.
TEST(RecordLog, ReadsAndWritesSchema1) {
  const std::string text = kHeaderLine + kPromiseLine + kObservedLine;
  const auto log = log_from(text);
  ASSERT_TRUE(log) << mistakes_of(log);
  EXPECT_EQ(log->header, small_header());
  ASSERT_EQ(log->entries.size(), 2U);
  const LogEntry& first = log->entries[0];
  EXPECT_EQ(first.seq, 1U);
  EXPECT_EQ(first.build, "0.1.0");
  const Timeline timeline{{{Time{from_seconds(3715485)}, GpuBlock{8, 4}}},
                          Time{from_seconds(3716100)}};
  EXPECT_EQ(first.record, (Record{Time{from_seconds(3715485)},
                                  {ReasonCode::fits_beside_promises, 0},
                                  PromiseMade{JobId{7}, Time{from_seconds(3716178)}, timeline}}));
  const JobObserved observed{JobId{7}, work_of_iterations(3249), Time{from_seconds(3715493)}};
  EXPECT_EQ(std::get<JobObserved>(log->entries[1].record.what), observed);
  EXPECT_EQ(written(log->header, {log->entries[0].record, log->entries[1].record}), text);
}

TEST(RecordLog, EveryReasonHasANameOfItsOwn) {
  std::set<std::string_view> names;
  int code = 0;
  while (!reason_name(static_cast<ReasonCode>(code)).empty()) {
    EXPECT_TRUE(names.insert(reason_name(static_cast<ReasonCode>(code))).second) << code;
    const Record record{Time{}, {static_cast<ReasonCode>(code), 5}, EventIgnored{}};
    const auto log = log_from(written(small_header(), {record}));
    ASSERT_TRUE(log) << mistakes_of(log);
    EXPECT_EQ(log->entries[0].record, record);
    ++code;
  }
  EXPECT_GT(code, static_cast<int>(ReasonCode::failed));
  EXPECT_EQ(to_string(Reason{static_cast<ReasonCode>(code), 0}), "unknown reason");
}

TEST(RecordLog, EveryTypeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  const auto add = [&]<class... Each>(std::type_identity<std::variant<Each...>>) {
    (names.insert(type_name(Record{Time{}, {}, Each{}})), ...);
    EXPECT_EQ(names.size(), sizeof...(Each));
  };
  add(std::type_identity<decltype(Record::what)>{});
  EXPECT_FALSE(names.contains(""));
}

TEST(RecordLog, SaysWhereALogWasCutOff) {
  const std::string whole = kHeaderLine + kPromiseLine + kObservedLine;
  const std::string cut = whole.substr(0, whole.size() - 40);
  EXPECT_THAT(mistake_in(cut), StartsWith("run.jsonl:3: log is \"cut off after seq 1\", expected a "
                                          "log that ends with a whole line"));
  EXPECT_THAT(mistake_in(kHeaderLine + kPromiseLine.substr(0, 9)),
              HasSubstr("cut off before its first record"));
  EXPECT_THAT(mistake_in(kHeaderLine.substr(0, 30)), HasSubstr("cut off before its first record"));
  // Only the newline is missing: nothing is lost.
  EXPECT_TRUE(log_from(whole.substr(0, whole.size() - 1)));
}

TEST(RecordLog, EveryCutIsNoticedOrLeavesWholeRecords) {
  const std::string whole = kHeaderLine + kPromiseLine + kObservedLine;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto log = log_from(std::string_view{whole}.substr(0, size));
    const bool ends_well = size > 0 && (whole[size] == '\n' || whole[size - 1] == '\n');
    EXPECT_EQ(log.has_value(), ends_well) << size;
  }
}

TEST(RecordLog, NamesFileLineFieldAndWhatIsExpected) {
  const auto with = [](std::string_view what, std::string_view by) {
    return mistake_in(kHeaderLine + replaced(kPromiseLine, what, by));
  };
  EXPECT_EQ(with("promise_made", "promise_kept"),
            "run.jsonl:2: type is \"promise_kept\", expected a type of record that this version of "
            "weir knows");
  EXPECT_EQ(with("\"schema\":1", "\"schema\":2"),
            "run.jsonl:2: schema is \"2\", expected 1, which this version of weir reads");
  EXPECT_EQ(
      with("fits_beside_promises", "fits"),
      "run.jsonl:2: reason.code is \"fits\", expected a name that this version of weir knows");
  EXPECT_EQ(with("[3715485000000000,8,4]", "[3715485000000000,8,-4]"),
            "run.jsonl:2: payload.timeline.steps[0][2] is \"-4\", expected an integer from 0 to "
            "4294967295");
  EXPECT_EQ(with("[3715485000000000,8,4]", "[3715485000000000,8]"),
            "run.jsonl:2: payload.timeline.steps[0] is \"[3715485000000000,8]\", expected [from, "
            "first GPU, size]");
  EXPECT_EQ(with("\"job\":7,", ""), "run.jsonl:2: payload.job is missing, expected a value");
  EXPECT_EQ(with("\"job\":7,", "\"job\":7.5,"),
            "run.jsonl:2: payload.job is \"7.5\", expected an integer from 0 to "
            "18446744073709551615");
  EXPECT_THAT(with("\"job\":7,", "\"job\":7,\"jab\":7,"),
              HasSubstr("payload.jab is \"7\", expected nothing: schema 1 has no such member"));
  EXPECT_THAT(with("\"job\":7,", "\"job\":7,\"job\":7,"),
              HasSubstr("payload.job is \"7\", expected it once"));
  EXPECT_THAT(with("\"reason\"", "\"raison\""), HasSubstr("raison is \"{"));
  EXPECT_THAT(with(",\"build\":\"0.1.0\"", ""), HasSubstr("build is missing, expected a value"));
  EXPECT_THAT(with("{\"schema\"", "x{\"schema\""), HasSubstr("expected one JSON object"));
  EXPECT_THAT(
      mistake_in(kHeaderLine + kPromiseLine + replaced(kObservedLine, "3249", "3.49")),
      HasSubstr("run.jsonl:3: payload.left is \"3.49000000000000000\", expected an integer"));
  EXPECT_EQ(mistake_in(kHeaderLine + kPromiseLine + kPromiseLine),
            "run.jsonl:3: seq is \"1\", expected 2, as records follow each other");
}

TEST(RecordLog, WorkHasAllItsBits) {
  const WideInteger most = ~(WideInteger{1} << 127);
  for (const WideInteger work : {most, -most - 1, WideInteger{-1}, WideInteger{0}}) {
    const Record record{Time{}, {}, JobObserved{JobId{1}, Work{work}, Time{}}};
    const auto log = log_from(written(small_header(), {record}));
    ASSERT_TRUE(log) << mistakes_of(log);
    EXPECT_EQ(log->entries[0].record, record);
  }
  EXPECT_THAT(
      mistake_in(kHeaderLine + kPromiseLine +
                 replaced(kObservedLine, "3249", "170141183460469231731687303715884105728")),
      HasSubstr("expected an integer of up to 127 bits"));
  EXPECT_THAT(mistake_in(kHeaderLine + kPromiseLine + replaced(kObservedLine, "\"3249", "\"-x")),
              HasSubstr("payload.left"));
}

TEST(RecordLog, NeedsAHeader) {
  EXPECT_EQ(mistake_in(""), "run.jsonl: file is \"empty\", expected a record log");
  EXPECT_EQ(mistake_in(kPromiseLine),
            "run.jsonl:1: type is \"promise_made\", expected log_header on the first line");
  EXPECT_EQ(mistake_in(replaced(kHeaderLine, "\"stride\":8", "\"stride\":\"8\"")),
            "run.jsonl:1: payload.cluster.pools[0].stride is \"8\", expected an integer from "
            "-2147483648 to 2147483647");
  EXPECT_EQ(mistake_in(replaced(kHeaderLine, "\"base_s\":2", "\"base_s\":-2")),
            "run.jsonl:1: payload.rescale.base_s is \"-2\", expected seconds from 0 up");
  EXPECT_THAT(mistake_in(replaced(kHeaderLine, "\"schema\":1", "\"schema\":9")),
              HasSubstr("run.jsonl:1: schema is \"9\""));
}

TEST(RecordLog, ReadsGzipAndLinesOverManyChunks) {
  std::vector<Record> records;
  for (int i = 0; i < 20; ++i) {
    Timeline timeline;
    timeline.steps.assign(5'000, TimelineStep{Time{Duration{i}}, GpuBlock{8, 8}});
    records.push_back({Time{}, {}, TimelineRevised{JobId{1}, timeline}});
  }
  const TemporaryFolder folder;
  const auto path = folder.write("run.jsonl.gz", gzip(written(small_header(), records)));
  auto reader = RecordLogReader::open(path);
  ASSERT_TRUE(reader) << mistakes_of(reader);
  for (const Record& record : records) {
    const auto entry = reader->next();
    ASSERT_TRUE(entry) << mistakes_of(entry);
    ASSERT_TRUE(*entry);
    EXPECT_EQ((*entry)->record, record);
  }
  EXPECT_EQ(*reader->next(), std::nullopt);
  EXPECT_FALSE(RecordLogReader::open(folder.path() / "nowhere"));
}

TEST(RecordLog, HeaderKeepsFractionsMixedNodesAndSpeeds) {
  RecordLogHeader header = small_header();
  header.slot = Duration{90'500'000'001};
  header.pools = {{"cpu", 0, 0, 1, {}}, {"T4", 2, 6, 8, {6, 4}}};
  header.workload = "weir trace synth --seed 7 \"quoted\"\n";
  header.speed = {1000, {{"a", 900}, {"b\x01", 1100}}};
  const std::string text = written(header, {});
  EXPECT_THAT(text, HasSubstr("\"slot_s\":90.500000001,"));
  const auto log = log_from(text);
  ASSERT_TRUE(log) << mistakes_of(log);
  EXPECT_EQ(log->header, header);
  EXPECT_EQ(written(log->header, {}), text);
}

TEST(RecordLog, ListsThePoolsOfACluster) {
  Cluster cluster;
  const auto model = *cluster.models.intern("T4");
  const auto add = [&](const std::string& pool, std::int32_t gpus) {
    Node node;
    node.id = NodeId{cluster.nodes.size() + 1};
    node.pool = cluster.pool_named(pool);
    node.gpu_count = gpus;
    if (gpus > 0) node.model = model;
    cluster.nodes.push_back(node);
  };
  add("cpu", 0);
  add("even", 4);
  add("odd", 6);
  add("even", 4);
  add("odd", 2);
  const std::vector<RecordLogHeader::Pool> expected{
      {"cpu", 0, 0, 1, {}, {}}, {"even", 2, 4, 4, {}, {2, 4}}, {"odd", 2, 6, 8, {6, 2}, {3, 5}}};
  EXPECT_EQ(log_pools(cluster), expected);
  RecordLogHeader header;
  header.pools = expected;
  EXPECT_EQ(log_pools(cluster_of(header)), expected) << "and the cluster has the same pools again";
}

TEST(RecordLog, IdsThatCountThroughThePoolsAreNotWritten) {
  RecordLogHeader header;
  header.pools = {{"A100", 2, 8, 8, {}, {}}, {"T4", 1, 4, 4, {}, {}}};
  EXPECT_EQ(log_pools(cluster_of(header)), header.pools);
}

TEST(RecordLog, EventsStandBetweenTheRecordsTheyCaused) {
  std::string text = written(small_header(), {});
  append_event_line(text, Event{Time{}, JobFinished{JobId{3}}});
  text += '\n';
  append_record_line(text, Record{Time{}, {}, JobReleased{JobId{3}}}, 1, "0.1.0");
  text += '\n';
  auto log = log_from(text);
  ASSERT_TRUE(log) << mistakes_of(log);
  ASSERT_EQ(log->entries.size(), 1U) << "who reads records passes over events";
  auto reader = RecordLogReader::open(InputFile::from_memory("log", text).value());
  ASSERT_TRUE(reader);
  const auto event = reader->next_line_of_any_kind();
  ASSERT_TRUE(event && *event && std::holds_alternative<Event>((*event)->what));
  const auto record = reader->next_line_of_any_kind();
  ASSERT_TRUE(record && *record && std::holds_alternative<LogEntry>((*record)->what));
  EXPECT_THAT(std::string{(*record)->text}, HasSubstr("\"seq\":1"));
}

RC_GTEST_PROP(RecordLog, EveryRecordComesBackAndIsWrittenAsTheSameBytes, ()) {
  const auto records = one_record_of_each_type();
  const std::string text = written(small_header(), records);
  const auto log = log_from(text);
  if (!log) RC_LOG() << mistakes_of(log) << "\n" << text;
  RC_ASSERT(log.has_value());
  std::vector<Record> back;
  for (const LogEntry& entry : log->entries) back.push_back(entry.record);
  RC_ASSERT(back == records);
  RC_ASSERT(written(log->header, back) == text);
}

RC_GTEST_PROP(RecordLog, ADamagedLogIsReadOrRefusedWithAReason, ()) {
  std::string text = written(small_header(), one_record_of_each_type());
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
  const auto log = log_from(text);
  if (log) RC_SUCCEED();
  RC_ASSERT(!log.error().details.empty());
  RC_ASSERT(log.error().details.list()[0].file == "run.jsonl");
  RC_ASSERT(!log.error().details.list()[0].expected.empty());
}

}  // namespace
}  // namespace weir::formats
