// SPDX-License-Identifier: Apache-2.0
//
// CSV files, read row by row. Quotes, CRLF, a UTF-8 byte order mark and a missing last newline are
// understood; blank lines are skipped. A row may span lines inside quotes but is at most
// kMaxCsvRowBytes long, so a file that is one gigabyte-long line costs one error, not a gigabyte.
//
// CsvReader gives rows as they stand. CsvTable, on top, knows the columns by name (in any order,
// unknown ones ignored) and collects every mistake:
//
//   constexpr std::array<CsvColumn, 2> kColumns{{{"sn", true}, {"gpu", true}}};
//   CsvTable table{std::move(input), kColumns};
//   while (table.next()) {
//     const auto gpus = table.integer(1, 0, 16);   // nothing when wrong; the mistake is noted
//     ...
//   }
//   if (!table.mistakes().empty()) return table.failure();
//
// Cells are views into the reader's buffer and die with the next row.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

inline constexpr std::size_t kMaxCsvRowBytes = std::size_t{1} << 20;

class CsvReader {
 public:
  explicit CsvReader(InputFile input);

  // Goes to the next row that is well formed. False at the end of the input and when reading cannot
  // go on; mistakes on the way are added to `mistakes`.
  bool next(Diagnostics& mistakes);

  std::span<const std::string_view> cells() const { return cells_; }
  // The line on which the row starts, from 1.
  std::uint64_t line() const { return row_line_; }
  const std::string& name() const { return input_.name(); }
  // How the input failed when next() could not go on because of it, not of its content.
  ErrorCode error_code() const { return error_code_; }

 private:
  enum class Scan : std::uint8_t { row, blank, malformed, incomplete };

  Scan scan_row();
  Scan scan_quoted_row();
  bool split_quoted(char* at, char* end);
  bool refill(Diagnostics& mistakes);
  void consume(const char* row_end);
  void note(Diagnostics& mistakes, std::string field, std::string found,
            std::string expected) const;

  InputFile input_;
  std::vector<char> buffer_;  // [begin_, end_) is unread; buffer_[end_] is a newline, the sentinel
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_start_ = true;
  bool at_end_ = false;
  bool stopped_ = false;
  std::vector<std::string_view> cells_;
  std::uint64_t next_line_ = 1;
  std::uint64_t row_line_ = 0;
  ErrorCode error_code_ = ErrorCode::bad_input;
};

struct CsvColumn {
  std::string_view name;
  bool is_required = true;
  // Read in its place where the file does not have `name`; the first that is there. Unused: empty.
  std::array<std::string_view, 2> other_names{};
};

class CsvTable {
 public:
  // Columns are addressed by their index in `columns`, which must outlive the table.
  CsvTable(InputFile input, std::span<const CsvColumn> columns);

  // The next row with as many cells as the header. False at the end, after a header that will not
  // do, and once so many mistakes were found that more would not be kept.
  bool next();

  bool has(std::size_t column) const { return places_[column] != kAbsent; }
  // Empty when the file does not have the column.
  std::string_view cell(std::size_t column) const {
    return has(column) ? reader_.cells()[places_[column]] : std::string_view{};
  }
  // The column's name as the file spells it.
  std::string_view name(std::size_t column) const { return spellings_[column]; }
  std::uint64_t line() const { return reader_.line(); }

  // The cell as an integer within the limits; otherwise nothing, and the mistake is noted.
  std::optional<std::int64_t> integer(std::size_t column, std::int64_t least, std::int64_t most);
  // The place of the cell among `choices`; otherwise nothing, and the mistake is noted.
  std::optional<std::size_t> choice(std::size_t column, std::span<const std::string_view> choices);

  // Notes that the cell, or a part of it, is wrong.
  void reject(std::size_t column, std::string expected) {
    reject(column, cell(column), std::move(expected));
  }
  void reject(std::size_t column, std::string_view found, std::string expected);

  const Diagnostics& mistakes() const { return mistakes_; }
  tl::unexpected<Error> failure() const;

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  void read_header();
  void find_column(std::size_t column);

  CsvReader reader_;
  std::span<const CsvColumn> columns_;
  std::vector<std::size_t> places_;          // by column: which cell of a row, or kAbsent
  std::vector<std::string_view> spellings_;  // by column: its name in this file
  std::size_t width_ = 0;
  bool is_usable_ = false;
  Diagnostics mistakes_;
};

}  // namespace weir::formats
