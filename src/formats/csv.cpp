// SPDX-License-Identifier: Apache-2.0
#include "formats/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

namespace weir::formats {
namespace {

// The buffer starts small, for small files, and doubles with each refill.
constexpr std::size_t kFirstChunk = std::size_t{8} << 10;
constexpr std::size_t kLargestChunk = std::size_t{256} << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::array<bool, 256> kEndsPlainText = [] {
  std::array<bool, 256> table{};
  table[','] = table['\n'] = table['"'] = true;
  return table;
}();

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

// The quote that ends the cell, passing doubled ones; `end` when there is none.
char* closing_quote(char* at, char* end) {
  while (true) {
    at = std::find(at, end, '"');
    if (at == end || at + 1 == end || at[1] != '"') return at;
    at += 2;
  }
}

std::string_view without_carriage_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

CsvReader::CsvReader(InputFile input) : input_{std::move(input)}, buffer_(kFirstChunk + 1, '\n') {}

void CsvReader::note(Diagnostics& mistakes, std::string field, std::string found,
                     std::string expected) const {
  mistakes.add(
      Diagnostic{name(), next_line_, std::move(field), std::move(found), std::move(expected)});
}

bool CsvReader::next(Diagnostics& mistakes) {
  while (!stopped_ && !mistakes.full()) {
    row_line_ = next_line_;
    switch (scan_row()) {
      case Scan::row:
        return true;
      case Scan::blank:
        break;
      case Scan::malformed:
        mistakes.add(Diagnostic{name(), row_line_, "quoted cell", "followed by more text",
                                "a comma or the end of the line after the closing quote"});
        break;
      case Scan::incomplete:
        if (!refill(mistakes)) stopped_ = true;
        break;
    }
  }
  return false;
}

// Splits the row at begin_ in one pass. The newline behind end_ stops the inner loop without a test
// for the end of the buffer.
CsvReader::Scan CsvReader::scan_row() {
  if (begin_ == end_) return Scan::incomplete;
  cells_.clear();
  const char* const limit = buffer_.data() + end_;
  const char* const row = buffer_.data() + begin_;
  const char* cell = row;
  const char* at = row;
  while (true) {
    while (!kEndsPlainText[static_cast<unsigned char>(*at)]) ++at;
    if (*at == ',') {
      cells_.emplace_back(cell, static_cast<std::size_t>(at - cell));
      cell = ++at;
    } else if (*at == '"') {
      if (at == cell) return scan_quoted_row();
      ++at;  // a quote inside plain text is just a quote
    } else {
      break;
    }
  }
  if (at == limit && !at_end_) return Scan::incomplete;
  if (static_cast<std::size_t>(at - row) > kMaxCsvRowBytes)
    return Scan::incomplete;  // refill says so
  const std::string_view last =
      without_carriage_return({cell, static_cast<std::size_t>(at - cell)});
  const bool is_single = cells_.empty();
  cells_.push_back(last);
  consume(at);
  return is_single && is_blank(last) ? Scan::blank : Scan::row;
}

// The slow path, for a row with at least one quoted cell: first finds where the row ends without
// changing anything, because more input may be needed, then splits it and undoubles quotes in
// place.
CsvReader::Scan CsvReader::scan_quoted_row() {
  char* const limit = buffer_.data() + end_;
  char* const row = buffer_.data() + begin_;
  bool is_open = false;
  char* at = row;
  while (true) {
    if (at != limit && *at == '"') {
      at = closing_quote(at + 1, limit);
      is_open = at == limit;
      if (!is_open) ++at;
    }
    while (at != limit && *at != ',' && *at != '\n') ++at;
    if (at == limit || *at == '\n') break;
    ++at;
  }
  if (at == limit && (!at_end_ || is_open)) return Scan::incomplete;
  if (static_cast<std::size_t>(at - row) > kMaxCsvRowBytes) return Scan::incomplete;
  const auto inner_lines = static_cast<std::uint64_t>(std::count(row, at, '\n'));
  const bool is_well_formed = split_quoted(row, at);
  consume(at);
  next_line_ += inner_lines;
  return is_well_formed ? Scan::row : Scan::malformed;
}

bool CsvReader::split_quoted(char* at, char* end) {
  cells_.clear();
  if (end != at && end[-1] == '\r') --end;
  while (true) {
    char* const cell = at;
    char* out = at;
    if (at != end && *at == '"') {
      for (++at; at != end; ++at) {
        if (*at == '"') {
          if (at + 1 == end || at[1] != '"') break;
          ++at;
        }
        *out++ = *at;
      }
      if (at != end) ++at;  // the closing quote
      if (at != end && *at != ',') return false;
    } else {
      at = out = std::find(at, end, ',');
    }
    cells_.emplace_back(cell, static_cast<std::size_t>(out - cell));
    if (at == end) return true;
    ++at;
  }
}

void CsvReader::consume(const char* row_end) {
  begin_ = std::min(static_cast<std::size_t>(row_end - buffer_.data()) + 1, end_);
  ++next_line_;
}

// Called when the row at begin_ cannot be had from the buffer. False when it never will.
bool CsvReader::refill(Diagnostics& mistakes) {
  if (end_ - begin_ > kMaxCsvRowBytes) {
    note(mistakes, "line", "longer than 1 MiB",
         "at most 1 MiB (is a newline or a closing quote missing?)");
    return false;
  }
  if (at_end_) {
    if (begin_ != end_)
      note(mistakes, "quoted cell", "never closed", "a closing quote before the end of the file");
    return false;
  }
  const std::size_t kept = end_ - begin_;
  if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
  const std::size_t chunk = at_start_ ? kFirstChunk : std::min(2 * buffer_.size(), kLargestChunk);
  buffer_.resize(std::max(buffer_.size(), kept + chunk + 1));
  begin_ = 0;
  const std::size_t room = buffer_.size() - 1 - kept;
  const auto got = input_.read(std::span{buffer_}.subspan(kept, room));
  if (!got) {
    mistakes.append(got.error().details);
    error_code_ = got.error().code;
    return false;
  }
  end_ = kept + *got;
  at_end_ = *got < room;
  buffer_[end_] = '\n';
  if (std::exchange(at_start_, false) &&
      std::string_view{buffer_.data(), end_}.starts_with(kByteOrderMark)) {
    begin_ = kByteOrderMark.size();
  }
  return true;
}

CsvTable::CsvTable(InputFile input, std::span<const CsvColumn> columns)
    : reader_{std::move(input)}, columns_{columns}, places_(columns.size(), kAbsent) {
  for (const CsvColumn& column : columns_) spellings_.push_back(column.name);
  read_header();
}

void CsvTable::read_header() {
  if (!reader_.next(mistakes_)) {
    if (mistakes_.empty()) {
      std::string names;
      for (const CsvColumn& column : columns_) {
        if (column.is_required) names.append(names.empty() ? "" : ",").append(column.name);
      }
      mistakes_.add(Diagnostic{reader_.name(), 0, "file", "empty", "a first line " + names});
    }
    return;
  }
  width_ = reader_.cells().size();
  for (std::size_t column = 0; column < columns_.size(); ++column) find_column(column);
  is_usable_ = mistakes_.empty();
}

void CsvTable::find_column(std::size_t column) {
  const auto note = [this](std::string_view name, std::string found, std::string expected) {
    mistakes_.add(Diagnostic{reader_.name(), reader_.line(), fmt::format("column {}", name),
                             std::move(found), std::move(expected)});
  };
  const auto cells = reader_.cells();
  const auto take = [&](std::string_view name) {
    const auto at = std::find(cells.begin(), cells.end(), name);
    if (name.empty() || at == cells.end()) return false;
    places_[column] = static_cast<std::size_t>(at - cells.begin());
    spellings_[column] = name;
    if (std::find(at + 1, cells.end(), name) != cells.end()) note(name, "given twice", "it once");
    return true;
  };
  const CsvColumn& wanted = columns_[column];
  if (take(wanted.name)) return;
  std::string others;
  for (const std::string_view other : wanted.other_names) {
    if (take(other)) return;
    if (!other.empty()) others.append(others.empty() ? " or " : ", ").append(other);
  }
  if (wanted.is_required) note(wanted.name, "", fmt::format("it{} in the first line", others));
}

bool CsvTable::next() {
  while (is_usable_ && reader_.next(mistakes_)) {
    const std::size_t size = reader_.cells().size();
    if (size == width_) return true;
    mistakes_.add(Diagnostic{reader_.name(), reader_.line(), "row", fmt::format("{} cells", size),
                             fmt::format("{} cells, as many as the first line has", width_)});
  }
  return false;
}

std::optional<std::int64_t> CsvTable::integer(std::size_t column, std::int64_t least,
                                              std::int64_t most) {
  const std::string_view text = cell(column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) {
    return value;
  }
  reject(column, fmt::format("an integer from {} to {}", least, most));
  return std::nullopt;
}

std::optional<std::size_t> CsvTable::choice(std::size_t column,
                                            std::span<const std::string_view> choices) {
  const auto at = std::find(choices.begin(), choices.end(), cell(column));
  if (at != choices.end()) return static_cast<std::size_t>(at - choices.begin());
  reject(column, fmt::format("one of {}", fmt::join(choices, ", ")));
  return std::nullopt;
}

void CsvTable::reject(std::size_t column, std::string_view found, std::string expected) {
  mistakes_.add(Diagnostic{reader_.name(), reader_.line(), std::string{spellings_[column]},
                           std::string{found}, std::move(expected)});
}

tl::unexpected<Error> CsvTable::failure() const {
  return tl::unexpected(Error{reader_.error_code(), mistakes_});
}

}  // namespace weir::formats
