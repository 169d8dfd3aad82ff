// SPDX-License-Identifier: Apache-2.0
#include "formats/log_codec.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <variant>

#include "formats/log_reader.h"
#include "formats/log_writer.h"

namespace weir::formats {
namespace log {
namespace {

struct EventLine {
  SchemaNumber schema;
  Time time;
  std::string type;
  RawJson payload;
};
struct RecordLine {
  SchemaNumber schema;
  std::uint64_t seq = 0;
  Time time;
  std::string type;
  Reason reason;
  RawJson payload;
  std::string build;
};

}  // namespace

template <>
inline constexpr auto kFields<EventLine> =
    std::tuple{Field{"schema", &EventLine::schema}, Field{"time", &EventLine::time},
               Field{"type", &EventLine::type}, Field{"payload", &EventLine::payload}};
template <>
inline constexpr auto kFields<RecordLine> =
    std::tuple{Field{"schema", &RecordLine::schema}, Field{"seq", &RecordLine::seq},
               Field{"time", &RecordLine::time},     Field{"type", &RecordLine::type},
               Field{"reason", &RecordLine::reason}, Field{"payload", &RecordLine::payload},
               Field{"build", &RecordLine::build}};

}  // namespace log

namespace {

using log::Reader;
using log::Writer;

template <class Alternative, class What>
bool take_alternative(Reader& reader, What& what) {
  return reader.take_all(what.template emplace<Alternative>());
}

// The alternatives of a variant, by name.
template <class What>
struct Type {
  std::string_view name;
  bool (*take)(Reader&, What&);
};
template <class... Alternatives>
constexpr auto types_of(std::type_identity<std::variant<Alternatives...>>) {
  using What = std::variant<Alternatives...>;
  return std::array{
      Type<What>{log::kTypeName<Alternatives>, take_alternative<Alternatives, What>}...};
}
template <class What>
constexpr auto kTypes = types_of(std::type_identity<What>{});

template <class What>
Result<What> read_payload(std::string_view type, std::string_view payload, std::string_view of) {
  const auto& types = kTypes<What>;
  const auto known = std::find_if(types.begin(), types.end(),
                                  [&](const Type<What>& each) { return each.name == type; });
  if (known == types.end()) {
    return bad_input(Diagnostic{"", 0, "type", shortened(type),
                                fmt::format("a type of {} that this version of weir knows", of)});
  }
  Reader reader{payload};
  What what;
  if (known->take(reader, what)) return what;
  reader.below("payload");
  return bad_input(reader.mistake());
}

tl::unexpected<Error> mistake_of(const Reader& reader, std::string_view line_is) {
  Diagnostic mistake = reader.mistake();
  if (mistake.field.empty()) mistake.field = line_is;
  return bad_input(std::move(mistake));
}

}  // namespace

std::string_view type_name(const Record& record) {
  return kTypes<decltype(Record::what)>[record.what.index()].name;
}

std::string_view reason_name(ReasonCode code) {
  return log::name_of(code);
}

void append_event_line(std::string& out, const Event& event) {
  Writer writer{out};
  writer.raw("{\"schema\":");
  writer.put(kRecordLogSchema);
  writer.raw(",\"time\":");
  writer.put(event.at);
  writer.raw(",\"type\":\"");
  writer.raw(kTypes<decltype(Event::what)>[event.what.index()].name);
  writer.raw("\",\"payload\":");
  std::visit([&](const auto& what) { writer.put(what); }, event.what);
  writer.raw("}");
}

Result<Event> read_event_line(std::string_view line) {
  Reader reader{line};
  log::EventLine parts;
  if (!reader.take_all(parts)) return mistake_of(reader, "event");
  auto what = read_payload<decltype(Event::what)>(parts.type, parts.payload.text, "event");
  if (!what) return tl::unexpected(std::move(what.error()));
  return Event{parts.time, std::move(*what)};
}

void append_record_line(std::string& out, const Record& record, std::uint64_t seq,
                        std::string_view build) {
  Writer writer{out};
  writer.raw("{\"schema\":");
  writer.put(kRecordLogSchema);
  writer.raw(",\"seq\":");
  writer.put(seq);
  writer.raw(",\"time\":");
  writer.put(record.at);
  writer.raw(",\"type\":\"");
  writer.raw(type_name(record));
  writer.raw("\",\"reason\":");
  writer.put(record.reason);
  writer.raw(",\"payload\":");
  std::visit([&](const auto& what) { writer.put(what); }, record.what);
  writer.raw(",\"build\":");
  writer.put(build);
  writer.raw("}");
}

Result<LogEntry> read_record_line(std::string_view line) {
  Reader reader{line};
  log::RecordLine parts;
  if (!reader.take_all(parts)) return mistake_of(reader, "record");
  auto what = read_payload<decltype(Record::what)>(parts.type, parts.payload.text, "record");
  if (!what) return tl::unexpected(std::move(what.error()));
  return LogEntry{parts.seq, Record{parts.time, parts.reason, std::move(*what)},
                  std::move(parts.build)};
}

}  // namespace weir::formats
