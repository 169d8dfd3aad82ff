// SPDX-License-Identifier: Apache-2.0
//
// One line of the store: as an event and as a record. What is read can be written, and reads back
// equal.
#include <string>

#include "formats/log_codec.h"
#include "round_trip_check.h"

namespace {

using namespace weir;

// A line has no file; the reader of the store adds it.
template <class T>
void check_line_refusal(const Result<T>& read) {
  if (read) return;
  fuzz::check(!read.error().details.empty(), "an error has a diagnostic");
  const Diagnostic& mistake = read.error().details.list().front();
  fuzz::check(!mistake.expected.empty() && !mistake.field.empty(),
              "a diagnostic says what is wrong");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view line = fuzz::text_of(data, size);
  const auto event = formats::read_event_line(line);
  check_line_refusal(event);
  if (event) {
    std::string text;
    formats::append_event_line(text, *event);
    const auto back = formats::read_event_line(text);
    fuzz::check(back && back->at == event->at && back->what == event->what, "an event comes back");
    std::string again;
    formats::append_event_line(again, *back);
    fuzz::check(again == text, "and gives the same bytes");
  }
  const auto entry = formats::read_record_line(line);
  check_line_refusal(entry);
  if (entry) {
    std::string text;
    formats::append_record_line(text, entry->record, entry->seq, entry->build);
    const auto back = formats::read_record_line(text);
    fuzz::check(back && *back == *entry, "a record comes back");
  }
  return 0;
}
