// SPDX-License-Identifier: Apache-2.0
#include "formats/yaml_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

Result<YamlDocument> document(std::string_view text) {
  return YamlDocument::read(*InputFile::from_memory("f.yaml", text));
}

TEST(YamlDocument, GivesMapsListsAndTextWithTheirLines) {
  const auto read = document("a: 010\nb:\n  - {x: yes}\n  - 'q: r'\nc:\n");
  ASSERT_TRUE(read) << mistakes_of(read);
  const auto entries = read->root().entries();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].first.text(), "a");
  EXPECT_EQ(entries[0].second.text(), "010");
  const auto items = entries[1].second.items();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].entries()[0].second.text(), "yes");
  EXPECT_EQ(items[1].text(), "q: r");
  EXPECT_EQ(items[1].line(), 4U);
  EXPECT_TRUE(entries[2].second.is_empty());
}

TEST(YamlDocument, IsEmptyForAnEmptyFile) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n"}) {
    const auto read = document(text);
    ASSERT_TRUE(read) << mistakes_of(read);
    EXPECT_TRUE(read->root().is_empty());
  }
}

TEST(YamlDocument, NamesTheLineThatIsNoYaml) {
  EXPECT_EQ(mistakes_of(document("nodes:\n  - {name: gpu-[01-16], cpus: 2}\n")),
            "f.yaml:2: text is \"not YAML: end of map flow not found\", expected valid YAML (text "
            "with any of [ ] { } , : # needs quotes)\n");
}

TEST(YamlDocument, RefusesAnchorsAliasesTagsAndSecondDocuments) {
  EXPECT_EQ(mistakes_of(document("a: &x 1\nb: *x\n")),
            "f.yaml:1: text is \"an anchor or alias (& or *)\", expected the value written out\n");
  EXPECT_EQ(
      mistakes_of(document("a: 1\nb: !!binary x\n")),
      "f.yaml:2: text is \"a tag (tag:yaml.org,2002:binary)\", expected a value without a tag\n");
  EXPECT_THAT(mistakes_of(document("a: 1\n---\nb: 2\n")), HasSubstr("a second document"));
}

TEST(YamlDocument, RefusesControlCharacters) {
  EXPECT_EQ(mistakes_of(document(std::string_view{"a: 1\nb: \x04 2\n"})),
            "f.yaml:2: text is \"a control character (0x04)\", expected UTF-8 text without control "
            "characters\n");
  EXPECT_THAT(mistakes_of(document(std::string_view{"a\0:\0", 4})), HasSubstr("0x00"));
}

TEST(YamlDocument, RefusesDeepNestingOfEveryKind) {
  for (const char* piece : {"[", "{", "- ", "? ", "{a: ", "[[], "}) {
    std::string text;
    for (int i = 0; i < 200000; ++i) text += piece;
    EXPECT_THAT(mistakes_of(document(text)), HasSubstr("f.yaml:1: text is")) << piece;
  }
}

TEST(YamlDocument, RefusesALongValueButNotALongList) {
  std::string flow = "[";
  std::string block = "b:\n";
  while (flow.size() < kMaxYamlValueBytes + 10000) flow += "1234567, ";
  while (block.size() < 2 * kMaxYamlValueBytes) block += "- 1234567\n";
  EXPECT_EQ(
      mistakes_of(document(flow + "]")),
      "f.yaml:1: text is \"a value longer than 1 MiB\", expected shorter values; in a long list, "
      "one \"- \" line per item\n");
  EXPECT_EQ(mistakes_of(document(block)), "ok\n");
}

TEST(YamlDocument, RefusesMoreThan16MiB) {
  const std::string text(kMaxYamlBytes + 1, '\n');
  EXPECT_EQ(
      mistakes_of(document(text)),
      "f.yaml: content is \"longer than 16 MiB\", expected at most 16 MiB of YAML (a large trace "
      "is better kept as CSV)\n");
}

TEST(YamlFields, NotesUnknownAndRepeatedKeys) {
  constexpr std::array<std::string_view, 3> kKeys{"name", "cpus", "gpus"};
  const auto read = document("name: x\ncpu: 1\nname: y\n[1]: z\nabc: {}\n");
  ASSERT_TRUE(read) << mistakes_of(read);
  Diagnostics mistakes;
  const YamlFields fields{*read, read->root(), "node", kKeys, mistakes};
  EXPECT_TRUE(fields.is_usable());
  EXPECT_EQ(to_string(mistakes),
            "f.yaml:2: key is \"cpu\", expected one of name, cpus, gpus; did you mean cpus?\n"
            "f.yaml:3: name is \"given twice\", expected one value\n"
            "f.yaml:4: key is \"a list\", expected one of name, cpus, gpus\n"
            "f.yaml:5: key is \"abc\", expected one of name, cpus, gpus\n");
}

TEST(YamlFields, NotesValuesThatAreMissingOrWrong) {
  constexpr std::array<std::string_view, 3> kKeys{"a", "b", "c"};
  const auto read = document("a: 17\nb: [1]\nc:\n");
  Diagnostics mistakes;
  const YamlFields fields{*read, read->root(), "thing", kKeys, mistakes};
  EXPECT_EQ(fields.integer("a", 0, 16), std::nullopt);
  EXPECT_EQ(fields.integer("b", 0, 16), std::nullopt);
  EXPECT_EQ(fields.integer("c", 0, 16), std::nullopt);
  fields.reject("c", "something");
  EXPECT_EQ(to_string(mistakes),
            "f.yaml:1: a is \"17\", expected an integer from 0 to 16\n"
            "f.yaml:2: b is \"a list\", expected an integer from 0 to 16\n"
            "f.yaml:1: c is missing, expected something\n");
}

RC_GTEST_PROP(YamlScalar, ReadsBackEqual, ()) {
  const auto text =
      *rc::gen::oneOf(rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7F)),
                      rc::gen::element<std::string>("", "null", "~", "---", "...", "- a", "a: b",
                                                    "a #b", "\xC3\xB8", " x ", "%TAG"));
  const std::string yaml = "{k: " + yaml_scalar(text) + ", l: [" + yaml_scalar(text) + "]}\n";
  const auto read = document(yaml);
  RC_ASSERT(mistakes_of(read) == "ok\n");
  const auto entries = read->root().entries();
  RC_ASSERT(entries[0].second.is_text());
  RC_ASSERT(entries[0].second.text() == text);
  RC_ASSERT(entries[1].second.items()[0].text() == text);
}

}  // namespace
}  // namespace weir::formats
