// SPDX-License-Identifier: Apache-2.0
#include "formats/csv_writer.h"

#include <ostream>

namespace weir::formats {
namespace {

// Spaces at the edges and a byte order mark are legal but get lost in some readers.
bool needs_quotes(std::string_view text) {
  return text.find_first_of(",\"\n\r") != std::string_view::npos || text.starts_with(' ') ||
         text.starts_with('\t') || text.ends_with(' ') || text.ends_with('\t') ||
         text.starts_with("\xEF\xBB\xBF");
}

}  // namespace

CsvWriter& CsvWriter::cell(std::string_view text) {
  if (has_cells_) row_ += ',';
  has_cells_ = true;
  if (!needs_quotes(text)) {
    row_ += text;
    return *this;
  }
  row_ += '"';
  for (const char c : text) {
    if (c == '"') row_ += '"';
    row_ += c;
  }
  row_ += '"';
  return *this;
}

void CsvWriter::end_row() {
  if (has_cells_ && row_.empty()) row_ = "\"\"";  // a bare newline would be no row at all
  row_ += '\n';
  out_.write(row_.data(), static_cast<std::streamsize>(row_.size()));
  row_.clear();
  has_cells_ = false;
}

}  // namespace weir::formats
