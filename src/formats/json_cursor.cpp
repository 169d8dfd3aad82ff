// SPDX-License-Identifier: Apache-2.0
#include "formats/json_cursor.h"

#include <algorithm>

#include "domain/digits.h"
#include "formats/json_string.h"

namespace weir::formats {
namespace {

unsigned char byte(char c) {
  return static_cast<unsigned char>(c);
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t bits) { out += static_cast<char>(bits); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12));
    put(0x80U | ((code >> 6) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18));
    put(0x80U | ((code >> 12) & 0x3FU));
    put(0x80U | ((code >> 6) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

}  // namespace

std::string_view to_string(JsonKind kind) {
  switch (kind) {
    case JsonKind::object:
      return "an object";
    case JsonKind::array:
      return "a list";
    case JsonKind::string:
      return "a string";
    case JsonKind::number:
      return "a number";
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::null:
      return "null";
    case JsonKind::nothing:
      break;
  }
  return "nothing";
}

void JsonCursor::skip_space() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

bool JsonCursor::broken(std::string_view why) {
  if (why_.empty()) {
    why_ = why;
    text_ = text_.substr(0, std::min(at_, text_.size()));
  }
  return false;
}

std::uint64_t JsonCursor::line() const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size()));
  return 1 + static_cast<std::uint64_t>(std::count(text_.begin(), end, '\n'));
}

JsonKind JsonCursor::kind() {
  skip_space();
  if (at_ >= text_.size()) return JsonKind::nothing;
  switch (text_[at_]) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::string;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return text_[at_] == '-' || is_digit(text_[at_]) ? JsonKind::number : JsonKind::nothing;
  }
}

bool JsonCursor::enter(char open) {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != open) return false;
  if (depth_ >= max_depth_) return broken("less nesting");
  ++at_;
  ++depth_;
  just_entered_ = true;
  return true;
}

bool JsonCursor::enter_object() {
  return enter('{');
}

bool JsonCursor::enter_array() {
  return enter('[');
}

bool JsonCursor::next_in(char close, std::string_view why) {
  if (is_broken()) return false;
  skip_space();
  const char next = at_ < text_.size() ? text_[at_] : '\0';
  if (next == close) {
    ++at_;
    --depth_;
    just_entered_ = false;
    return false;
  }
  if (!just_entered_) {
    if (next != ',') return broken(why);
    ++at_;
  }
  just_entered_ = false;
  return true;
}

bool JsonCursor::next_element() {
  return next_in(']', "a comma or ]");
}

bool JsonCursor::next_key() {
  if (!next_in('}', "a comma or }")) return false;
  skip_space();
  if (at_ >= text_.size() || text_[at_] != '"') return broken("a name in quotes");
  if (!scan_string(key_, key_text_)) return false;
  skip_space();
  if (at_ >= text_.size() || text_[at_] != ':') return broken("a colon");
  ++at_;
  return true;
}

bool JsonCursor::take_code_point() {
  const std::size_t length = utf8_length(text_.substr(at_));
  if (length == 0) return broken("text in UTF-8");
  at_ += length;
  return true;
}

// Requires: a quote is next.
bool JsonCursor::scan_string(std::string_view& value, std::string& unescaped) {
  const std::size_t begin = ++at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      value = text_.substr(begin, at_ - begin);
      ++at_;
      return true;
    }
    if (c == '\\') {
      if (!unescape(begin, unescaped)) return false;
      value = unescaped;
      return true;
    }
    if (byte(c) < 0x20) return broken("no control characters in a string");
    if (byte(c) < 0x80) {
      ++at_;
    } else if (!take_code_point()) {
      return false;
    }
  }
  return broken("a closing quote");
}

// From the first escape of a string on.
bool JsonCursor::unescape(std::size_t begin, std::string& value) {
  value.assign(text_.substr(begin, at_ - begin));
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return true;
    }
    if (byte(c) < 0x20) return broken("no control characters in a string");
    if (c == '\\') {
      ++at_;
      if (!take_escape(value)) return false;
      continue;
    }
    const std::size_t from = at_;
    if (!take_code_point()) return false;
    value += text_.substr(from, at_ - from);
  }
  return broken("a closing quote");
}

bool JsonCursor::take_hex4(std::uint32_t& code) {
  code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    std::uint32_t digit = 0;
    if (is_digit(c)) {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint32_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<std::uint32_t>(c - 'A') + 10;
    } else {
      return broken("four hexadecimal digits");
    }
    code = code * 16 + digit;
  }
  return true;
}

bool JsonCursor::take_escape(std::string& value) {
  constexpr std::string_view kEscaped = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  if (at_ >= text_.size()) return broken("an escape");
  const char c = text_[at_];
  if (const auto which = kEscaped.find(c); which != std::string_view::npos) {
    value += kMeant[which];
    ++at_;
    return true;
  }
  if (c != 'u') return broken("an escape that JSON knows");
  ++at_;
  std::uint32_t code = 0;
  if (!take_hex4(code)) return false;
  if (code >= 0xDC00 && code <= 0xDFFF) return broken("the first half of a pair");
  if (code >= 0xD800 && code <= 0xDBFF) {
    std::uint32_t low = 0;
    if (!text_.substr(at_).starts_with("\\u")) return broken("the second half of a pair");
    at_ += 2;
    if (!take_hex4(low)) return false;
    if (low < 0xDC00 || low > 0xDFFF) return broken("the second half of a pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(value, code);
  return true;
}

bool JsonCursor::take_string_view(std::string_view& value) {
  return kind() == JsonKind::string && scan_string(value, string_text_);
}

bool JsonCursor::take_string(std::string& value) {
  std::string_view view;
  if (!take_string_view(view)) return false;
  value.assign(view);
  return true;
}

bool JsonCursor::take_digits() {
  const std::size_t from = at_;
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  return at_ > from || broken("a digit");
}

bool JsonCursor::take_number(std::string_view& text) {
  if (kind() != JsonKind::number) return false;
  const std::size_t from = at_;
  const auto next_is = [&](char c) { return at_ < text_.size() && text_[at_] == c; };
  if (next_is('-')) ++at_;
  if (next_is('0')) {
    ++at_;
  } else if (!take_digits()) {
    return false;
  }
  if (next_is('.')) {
    ++at_;
    if (!take_digits()) return false;
  }
  if (next_is('e') || next_is('E')) {
    ++at_;
    if (next_is('+') || next_is('-')) ++at_;
    if (!take_digits()) return false;
  }
  text = text_.substr(from, at_ - from);
  return true;
}

bool JsonCursor::take_word(std::string_view word) {
  skip_space();
  if (!text_.substr(std::min(at_, text_.size())).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

bool JsonCursor::take_bool(bool& value) {
  if (take_word("true")) {
    value = true;
    return true;
  }
  if (!take_word("false")) return false;
  value = false;
  return true;
}

bool JsonCursor::take_null() {
  return take_word("null");
}

bool JsonCursor::skip_value(std::string_view& raw) {
  skip_space();
  const std::size_t from = at_;
  const std::string_view whole = text_;
  std::string_view text;
  bool truth = false;
  std::string_view inner;
  switch (kind()) {
    case JsonKind::object:
      if (!enter_object()) return false;
      while (next_key()) {
        if (!skip_value(inner)) return false;
      }
      break;
    case JsonKind::array:
      if (!enter_array()) return false;
      while (next_element()) {
        if (!skip_value(inner)) return false;
      }
      break;
    case JsonKind::string:
      if (!take_string_view(text)) return false;
      break;
    case JsonKind::number:
      if (!take_number(text)) return false;
      break;
    case JsonKind::boolean:
      if (!take_bool(truth)) return broken("true or false");
      break;
    case JsonKind::null:
      if (!take_null()) return broken("null");
      break;
    case JsonKind::nothing:
      return broken("a value");
  }
  if (is_broken()) return false;
  raw = whole.substr(from, at_ - from);
  return true;
}

void JsonCursor::rewind(Mark to) {
  if (is_broken()) return;
  at_ = to.at;
  depth_ = to.depth;
  just_entered_ = to.just_entered;
}

bool JsonCursor::at_end() {
  skip_space();
  return !is_broken() && at_ == text_.size();
}

}  // namespace weir::formats
