// SPDX-License-Identifier: Apache-2.0
//
// A record log: what was read can be written, and reads back equal.
#include <sstream>
#include <vector>

#include "formats/record_log.h"
#include "round_trip_check.h"

namespace {

using namespace weir;

// The records before the first mistake.
std::vector<Record> records_of(formats::RecordLogReader& log) {
  std::vector<Record> records;
  while (true) {
    auto entry = log.next();
    fuzz::check_refusal(entry);
    if (!entry || !*entry) return records;
    records.push_back(std::move((*entry)->record));
  }
}

std::string written(const formats::RecordLogHeader& header, const std::vector<Record>& records) {
  std::ostringstream out;
  formats::RecordLogWriter writer{out, "fuzz"};
  writer.write(header);
  for (const Record& record : records) writer.write(record);
  return out.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  auto input = formats::InputFile::from_memory("fuzz.jsonl", fuzz::text_of(data, size));
  if (!input) return 0;
  auto log = formats::RecordLogReader::open(std::move(*input));
  fuzz::check_refusal(log);
  if (!log) return 0;
  const auto records = records_of(*log);
  const std::string text = written(log->header(), records);
  auto back = formats::RecordLogReader::open(*formats::InputFile::from_memory("back.jsonl", text));
  fuzz::check(back.has_value(), "a written log has a header");
  fuzz::check(back->header() == log->header(), "a header comes back");
  const auto same = records_of(*back);
  fuzz::check(same == records, "records come back");
  fuzz::check(written(back->header(), same) == text, "and give the same bytes");
  return 0;
}
