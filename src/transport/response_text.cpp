// SPDX-License-Identifier: Apache-2.0
#include "transport/response_text.h"

#include <array>
#include <charconv>

namespace weir::transport {
namespace {

template <class Number>
void append_number(std::string& out, Number number, int base = 10) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  out.append(digits.data(), end);
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
  out += "\r\n";
}

}  // namespace

bool may_have_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

void append_response_head(std::string& out, const HttpResponse& response,
                          const ResponseFraming& framing) {
  out += "HTTP/1.1 ";
  append_number(out, response.status);
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\n";
  if (!framing.date.empty()) append_field(out, "Date", framing.date);
  if (may_have_body(response.status)) {
    if (!response.content_type.empty()) append_field(out, "Content-Type", response.content_type);
    if (framing.end == BodyEnd::content_length) {
      out += "Content-Length: ";
      append_number(out, response.body.size());
      out += "\r\n";
    } else if (framing.end == BodyEnd::chunks) {
      out += "Transfer-Encoding: chunked\r\n";
    }
  }
  for (const auto& [name, value] : response.headers) append_field(out, name, value);
  out += framing.keeps_alive ? "\r\n" : "Connection: close\r\n\r\n";
}

void append_chunk(std::string& out, std::string_view bytes) {
  append_number(out, bytes.size(), 16);
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

std::string http_date(std::time_t seconds) {
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  const auto two_digits = [](int number) {
    return std::string{static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
  };
  return std::string{kDays[static_cast<std::size_t>(utc.tm_wday)]} + ", " +
         two_digits(utc.tm_mday) + " " + kMonths[static_cast<std::size_t>(utc.tm_mon)] + " " +
         std::to_string(1900 + utc.tm_year) + " " + two_digits(utc.tm_hour) + ":" +
         two_digits(utc.tm_min) + ":" + two_digits(utc.tm_sec) + " GMT";
}

}  // namespace weir::transport
