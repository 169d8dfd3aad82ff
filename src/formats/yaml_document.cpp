// SPDX-License-Identifier: Apache-2.0
#include "formats/yaml_document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>

#include "domain/nearest_name.h"
#include "formats/quantity_text.h"

namespace weir::formats {
namespace {

constexpr std::string_view kSyntaxHint = "valid YAML (text with any of [ ] { } , : # needs quotes)";

// Leaves yaml-cpp from inside an event.
struct Refused {
  std::uint64_t line;
  std::string found;
  std::string expected;
};

std::uint64_t line_of(const YAML::Mark& mark) {
  return mark.line < 0 ? 0 : static_cast<std::uint64_t>(mark.line) + 1;
}

// Hands out the input in small pieces and refuses to go on when the parser has taken
// kMaxYamlValueBytes without telling of a single value: then it is filling its queue.
class MeteredBytes final : public std::streambuf {
 public:
  explicit MeteredBytes(std::string bytes) : bytes_{std::move(bytes)} {}

  void value_seen(std::uint64_t line) {
    given_at_last_value_ = given_;
    line_ = line;
  }

 protected:
  int_type underflow() override {
    if (given_ - given_at_last_value_ > kMaxYamlValueBytes) {
      throw Refused{line_, "a value longer than 1 MiB",
                    "shorter values; in a long list, one \"- \" line per item"};
    }
    constexpr std::size_t kPiece = 4096;
    const std::size_t size = std::min(kPiece, bytes_.size() - given_);
    if (size == 0) return traits_type::eof();
    char* const piece = bytes_.data() + given_;
    setg(piece, piece, piece + size);
    given_ += size;
    return traits_type::to_int_type(*piece);
  }

 private:
  std::string bytes_;
  std::size_t given_ = 0;
  std::size_t given_at_last_value_ = 0;
  std::uint64_t line_ = 1;
};

std::optional<Diagnostic> control_character_in(const std::string& name, std::string_view text) {
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7F;
  };
  const auto at = std::find_if(text.begin(), text.end(), is_control);
  if (at == text.end()) return std::nullopt;
  const auto line = static_cast<std::uint64_t>(std::count(text.begin(), at, '\n')) + 1;
  return Diagnostic{name, line, "text",
                    fmt::format("a control character ({:#04x})", static_cast<unsigned char>(*at)),
                    "UTF-8 text without control characters"};
}

}  // namespace

// Receives the parser's events and appends entries.
class YamlDocument::Builder final : public YAML::EventHandler {
 public:
  Builder(YamlDocument& document, MeteredBytes& bytes, int max_depth)
      : document_{document}, bytes_{bytes}, max_depth_{static_cast<std::size_t>(max_depth)} {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (has_document_) throw Refused{line_of(mark), "a second document", "one document per file"};
    has_document_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(Kind::empty, mark, {}); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    refuse_tag(mark, tag);
    add(Kind::text, mark, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    enter(Kind::list, mark);
  }
  void OnSequenceEnd() override { leave(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    enter(Kind::map, mark);
  }
  void OnMapEnd() override { leave(); }

 private:
  static void refuse_anchor(const YAML::Mark& mark) {
    throw Refused{line_of(mark), "an anchor or alias (& or *)", "the value written out"};
  }
  // Plain scalars come with "?", quoted ones with "!", collections with "?" or nothing.
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.size() > 1)
      throw Refused{line_of(mark), "a tag (" + tag + ")", "a value without a tag"};
  }

  void add(Kind kind, const YAML::Mark& mark, std::string_view text) {
    Entry entry;
    entry.kind = kind;
    entry.line = static_cast<std::uint32_t>(line_of(mark));
    entry.next = static_cast<std::uint32_t>(document_.entries_.size()) + 1;
    entry.text_begin = static_cast<std::uint32_t>(document_.text_.size());
    entry.text_size = static_cast<std::uint32_t>(text.size());
    document_.text_ += text;
    bytes_.value_seen(entry.line);
    document_.entries_.push_back(entry);
  }

  void enter(Kind kind, const YAML::Mark& mark) {
    if (open_.size() == max_depth_) {
      throw Refused{line_of(mark), "nested too deeply",
                    fmt::format("at most {} levels", max_depth_)};
    }
    open_.push_back(document_.entries_.size());
    add(kind, mark, {});
  }

  void leave() {
    document_.entries_[open_.back()].next = static_cast<std::uint32_t>(document_.entries_.size());
    open_.pop_back();
  }

  YamlDocument& document_;
  MeteredBytes& bytes_;
  std::size_t max_depth_;
  std::vector<std::size_t> open_;
  bool has_document_ = false;
};

Result<YamlDocument> YamlDocument::read(InputFile input, int max_depth) {
  YamlDocument document;
  document.name_ = input.name();
  auto bytes = input.read_all(kMaxYamlBytes + 1);
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->size() > kMaxYamlBytes) {
    return bad_input(Diagnostic{document.name_, 0, "content", "longer than 16 MiB",
                                "at most 16 MiB of YAML (a large trace is better kept as CSV)"});
  }
  if (auto control = control_character_in(document.name_, *bytes))
    return bad_input(std::move(*control));
  try {
    MeteredBytes metered{std::move(*bytes)};
    std::istream stream{&metered};
    stream.exceptions(std::ios::badbit);  // a refusal passes through
    YAML::Parser parser{stream};
    Builder builder{document, metered, max_depth};
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return bad_input(
        Diagnostic{document.name_, refused.line, "text", refused.found, refused.expected});
  } catch (const YAML::Exception& error) {
    return bad_input(Diagnostic{document.name_, line_of(error.mark), "text",
                                "not YAML: " + error.msg, std::string{kSyntaxHint}});
  } catch (const std::exception& error) {
    return bad_input(Diagnostic{document.name_, 0, "text", std::string{"not YAML: "} + error.what(),
                                std::string{kSyntaxHint}});
  }
  if (document.entries_.empty()) document.entries_.push_back(Entry{.next = 1});
  return document;
}

bool YamlValue::is_empty() const {
  return document_->entries_[index_].kind == YamlDocument::Kind::empty;
}
bool YamlValue::is_text() const {
  return document_->entries_[index_].kind == YamlDocument::Kind::text;
}
bool YamlValue::is_list() const {
  return document_->entries_[index_].kind == YamlDocument::Kind::list;
}
bool YamlValue::is_map() const {
  return document_->entries_[index_].kind == YamlDocument::Kind::map;
}
std::uint64_t YamlValue::line() const {
  return document_->entries_[index_].line;
}

std::string_view YamlValue::text() const {
  const auto& entry = document_->entries_[index_];
  return std::string_view{document_->text_}.substr(entry.text_begin, entry.text_size);
}

std::string YamlValue::describe() const {
  if (is_list()) return children().empty() ? "an empty list" : "a list";
  if (is_map()) return "a map";
  return is_text() && text().empty() ? "an empty text" : std::string{text()};
}

std::vector<YamlValue> YamlValue::children() const {
  std::vector<YamlValue> found;
  const std::uint32_t end = document_->entries_[index_].next;
  for (std::uint32_t at = index_ + 1; at < end; at = document_->entries_[at].next) {
    found.push_back(YamlValue{*document_, at});
  }
  return found;
}

std::vector<YamlValue> YamlValue::items() const {
  return is_list() ? children() : std::vector<YamlValue>{};
}

std::vector<std::pair<YamlValue, YamlValue>> YamlValue::entries() const {
  std::vector<std::pair<YamlValue, YamlValue>> found;
  if (!is_map()) return found;
  const std::vector<YamlValue> flat = children();
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) found.emplace_back(flat[i], flat[i + 1]);
  return found;
}

YamlFields::YamlFields(const YamlDocument& document, YamlValue value, std::string what,
                       std::span<const std::string_view> keys, Diagnostics& mistakes)
    : document_{document}, value_{value}, what_{std::move(what)}, mistakes_{mistakes} {
  if (!value.is_map()) {
    note(value.line(), what_, value.is_empty() ? "empty" : value.describe(),
         fmt::format("a map with some of the keys {}", fmt::join(keys, ", ")));
    return;
  }
  is_usable_ = true;
  entries_ = value.entries();
  check_keys(keys);
}

void YamlFields::check_keys(std::span<const std::string_view> keys) {
  for (std::size_t i = 0; i < entries_.size() && !mistakes_.full(); ++i) {
    const YamlValue key = entries_[i].first;
    const auto same_key = [&](const auto& other) { return other.first.text() == key.text(); };
    if (!key.is_text() || std::find(keys.begin(), keys.end(), key.text()) == keys.end()) {
      std::string expected = fmt::format("one of {}", fmt::join(keys, ", "));
      if (const auto meant = nearest_name(key.text(), keys)) {
        expected += fmt::format("; did you mean {}?", *meant);
        misspelt_.push_back(*meant);
      }
      note(key.line(), "key", key.is_empty() ? "empty" : key.describe(), expected);
    } else if (const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(i);
               std::find_if(entries_.begin(), end, same_key) != end) {
      note(key.line(), key.text(), "given twice", "one value");
    }
  }
}

std::optional<YamlValue> YamlFields::find(std::string_view key) const {
  for (const auto& [name, value] : entries_) {
    if (name.is_text() && name.text() == key && !value.is_empty()) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> YamlFields::integer(std::string_view key, std::int64_t least,
                                                std::int64_t most) const {
  return get(key, fmt::format("an integer from {} to {}", least, most),
             [&](std::string_view text) -> std::optional<std::int64_t> {
               const auto number = parse_integer(text);
               return number && *number >= least && *number <= most ? number : std::nullopt;
             });
}

void YamlFields::reject(std::string_view key, std::string_view expected) const {
  const auto value = find(key);
  if (!value && std::find(misspelt_.begin(), misspelt_.end(), key) != misspelt_.end()) return;
  note(value ? value->line() : line(), key, value ? value->describe() : "", expected);
}

void YamlFields::note(std::uint64_t line, std::string_view field, std::string found,
                      std::string_view expected) const {
  mistakes_.add(Diagnostic{document_.name(), line, std::string{field}, std::move(found),
                           std::string{expected}});
}

std::string yaml_scalar(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_safe = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/';
  };
  const bool is_null = text == "null" || text == "Null" || text == "NULL";
  if (!text.empty() && (is_letter(text[0]) || (text[0] >= '0' && text[0] <= '9')) && !is_null &&
      std::all_of(text.begin(), text.end(), is_safe)) {
    return std::string{text};
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace weir::formats
