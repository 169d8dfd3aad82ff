// SPDX-License-Identifier: Apache-2.0
//
// How an entry of the log is kept: its lines in one text, and a checksum that covers its
// predecessor's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/store.h"
#include "domain/time.h"

namespace weir::control {

// An entry as its row has it.
struct LogRow {
  std::uint64_t entry = 0;
  std::int64_t at = 0;             // the event's time
  std::uint64_t first_record = 0;  // the number its first record has, or would have
  std::string_view body;           // the event's line, then one line per record; '\n' between
  std::uint64_t chain = 0;
};

// Two checksums in one number. The low half covers the row alone, so that one damaged row does not
// make its neighbours suspect; the high half covers it and the high half before it, so that no row
// can be missing, swapped or of another history.
struct Chain {
  std::uint32_t content = 0;
  std::uint32_t link = 0;

  static Chain of(std::uint64_t number) {
    return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32U)};
  }
  std::uint64_t number() const { return (static_cast<std::uint64_t>(link) << 32U) | content; }
  friend bool operator==(const Chain&, const Chain&) = default;
};

inline constexpr std::uint32_t kFirstLink = 0;  // before the first entry

std::uint32_t content_checksum(const LogRow& row);
std::uint32_t next_link(std::uint32_t link_before, std::uint32_t content);
std::uint32_t checksum_of(std::string_view bytes);

std::size_t record_count(std::string_view body);
RawEntry raw_entry(const LogRow& row);

// The jobs the records are about, each once, ascending.
std::vector<JobId> jobs_of(const std::vector<Record>& records);
// The job that is over with this record.
std::optional<JobId> job_ended_by(const Record& record);

}  // namespace weir::control
