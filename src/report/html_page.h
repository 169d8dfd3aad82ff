// SPDX-License-Identifier: Apache-2.0
//
// The frame of an HTML report, and the pieces reports are made of. A page needs no network and no
// script, opens from a file, and follows the reader's light or dark setting. It holds no date and no
// machine name: the same runs give the same bytes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/table.h"

namespace weir::report {

struct ReportHeader {
  std::string recipe;   // the command line that makes this page again
  std::string version;  // of weir
  std::vector<std::pair<std::string, std::string>> facts;  // "nodes" -> "1213"
};

std::string to_html(const Table& table);

// Content that opens on a click.
std::string folded(std::string_view summary, const std::string& content);

// A plot with its heading, one sentence of explanation, and its numbers folded away beneath.
std::string figure(const std::string& heading, const std::string& explanation,
                   const std::string& svg, const Table& table);

// The whole page. `headline` is one sentence with the result; it may be empty. So may `data`, the JSON
// that the page carries for programs; nobody sees it, and nothing runs it.
std::string page(const ReportHeader& header, std::string_view title, const std::string& headline,
                 const std::string& content, std::string_view footer, const std::string& data = "");

}  // namespace weir::report
