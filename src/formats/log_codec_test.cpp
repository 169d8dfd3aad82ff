// SPDX-License-Identifier: Apache-2.0
#include "formats/log_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/log_generators_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

const std::string kProgressLine =
    R"({"schema":1,"time":3715485000000000,"type":"progress_reported",)"
    R"("payload":{"job":7,"done":"3249000000000000000"}})";

std::string line_of(const Event& event) {
  std::string line;
  append_event_line(line, event);
  return line;
}

std::string line_of(const Record& record) {
  std::string line;
  append_record_line(line, record, 7, "0.1.0");
  return line;
}

template <class T>
std::string mistake_in(const Result<T>& read) {
  if (read) return "none";
  EXPECT_EQ(read.error().details.total(), 1U);
  return to_string(read.error().details.list()[0]);
}

std::string mistake_with(std::string_view what, std::string_view by) {
  std::string line = kProgressLine;
  const std::size_t at = line.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return mistake_in(read_event_line(line.replace(at, what.size(), by)));
}

TEST(LogCodec, ReadsAndWritesAnEventOfSchema1) {
  const auto event = read_event_line(kProgressLine);
  ASSERT_TRUE(event) << mistake_in(event);
  EXPECT_EQ(event->at, Time{from_seconds(3715485)});
  EXPECT_EQ(std::get<ProgressReported>(event->what),
            (ProgressReported{JobId{7}, work_of_iterations(3249)}));
  EXPECT_EQ(line_of(*event), kProgressLine);
}

TEST(LogCodec, AppendsToWhatIsThere) {
  std::string text = "before\n";
  append_event_line(text, Event{Time{Duration{1}}, TimerFired{}});
  EXPECT_EQ(text, "before\n{\"schema\":1,\"time\":1,\"type\":\"timer_fired\",\"payload\":{}}");
}

TEST(LogCodec, NamesWhatIsWrongWithAnEvent) {
  EXPECT_EQ(mistake_with("progress_reported", "progress"),
            "type is \"progress\", expected a type of event that this version of weir knows");
  EXPECT_EQ(mistake_with("progress_reported", "promise_made"),
            "type is \"promise_made\", expected a type of event that this version of weir knows");
  EXPECT_EQ(mistake_with("\"schema\":1", "\"schema\":2"),
            "schema is \"2\", expected 1, which this version of weir reads");
  EXPECT_EQ(mistake_with("\"job\":7,", ""), "payload.job is missing, expected a value");
  EXPECT_EQ(mistake_with("\"job\":7", "\"job\":\"7\""),
            "payload.job is \"7\", expected an integer from 0 to 18446744073709551615");
  EXPECT_EQ(mistake_with("\"job\":7", "\"job\":-7"),
            "payload.job is \"-7\", expected an integer from 0 to 18446744073709551615");
  EXPECT_EQ(mistake_with("\"job\":7", "\"job\":7,\"jab\":[1]"),
            "payload.jab is \"[1]\", expected nothing: schema 1 has no such member");
  EXPECT_EQ(mistake_with("\"job\":7", "\"job\":7,\"job\":8"),
            "payload.job is \"8\", expected it once");
  EXPECT_EQ(mistake_with("{\"schema\"", "{\"seq\":4,\"schema\""),
            "seq is \"4\", expected nothing: schema 1 has no such member");
  EXPECT_EQ(mistake_with(",\"payload\":{\"job\":7,\"done\":\"3249000000000000000\"}", ""),
            "payload is missing, expected a value");
  EXPECT_THAT(mistake_with("7,", "7;"),
              HasSubstr("expected one JSON object (byte 82 should be a comma or })"));
  EXPECT_THAT(mistake_in(read_event_line(kProgressLine + "{}")), HasSubstr("one JSON object"));
  EXPECT_THAT(mistake_in(read_event_line("")), HasSubstr("one JSON object"));
  EXPECT_THAT(mistake_in(read_event_line("[1]")), HasSubstr("an object in { }"));
}

TEST(LogCodec, MembersMayStandInAnyOrder) {
  const auto event = read_event_line(
      R"( { "payload" : {"done":"1","job":7}, "type":"progress_reported", "time":5, "schema":1 } )");
  ASSERT_TRUE(event) << mistake_in(event);
  EXPECT_EQ(std::get<ProgressReported>(event->what), (ProgressReported{JobId{7}, Work{1}}));
}

RC_GTEST_PROP(LogCodec, EveryEventComesBackAndIsWrittenAsTheSameBytes, ()) {
  for (const Event& event : one_event_of_each_type()) {
    const std::string line = line_of(event);
    const auto back = read_event_line(line);
    if (!back) RC_LOG() << mistake_in(back) << "\n" << line;
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->at == event.at);
    RC_ASSERT(back->what == event.what);
    RC_ASSERT(line_of(*back) == line);
    RC_ASSERT(line.find('\n') == std::string::npos);
  }
}

RC_GTEST_PROP(LogCodec, EveryRecordComesBackAndIsWrittenAsTheSameBytes, ()) {
  for (const Record& record : one_record_of_each_type()) {
    const std::string line = line_of(record);
    const auto back = read_record_line(line);
    if (!back) RC_LOG() << mistake_in(back) << "\n" << line;
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == (LogEntry{7, record, "0.1.0"}));
    RC_ASSERT(line_of(back->record) == line);
  }
}

RC_GTEST_PROP(LogCodec, ADamagedLineIsReadOrRefusedWithAReason, ()) {
  const auto events = one_event_of_each_type();
  std::string line = line_of(*rc::gen::elementOf(events));
  const auto at = *rc::gen::inRange<std::size_t>(0, line.size());
  line[at] = static_cast<char>(*rc::gen::inRange(0, 256));
  const auto back = read_event_line(line);
  if (back) RC_SUCCEED();
  RC_ASSERT(!back.error().details.empty());
  RC_ASSERT(!back.error().details.list()[0].expected.empty());
  RC_ASSERT(!back.error().details.list()[0].field.empty());
}

}  // namespace
}  // namespace weir::formats
