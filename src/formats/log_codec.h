// SPDX-License-Identifier: Apache-2.0
//
// Events and records as single lines of JSON, without the newline: what the record log is made of,
// in a file (record_log.h) or in the control plane's store. What is written reads back equal, and
// written again gives the same bytes.
//
//   {"schema":1,"time":3715485000000000,"type":"training_submitted","payload":{...}}
//   {"schema":1,"seq":7,"time":3715485000000000,"type":"promise_made","reason":{...},
//     "payload":{...},"build":"0.1.0"}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/event.h"
#include "domain/record.h"
#include "domain/result.h"
#include "formats/record_log.h"

namespace weir::formats {

void append_event_line(std::string& out, const Event& event);
Result<Event> read_event_line(std::string_view line);

void append_record_line(std::string& out, const Record& record, std::uint64_t seq,
                        std::string_view build);
Result<LogEntry> read_record_line(std::string_view line);

}  // namespace weir::formats
