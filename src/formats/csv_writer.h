// SPDX-License-Identifier: Apache-2.0
//
// Writes CSV that CsvReader, spreadsheets and pandas read back cell by cell: commas, newline ends
// the row, and quotes only where a cell needs them (RFC 4180, with \n for \r\n).
//
//   CsvWriter csv{out};
//   csv.cell("policy").cell("seed").end_row();
//   csv.cell("fgd").cell(42).end_row();
#pragma once

#include <concepts>
#include <iosfwd>
#include <string>
#include <string_view>

namespace weir::formats {

class CsvWriter {
 public:
  // Requires: `out` outlives the writer.
  explicit CsvWriter(std::ostream& out) : out_{out} {}

  CsvWriter& cell(std::string_view text);
  CsvWriter& cell(const char* text) { return cell(std::string_view{text}); }
  CsvWriter& cell(std::integral auto number) {
    return cell(std::string_view{std::to_string(number)});
  }
  void end_row();

 private:
  std::ostream& out_;
  std::string row_;
  bool has_cells_ = false;
};

}  // namespace weir::formats
