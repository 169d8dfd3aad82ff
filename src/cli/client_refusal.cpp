// SPDX-License-Identifier: Apache-2.0
#include "cli/client_refusal.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

namespace weir::cli {
namespace {

Diagnostic mistake_of(const ApiJson& error, const formats::JobPlace* place) {
  Diagnostic mistake;
  mistake.field = printable(text_in(error, "field"));
  mistake.found = printable(text_in(error, "found"));
  mistake.expected = printable(text_in(error, "expected"));
  if (place != nullptr) {
    mistake.line = place->line_of(mistake.field);
    mistake.file = place->file;
  } else if (!mistake.field.empty() && !mistake.field.starts_with("command")) {
    mistake.field.insert(0, "--");
  }
  return mistake;
}

}  // namespace

Refusal refusal_of(const transport::HttpReply& reply, const formats::JobPlace* place) {
  Refusal refusal{problem_title(reply), {code_of_status(reply.status), {}}};
  const ApiJson problem = ApiJson::parse(reply.body, nullptr, false);
  if (!problem.is_object() || !problem.contains("errors") || !problem["errors"].is_array())
    return refusal;
  for (const ApiJson& error : problem["errors"])
    refusal.error.details.add(mistake_of(error, place));
  return refusal;
}

void add_to(Refusal& all, const Refusal& more) {
  if (all.title.empty()) {
    all.title = more.title;
    all.error.code = more.error.code;
  }
  all.error.details.append(more.error.details);
}

tl::unexpected<Error> tell(const Refusal& refusal, Console& console) {
  if (!refusal.title.empty()) console.err << "weir: " << refusal.title << "\n";
  return tl::unexpected(refusal.error);
}

ApiJson errors_of(const Refusal& refusal) {
  ApiJson errors = ApiJson::array();
  for (const Diagnostic& mistake : refusal.error.details.list()) {
    ApiJson& error = errors.emplace_back(ApiJson::object());
    if (!mistake.file.empty()) error["file"] = mistake.file;
    if (mistake.line != 0) error["line"] = mistake.line;
    if (!mistake.field.empty()) error["field"] = mistake.field;
    if (!mistake.found.empty()) error["found"] = mistake.found;
    error["expected"] = mistake.expected;
    error["message"] = to_string(mistake);
  }
  if (errors.empty()) errors.push_back({{"message", refusal.title}});
  return errors;
}

}  // namespace weir::cli
