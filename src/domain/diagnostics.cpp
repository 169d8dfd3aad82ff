// SPDX-License-Identifier: Apache-2.0
#include "domain/diagnostics.h"

#include <fmt/format.h>

#include <string_view>

#include "domain/whole_characters.h"

namespace weir {
namespace {

constexpr std::size_t kLongestQuote = 80;

// Input is not to be trusted on the reader's terminal: long text is cut, control bytes are shown.
std::string quoted(std::string_view text) {
  std::string shown;
  for (const char c : whole_characters(text, kLongestQuote)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  return text.size() > kLongestQuote ? fmt::format("\"{}...\" ({} characters)", shown, text.size())
                                     : fmt::format("\"{}\"", shown);
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.file;
  if (diagnostic.line > 0) text += fmt::format(":{}", diagnostic.line);
  if (!text.empty()) text += ": ";
  if (!diagnostic.field.empty()) text += diagnostic.field + " ";
  text += diagnostic.found.empty() ? "is missing" : "is " + quoted(diagnostic.found);
  return text + ", expected " + diagnostic.expected;
}

void Diagnostics::add(Diagnostic diagnostic) {
  ++total_;
  if (!full()) kept_.push_back(std::move(diagnostic));
}

void Diagnostics::append(const Diagnostics& other) {
  for (const Diagnostic& diagnostic : other.kept_) add(diagnostic);
  total_ += other.total_ - other.kept_.size();
}

std::string to_string(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.list()) text += to_string(diagnostic) + "\n";
  if (const std::size_t rest = diagnostics.total() - diagnostics.list().size(); rest > 0) {
    text += fmt::format("and {} more\n", rest);
  }
  return text;
}

}  // namespace weir
