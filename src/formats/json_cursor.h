// SPDX-License-Identifier: Apache-2.0
//
// Walks through JSON text from front to back, without building anything. As strict as RFC 8259:
// no comments, no trailing commas, valid UTF-8, no byte after the document. The caller asks for
// what it expects; nothing is taken when something else is there, so that it can say so.
//
//   JsonCursor json{text};
//   if (!json.enter_object()) ...
//   while (json.next_key()) {
//     if (json.key() == "gpus") json.take_number(digits); else json.skip_value();
//   }
//   if (json.is_broken() || !json.at_end()) ...
//
// After a break in the syntax nothing is found any more and every loop ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::formats {

enum class JsonKind : std::uint8_t { object, array, string, number, boolean, null, nothing };

// "an object", "a string"
std::string_view to_string(JsonKind kind);

class JsonCursor {
 public:
  static constexpr int kMaxDepth = 64;

  // Requires: the text outlives the cursor.
  explicit JsonCursor(std::string_view text, int max_depth = kMaxDepth)
      : text_{text}, max_depth_{max_depth} {}

  // The next value, by its first byte. `nothing` at the end, and where no value begins.
  JsonKind kind();

  bool enter_object();
  // Moves to the next member; at the last one leaves the object.
  bool next_key();
  // Until the next call of next_key().
  std::string_view key() const { return key_; }

  bool enter_array();
  // Moves to the next element; at the last one leaves the array.
  bool next_element();

  bool take_string(std::string& value);
  // The same without a copy where nothing is escaped. Until the next string is taken.
  bool take_string_view(std::string_view& value);
  // A number as it is written: "-1.5e3".
  bool take_number(std::string_view& text);
  bool take_bool(bool& value);
  bool take_null();
  // Any value; its text, without the space around it. False only when the syntax is broken.
  bool skip_value(std::string_view& raw);

  // A place to come back to.
  struct Mark {
    std::size_t at = 0;
    int depth = 0;
    bool just_entered = false;
  };
  Mark mark() const { return {at_, depth_, just_entered_}; }
  // Nothing happens when the syntax is broken.
  void rewind(Mark to);

  // Only space is left.
  bool at_end();
  bool is_broken() const { return !why_.empty(); }
  // "a comma or }": what should have been there, or which limit was passed.
  std::string_view why() const { return why_; }
  // Of the next byte, or of the break.
  std::size_t offset() const { return at_; }
  // 1-based.
  std::uint64_t line() const;

 private:
  void skip_space();
  bool broken(std::string_view why);
  bool enter(char open);
  bool next_in(char close, std::string_view why);
  bool scan_string(std::string_view& value, std::string& unescaped);
  bool unescape(std::size_t begin, std::string& value);
  bool take_escape(std::string& value);
  bool take_hex4(std::uint32_t& code);
  bool take_code_point();
  bool take_word(std::string_view word);
  bool take_digits();

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int max_depth_;
  bool just_entered_ = false;
  std::string_view why_;
  std::string_view key_;
  std::string key_text_;  // behind key_ when it was escaped
  std::string string_text_;
};

}  // namespace weir::formats
