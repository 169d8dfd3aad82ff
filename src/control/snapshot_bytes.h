// SPDX-License-Identifier: Apache-2.0
//
// Numbers and text as few bytes: seven bits of a number per byte, small negative numbers as small
// as positive ones. The reader never runs past the end: it remembers that it failed and gives zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "domain/time.h"
#include "domain/work.h"

namespace weir::control {

class ByteWriter {
 public:
  void byte(std::uint8_t value) { out_ += static_cast<char>(value); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) byte(static_cast<std::uint8_t>(value | 0x80U));
    byte(static_cast<std::uint8_t>(value));
  }
  void integer(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    out_ += value;
  }
  void duration(Duration value) { integer(value.count()); }
  // As the distance from the time before: times that follow each other are near.
  void time(Time value) {
    const auto now = static_cast<std::uint64_t>(value.time_since_epoch().count());
    integer(static_cast<std::int64_t>(now - last_time_));
    last_time_ = now;
  }
  void work(Work value) {
    __extension__ using Wide = unsigned __int128;
    const auto bits = static_cast<Wide>(value.femto_iterations);
    number(static_cast<std::uint64_t>(bits));
    integer(static_cast<std::int64_t>(static_cast<std::uint64_t>(bits >> 64U)));
  }

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::uint64_t last_time_ = 0;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_{bytes} {}

  bool has_failed() const { return failed_; }
  bool is_at_end() const { return at_ == bytes_.size(); }
  // Something that was read makes no sense.
  void fail() { failed_ = true; }

  std::uint8_t byte() {
    if (at_ >= bytes_.size()) {
      failed_ = true;
      return 0;
    }
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t part = byte();
      value |= static_cast<std::uint64_t>(part & 0x7fU) << shift;
      if ((part & 0x80U) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  // At most `most`; anything above is a failure.
  std::uint64_t number_up_to(std::uint64_t most) {
    const std::uint64_t value = number();
    if (value <= most) return value;
    failed_ = true;
    return 0;
  }
  // How many things follow, each of at least a byte.
  std::size_t count() {
    const std::uint64_t value = number();
    if (value <= bytes_.size() - at_) return static_cast<std::size_t>(value);
    failed_ = true;
    return 0;
  }
  std::int64_t integer() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1));
  }
  std::int32_t small_integer() {
    const std::int64_t value = integer();
    if (value != static_cast<std::int32_t>(value)) failed_ = true;
    return failed_ ? 0 : static_cast<std::int32_t>(value);
  }
  std::string text() {
    const std::size_t size = count();
    std::string value{bytes_.substr(at_, size)};
    at_ += size;
    return value;
  }
  Duration duration() { return Duration{integer()}; }
  Time time() {
    last_time_ += static_cast<std::uint64_t>(integer());
    return Time{Duration{static_cast<std::int64_t>(last_time_)}};
  }
  Work work() {
    __extension__ using Wide = unsigned __int128;
    const Wide low = number();
    const Wide high = static_cast<std::uint64_t>(integer());
    return Work{static_cast<WideInteger>((high << 64U) | low)};
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::uint64_t last_time_ = 0;
  bool failed_ = false;
};

}  // namespace weir::control
