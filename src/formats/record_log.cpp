// SPDX-License-Identifier: Apache-2.0
#include "formats/record_log.h"

#include <fmt/format.h>

#include <ostream>
#include <span>
#include <utility>

#include "formats/log_codec.h"
#include "formats/record_log_header.h"

namespace weir::formats {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

}  // namespace

RecordLogWriter::RecordLogWriter(std::ostream& out, std::string_view build, std::uint64_t first_seq)
    : out_{out}, build_{build}, next_seq_{first_seq} {}

void RecordLogWriter::write(const RecordLogHeader& header) {
  line_.clear();
  append_header_line(line_, header, build_);
  write_line();
}

void RecordLogWriter::write(const Record& record) {
  line_.clear();
  append_record_line(line_, record, next_seq_++, build_);
  write_line();
}

void RecordLogWriter::write_line() {
  line_ += '\n';
  out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
}

Diagnostic RecordLogReader::mistake(std::string field, std::string found,
                                    std::string expected) const {
  return {input_.name(), line_number_, std::move(field), std::move(found), std::move(expected)};
}

Result<RecordLogReader> RecordLogReader::open(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return open(std::move(*input));
}

Result<std::optional<std::string_view>> RecordLogReader::next_line() {
  std::size_t searched = begin_;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::string_view line{buffer_.data() + begin_, end - begin_};
      begin_ = end + 1;
      ++line_number_;
      return line;
    }
    if (at_end_) {
      if (begin_ == buffer_.size()) return std::nullopt;
      const std::string_view line{buffer_.data() + begin_, buffer_.size() - begin_};
      begin_ = buffer_.size();
      ++line_number_;
      is_unfinished_ = true;
      return line;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    if (searched > kMaxLineBytes) {
      ++line_number_;
      return bad_input(mistake("line", "too long", "lines of at most 64 MiB"));
    }
    buffer_.resize(searched + kChunk);
    const auto got = input_.read(std::span{buffer_}.subspan(searched));
    if (!got) return tl::unexpected(got.error());
    buffer_.resize(searched + *got);
    at_end_ = *got < kChunk;
  }
}

// Says where in the file the mistake is. The last line may have been cut by a crash or a full disk:
// then say how far the log is good.
tl::unexpected<Error> RecordLogReader::in_line(const Error& error) const {
  if (is_unfinished_) {
    return bad_input(
        mistake("log",
                last_seq_ ? fmt::format("cut off after seq {}", *last_seq_)
                          : std::string{"cut off before its first record"},
                "a log that ends with a whole line (remove the last one to use what came before)"));
  }
  const Diagnostic& why = error.details.list().front();
  return bad_input(mistake(why.field, why.found, why.expected));
}

Result<RecordLogReader> RecordLogReader::open(InputFile input) {
  RecordLogReader log{std::move(input)};
  const auto line = log.next_line();
  if (!line) return tl::unexpected(line.error());
  if (!*line) return bad_input(log.mistake("file", "empty", "a record log"));
  auto header = read_header_line(**line);
  if (!header) return log.in_line(header.error());
  log.header_ = std::move(*header);
  return log;
}

Result<std::optional<LogEntry>> RecordLogReader::next() {
  while (true) {
    auto line = next_line_of_any_kind();
    if (!line) return tl::unexpected(std::move(line.error()));
    if (!*line) return std::nullopt;
    if (auto* entry = std::get_if<LogEntry>(&(*line)->what)) return std::move(*entry);
  }
}

Result<std::optional<RecordLogReader::Line>> RecordLogReader::next_line_of_any_kind() {
  if (is_over_) return std::nullopt;
  is_over_ = true;  // unless all goes well
  const auto line = next_line();
  if (!line) return tl::unexpected(line.error());
  if (!*line) return std::nullopt;
  // Records are numbered, events are not.
  constexpr std::size_t kLongestStart = 40;
  Line read{LogEntry{}, **line};
  if ((*line)->substr(0, kLongestStart).find("\"seq\":") != std::string_view::npos) {
    auto entry = read_entry(**line);
    if (!entry) return tl::unexpected(std::move(entry.error()));
    read.what = std::move(*entry);
  } else if (auto event = read_event_line(**line)) {
    read.what = std::move(*event);
  } else if (auto entry = read_entry(**line)) {
    read.what = std::move(*entry);
  } else {
    return tl::unexpected(std::move(entry.error()));
  }
  is_over_ = false;
  return read;
}

Result<LogEntry> RecordLogReader::read_entry(std::string_view line) {
  auto entry = read_record_line(line);
  if (!entry) return in_line(entry.error());
  if (last_seq_ && entry->seq != *last_seq_ + 1) {
    return bad_input(mistake("seq", fmt::to_string(entry->seq),
                             fmt::format("{}, as records follow each other", *last_seq_ + 1)));
  }
  last_seq_ = entry->seq;
  return entry;
}

}  // namespace weir::formats
