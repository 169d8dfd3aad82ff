// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with an input, so that its author can mend it: where, what was found, what to write
// instead. A reader collects all mistakes of a file (up to kMaxDiagnostics) before it gives up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir {

struct Diagnostic {
  std::string file;        // empty for the command line
  std::uint64_t line = 0;  // 1-based; 0 when the mistake belongs to no line
  std::string field;       // column, key or option; may be empty
  std::string found;       // what is there; empty when something is missing
  std::string expected;    // what to write instead

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

// `trace.csv:118: gpus is "-2", expected 1 or more`
std::string to_string(const Diagnostic& diagnostic);

class Diagnostics {
 public:
  static constexpr std::size_t kMaxDiagnostics = 20;

  void add(Diagnostic diagnostic);
  void append(const Diagnostics& other);

  bool empty() const { return kept_.empty(); }
  // True once further mistakes would only be counted: a reader may stop there.
  bool full() const { return kept_.size() >= kMaxDiagnostics; }
  std::size_t total() const { return total_; }
  const std::vector<Diagnostic>& list() const { return kept_; }

 private:
  std::vector<Diagnostic> kept_;
  std::size_t total_ = 0;
};

// One line per mistake; a last line says how many more there are.
std::string to_string(const Diagnostics& diagnostics);

}  // namespace weir
