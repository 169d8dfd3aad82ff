// SPDX-License-Identifier: Apache-2.0
#include "report/html_page.h"

#include <fmt/format.h>

#include "report/report_data.h"
#include "report/svg_plot.h"

namespace weir::report {
namespace {

constexpr std::string_view kPageStyle = R"css(
:root { color-scheme: light dark; --ink: #1c2024; --quiet: #575e66; --grid: #e3e6ea; --page: #ffffff;
  --panel: #f5f7f9; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --quiet: #a3abb3; --grid: #33383e; --page: #15181b; --panel: #1f2327; }
}
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.25rem; }
p { max-width: 48rem; margin: 0.5rem 0; }
.headline { font-size: 1.1rem; }
.quiet, footer { color: var(--quiet); }
code { background: var(--panel); padding: 0.15rem 0.4rem; border-radius: 4px; overflow-wrap: anywhere; }
pre { background: var(--panel); padding: 0.6rem 0.8rem; border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
dl { display: flex; flex-wrap: wrap; gap: 0.25rem 2rem; margin: 1rem 0; }
dl div { display: flex; gap: 0.5rem; }
dt { color: var(--quiet); }
dd { margin: 0; font-weight: 600; }
figure { margin: 1rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); padding: 0.4rem 0; }
th, td { padding: 0.3rem 0.9rem 0.3rem 0; text-align: left; border-bottom: 1px solid var(--grid); white-space: nowrap; }
.right { text-align: right; }
thead th { vertical-align: bottom; }
tbody th { font-weight: 600; }
summary { cursor: pointer; padding: 0.3rem 0; color: var(--quiet); }
footer { margin: 3rem 0 1rem; font-size: 0.875rem; }
@media print { details:not([open]) > *:not(summary) { display: block; } }
)css";

std::string_view class_of(Align align) {
  return align == Align::right ? " class=\"right\"" : "";
}

}  // namespace

std::string to_html(const Table& table) {
  std::string html = "<div class=\"scroll\" tabindex=\"0\"><table>\n";
  html += fmt::format("<caption>{}</caption>\n<thead><tr>", escape_markup(table.title));
  for (const Column& column : table.columns) {
    html += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(column.align),
                        escape_markup(column.heading));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      html += c == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", class_of(table.columns[c].align),
                                   escape_markup(row[c]))
                     : fmt::format("<td{}>{}</td>", class_of(table.columns[c].align),
                                   escape_markup(row[c]));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string folded(std::string_view summary, const std::string& content) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", escape_markup(summary),
                     content);
}

std::string figure(const std::string& heading, const std::string& explanation,
                   const std::string& svg, const Table& table) {
  return fmt::format("<h2>{}</h2>\n<p>{}</p>\n<figure>\n{}{}</figure>\n", escape_markup(heading),
                     escape_markup(explanation), svg,
                     folded("The numbers of this plot", to_html(table)));
}

std::string page(const ReportHeader& header, std::string_view title, const std::string& headline,
                 const std::string& content, std::string_view footer, const std::string& data) {
  std::string facts;
  for (const auto& [name, value] : header.facts) {
    facts += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_markup(name),
                         escape_markup(value));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>weir: {0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<main>\n"
      "<p class=\"quiet\">weir {3}</p>\n<h1>{0}</h1>\n{4}<dl>\n{5}</dl>\n"
      "<p class=\"quiet\">Make this page again (options at their default are left out):</p>\n"
      "<pre>{6}</pre>\n{7}"
      "<footer>{8}</footer>\n</main>\n{9}</body>\n</html>\n",
      escape_markup(title), kPageStyle, plot_style(), escape_markup(header.version),
      headline.empty() ? ""
                       : fmt::format("<p class=\"headline\">{}</p>\n", escape_markup(headline)),
      facts, escape_markup(header.recipe), content, escape_markup(footer), data_element(data));
}

}  // namespace weir::report
