// SPDX-License-Identifier: Apache-2.0
#include "transport/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "transport/utf8.h"

namespace weir::transport {
namespace {

constexpr std::pair<int, std::string_view> kReasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string where(const Diagnostic& mistake) {
  return mistake.line > 0 ? fmt::format("{}:{}", mistake.file, mistake.line) : mistake.file;
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  if (out.back() != '{') out += ',';
  append_json_string(out, name);
  out += ':';
  append_json_string(out, value);
}

void append_mistake(std::string& out, const Diagnostic& mistake) {
  out += '{';
  if (!mistake.file.empty()) append_member(out, "where", where(mistake));
  if (!mistake.field.empty()) append_member(out, "field", mistake.field);
  if (!mistake.found.empty()) append_member(out, "found", mistake.found);
  append_member(out, "expected", mistake.expected);
  append_member(out, "message", to_string(mistake));
  out += '}';
}

template <class Pairs>
auto find_pair(const Pairs& pairs, std::string_view name) {
  return std::find_if(pairs.begin(), pairs.end(),
                      [&](const auto& pair) { return pair.first == name; });
}

}  // namespace

bool same_header_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> HeaderList::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (same_header_name(field.first, name)) return field.second;
  }
  return std::nullopt;
}

std::size_t HeaderList::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      begin(), end(), [&](const Field& field) { return same_header_name(field.first, name); }));
}

std::string_view HttpRequest::parameter(std::string_view name) const {
  const auto found = find_pair(parameters, name);
  assert(found != parameters.end() && "the route has no such parameter");
  return found == parameters.end() ? std::string_view{} : std::string_view{found->second};
}

std::optional<std::string_view> HttpRequest::query_value(std::string_view name) const {
  const auto found = find_pair(query, name);
  if (found == query.end()) return std::nullopt;
  return found->second;
}

HttpResponse problem(int status, std::string_view title, std::string_view detail,
                     const Diagnostics& errors) {
  std::string body = "{";
  append_member(body, "type", "about:blank");
  append_member(body, "title", title.empty() ? reason_phrase(status) : title);
  body += fmt::format(",\"status\":{}", status);
  if (!detail.empty()) append_member(body, "detail", detail);
  if (!errors.empty()) {
    body += ",\"errors\":[";
    for (const Diagnostic& mistake : errors.list()) {
      if (body.back() != '[') body += ',';
      append_mistake(body, mistake);
    }
    body += ']';
  }
  body += "}\n";
  return HttpResponse{status, std::string{kProblemContentType}, std::move(body), {}};
}

std::string_view reason_phrase(int status) {
  for (const auto& [code, reason] : kReasons) {
    if (code == status) return reason;
  }
  return "Status";
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_character_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD
      text.remove_prefix(1);
      continue;
    }
    const char c = text.front();
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

}  // namespace weir::transport
