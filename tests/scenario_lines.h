// SPDX-License-Identifier: Apache-2.0
//
// What scenario files of every kind have in common: lines of words with comments, times, nodes that
// come and go, and what is expected.
#pragma once

#include <charconv>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "domain/cluster.h"
#include "domain/diagnostics.h"
#include "domain/time.h"
#include "formats/quantity_text.h"

namespace weir::tests {

// At the end of a scenario: these lines of the log, and maybe no others.
struct Expectations {
  std::vector<std::string> lines;
  bool nothing_else = false;
};

class ScenarioLines {
 public:
  explicit ScenarioLines(std::string file) : file_{std::move(file)} {}
  const Diagnostics& mistakes() const { return mistakes_; }

 protected:
  // The keyword; empty when the line says nothing.
  std::string begin(const std::string& text) {
    ++line_;
    std::istringstream words{text.substr(0, text.find('#'))};
    words_.assign(std::istream_iterator<std::string>{words}, {});
    return words_.empty() ? "" : words_.front();
  }
  // Of the line that was begun last, the keyword first.
  const std::vector<std::string>& words() const { return words_; }

  void mistake(std::string field, std::string found, std::string expected) {
    mistakes_.add({file_, line_, std::move(field), std::move(found), std::move(expected)});
  }

  std::int64_t number(const std::string& field, const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      mistake(field, text, "a whole number");
    return value;
  }

  Duration duration(const std::string& field, const std::string& text) {
    const auto parsed = formats::parse_duration(text);
    if (!parsed) mistake(field, text, "a time such as 90s or 1h30m");
    return parsed.value_or(Duration{0});
  }

  // lose node-1 at 5s: tell(when, node)
  template <class Tell>
  void node_event(const Cluster& cluster, Tell tell) {
    if (words_.size() != 4 || words_[2] != "at") return mistake(words_[0], "", "`node-1 at 5s`");
    for (const Node& node : cluster.nodes) {
      if (node.name == words_[1]) return tell(Time{duration("at", words_[3])}, node.id);
    }
    mistake(words_[0], words_[1], "a node of the cluster, such as node-1");
  }

  void expect(const std::string& text, const char* example, Expectations& expected) {
    std::string line = text.substr(text.find("expect") + 6);
    line = line.substr(0, line.find('#'));
    line.erase(0, line.find_first_not_of(' '));
    line.erase(line.find_last_not_of(" \r") + 1);
    if (line == "nothing else") {
      expected.nothing_else = true;
    } else if (line.starts_with("at ")) {
      expected.lines.push_back(line);
    } else {
      mistake("expect", line, std::string{"`"} + example + "` or `nothing else`");
    }
  }

 private:
  std::string file_;
  std::uint64_t line_ = 0;
  std::vector<std::string> words_;
  Diagnostics mistakes_;
};

}  // namespace weir::tests
