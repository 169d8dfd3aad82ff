// SPDX-License-Identifier: Apache-2.0
#include "transport/request_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "transport/http_message.h"
#include "transport/utf8.h"

namespace weir::transport {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

// In a query line feeds and tabs are data, only NUL is not.
bool is_text(std::string_view text) {
  return is_utf8(text) && text.find('\0') == std::string_view::npos;
}

// "http://host/path" is allowed to servers too; the host does not matter here.
std::string_view without_origin(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() >= scheme.size() &&
        same_header_name(target.substr(0, scheme.size()), scheme)) {
      target.remove_prefix(scheme.size());
      const std::size_t slash = target.find_first_of("/?");
      return slash == std::string_view::npos ? "/" : target.substr(slash);
    }
  }
  return target;
}

std::optional<std::vector<std::string>> parse_path(std::string_view path, std::string& mistake) {
  std::vector<std::string> segments;
  if (path == "/" || path == "*") return segments;
  if (!path.starts_with('/')) {
    mistake = "the path must begin with '/'";
    return std::nullopt;
  }
  segments.reserve(static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')));
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    auto segment = percent_decoded(path.substr(0, end));
    path.remove_prefix(end);
    if (!segment) {
      mistake = "a '%' in the path is not followed by two hexadecimal digits";
    } else if (segment->empty()) {
      mistake = "the path has an empty segment (\"//\" or a '/' at its end)";
    } else if (*segment == "." || *segment == "..") {
      mistake = "the path has a segment \".\" or \"..\"";
    } else if (segment->find('/') != std::string::npos) {
      mistake = "the path has an encoded '/'";
    } else if (has_control_character(*segment)) {
      mistake = "the path has a control character";
    } else if (!is_utf8(*segment)) {
      mistake = "the path is not UTF-8";
    } else {
      segments.push_back(std::move(*segment));
      continue;
    }
    return std::nullopt;
  }
  return segments;
}

std::optional<std::string> parse_query_text(std::string_view text) {
  if (text.find_first_of("%+") == std::string_view::npos) return std::string{text};
  std::string spaced{text};
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return percent_decoded(spaced);
}

bool parse_query(std::string_view text, RequestTarget& out, std::string& mistake) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = parse_query_text(pair.substr(0, equals));
    auto value = parse_query_text(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) {
      mistake = "a '%' in the query is not followed by two hexadecimal digits";
      return false;
    }
    if (!is_text(*name) || !is_text(*value)) {
      mistake = "the query is not UTF-8 text";
      return false;
    }
    out.query.emplace_back(std::move(*name), std::move(*value));
  }
  return true;
}

}  // namespace

std::optional<RequestTarget> parse_request_target(std::string_view target, std::string& mistake) {
  const std::string_view whole = target;
  target = without_origin(whole);
  const bool had_origin = target.size() != whole.size();
  if (target.find('#') != std::string_view::npos) {
    mistake = "the target has a '#', which is for browsers only";
    return std::nullopt;
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  const std::string_view path = question == 0 && had_origin ? "/" : target.substr(0, question);
  auto segments = parse_path(path, mistake);
  if (!segments) return std::nullopt;
  RequestTarget parsed{std::move(*segments), {}};
  if (question < target.size() && !parse_query(target.substr(question + 1), parsed, mistake)) {
    return std::nullopt;
  }
  return parsed;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        byte < 0x80 && (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~');
    if (is_plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", byte);
    }
  }
  return encoded;
}

}  // namespace weir::transport
