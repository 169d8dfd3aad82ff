// SPDX-License-Identifier: Apache-2.0
#include "formats/op_profile_csv.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kOpHeader =
    "db,model,size,mbs,tp,algo,op_index,op,fwd_us,bwd_us,input_mb,output_mb,weight_mb,activation_"
    "mb,"
    "reserved_fwd_mb,reserved_bwd_mb\n";
constexpr std::string_view kOps =
    "lab,gpt,1B,1,1,0,0,embedding,1.5,2,3,4,5,6,7,8\n"
    "lab,gpt,1B,1,1,0,1,loss,1,1,1,1,1,1,1,1\n"
    "lab,gpt,1B,2,1,0,0,embedding,2,2,2,2,2,2,2,2\n"
    "lab,gpt,1B,2,1,0,1,loss,3,3,3,3,3,3,3,3\n"
    "lab,t5,2B,1,1,0,0,embedding,9,9,9,9,9,9,9,9\n"
    "den,gpt,1B,1,1,0,0,embedding,9,9,9,9,9,9,9,9\n";
constexpr std::string_view kCollectives =
    "db,model,size,collective,gpus,data_mb,time_ms\n"
    "lab,gpt,1B,all_reduce,2,16,1.25\n"
    "lab,gpt,1B,all_reduce,2,4,1000000\n"
    "lab,t5,2B,all_reduce,2,4,7\n";
constexpr std::string_view kLinks =
    "db,scope,data_mb,bandwidth_gb_per_s\n"
    "lab,intra,4,20\nlab,intra,1,10\nlab,inter,1,2.5\nden,intra,1,1\n";
const ProfileName kName{"lab", "gpt", "1B"};

Result<OpProfile> profile_from(std::string_view ops, std::string_view collectives,
                               std::string_view links, const ProfileName& name = kName) {
  return read_op_profile({*InputFile::from_memory("ops.csv", ops),
                          *InputFile::from_memory("collectives.csv", collectives),
                          *InputFile::from_memory("p2p.csv", links)},
                         name);
}
std::string mistakes_with_ops(std::string_view rows) {
  return mistakes_of(profile_from(fmt::format("{}{}", kOpHeader, rows), kCollectives, kLinks));
}
std::string mistakes_with_name(const ProfileName& name) {
  return mistakes_of(
      profile_from(fmt::format("{}{}", kOpHeader, kOps), kCollectives, kLinks, name));
}

TEST(OpProfileCsv, ReadsTheRowsOfOneModel) {
  const auto profile = profile_from(fmt::format("{}{}", kOpHeader, kOps), kCollectives, kLinks);
  ASSERT_TRUE(profile) << mistakes_of(profile);
  EXPECT_EQ(profile->database, "lab");
  EXPECT_EQ(profile->model, "gpt");
  EXPECT_EQ(profile->size, "1B");
  EXPECT_THAT(profile->ops, ElementsAre("embedding", "loss"));
  ASSERT_EQ(profile->tables.size(), 2U);
  EXPECT_EQ(profile->tables.at(OpVariant{1, 1, 0})[0], (OpMeasure{1.5, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(profile->tables.at(OpVariant{2, 1, 0})[1], (OpMeasure{3, 3, 3, 3, 3, 3, 3, 3}));
  ASSERT_EQ(profile->collectives.size(), 1U);
  EXPECT_THAT(profile->collectives.at({Collective::all_reduce, 2}),
              ElementsAre(Pair(4, 1e6), Pair(16, 1.25)));
  EXPECT_THAT(profile->inside_node, ElementsAre(LinkSpeed{1, 10}, LinkSpeed{4, 20}));
  EXPECT_THAT(profile->between_nodes, ElementsAre(LinkSpeed{1, 2.5}));
}

TEST(OpProfileCsv, RowsMayStandInAnyOrder) {
  const auto profile = profile_from(fmt::format("{}{}", kOpHeader,
                                                "lab,gpt,1B,1,2,1,1,loss,1,1,1,1,1,1,1,1\n"
                                                "lab,gpt,1B,1,2,1,0,embedding,2,2,2,2,2,2,2,2\n"),
                                    kCollectives, kLinks);
  ASSERT_TRUE(profile) << mistakes_of(profile);
  EXPECT_THAT(profile->ops, ElementsAre("embedding", "loss"));
  EXPECT_EQ(profile->tables.at(OpVariant{1, 2, 1})[1].forward_us, 1);
}

TEST(OpProfileCsv, EveryWrongNumberIsNamed) {
  EXPECT_EQ(mistakes_with_ops("lab,gpt,1B,0,3,2,-1,embedding,x,-1,nan,inf,1e10,,1 ,2000000000\n"),
            "ops.csv:2: mbs is \"0\", expected an integer from 1 to 65536\n"
            "ops.csv:2: tp is \"3\", expected a power of two from 1 to 64\n"
            "ops.csv:2: algo is \"2\", expected an integer from 0 to 1\n"
            "ops.csv:2: op_index is \"-1\", expected an integer from 0 to 999999\n"
            "ops.csv:2: fwd_us is \"x\", expected a number from 0 to 1000000000\n"
            "ops.csv:2: bwd_us is \"-1\", expected a number from 0 to 1000000000\n"
            "ops.csv:2: input_mb is \"nan\", expected a number from 0 to 1000000000\n"
            "ops.csv:2: output_mb is \"inf\", expected a number from 0 to 1000000000\n"
            "ops.csv:2: weight_mb is \"1e10\", expected a number from 0 to 1000000000\n"
            "ops.csv:2: activation_mb is missing, expected a number from 0 to 1000000000\n"
            "ops.csv:2: reserved_fwd_mb is \"1 \", expected a number from 0 to 1000000000\n"
            "ops.csv:2: reserved_bwd_mb is \"2000000000\", expected a number from 0 to "
            "1000000000\n");
  EXPECT_THAT(mistakes_with_ops("lab,gpt,1B,1,128,0,0,,1,1,1,1,1,1,1,1\n"),
              testing::AllOf(HasSubstr("tp is \"128\""), HasSubstr("op is missing")));
}

TEST(OpProfileCsv, AnOperatorIsTheSameInEveryTable) {
  EXPECT_EQ(mistakes_with_ops("lab,gpt,1B,1,1,0,0,embedding,1,1,1,1,1,1,1,1\n"
                              "lab,gpt,1B,2,1,0,0,head,1,1,1,1,1,1,1,1\n"),
            "ops.csv:3: op is \"head\", expected embedding, which line 2 has as operator 0\n");
}

TEST(OpProfileCsv, ARowGivenTwiceIsRefused) {
  EXPECT_EQ(mistakes_with_ops("lab,gpt,1B,1,1,0,0,embedding,1,1,1,1,1,1,1,1\n"
                              "lab,gpt,1B,1,1,0,0,embedding,1,1,1,1,1,1,1,1\n"),
            "ops.csv:3: op_index is \"0\", expected another operator: line 2 has this one for mbs "
            "1, tp 1, algo 0\n");
}

TEST(OpProfileCsv, EveryTableHasEveryOperator) {
  EXPECT_EQ(mistakes_with_ops("lab,gpt,1B,1,1,0,0,embedding,1,1,1,1,1,1,1,1\n"
                              "lab,gpt,1B,1,1,0,1,loss,1,1,1,1,1,1,1,1\n"
                              "lab,gpt,1B,2,1,0,0,embedding,1,1,1,1,1,1,1,1\n"
                              "lab,gpt,1B,4,1,0,1,loss,1,1,1,1,1,1,1,1\n"),
            "ops.csv: op_index is missing, expected a row with op_index 1 for mbs 2, tp 1, algo 0\n"
            "ops.csv: op_index is missing, expected a row with op_index 0 for mbs 4, tp 1, algo "
            "0\n");
}

TEST(OpProfileCsv, AnUnknownNameIsAnsweredWithThoseThereAre) {
  EXPECT_EQ(mistakes_with_name({"lob", "gpt", "1B"}),
            "ops.csv: db is \"lob\", expected one of lab, den\n");
  EXPECT_EQ(mistakes_with_name({"lab", "t4", "1B"}),
            "ops.csv: model is \"t4\", expected a model of lab: t5, gpt\n");
  EXPECT_EQ(mistakes_with_name({"lab", "gpt", "13B"}),
            "ops.csv: size is \"13B\", expected a size of gpt in lab: 1B\n");
  EXPECT_EQ(mistakes_with_ops(""),
            "ops.csv: file is \"without rows\", expected a row for each operator\n");
}

TEST(OpProfileCsv, ALongListOfNamesIsCut) {
  std::string rows;
  for (int i = 0; i < 40; ++i)
    rows += fmt::format("lab,gpt,size-{},1,1,0,0,x,1,1,1,1,1,1,1,1\n", i);
  EXPECT_THAT(mistakes_with_ops(rows), HasSubstr(" and 10 more\n"));
}

TEST(OpProfileCsv, CollectivesAndLinksAreChecked) {
  EXPECT_EQ(mistakes_of(profile_from(fmt::format("{}{}", kOpHeader, kOps),
                                     "db,model,size,collective,gpus,data_mb,time_ms\n"
                                     "lab,gpt,1B,broadcast,0,1.5,-1\n"
                                     "lab,gpt,1B,all_gather,2,1,1\n"
                                     "lab,gpt,1B,all_gather,2,1,1\n",
                                     "db,scope,data_mb,bandwidth_gb_per_s\n"
                                     "lab,across,-1,0\nlab,intra,1,1\nlab,intra,1.0,1\n")),
            "collectives.csv:2: collective is \"broadcast\", expected one of all_gather, "
            "all_reduce, reduce_scatter, all_to_all\n"
            "collectives.csv:2: gpus is \"0\", expected an integer from 1 to 65536\n"
            "collectives.csv:2: data_mb is \"1.5\", expected an integer from 0 to 1000000000\n"
            "collectives.csv:2: time_ms is \"-1\", expected a number from 0 to 1000000000000\n"
            "collectives.csv:4: data_mb is \"1\", expected each size once for a collective and its "
            "GPUs\n"
            "p2p.csv:2: scope is \"across\", expected one of intra, inter\n"
            "p2p.csv:2: data_mb is \"-1\", expected a number from 0 to 1000000000\n"
            "p2p.csv:2: bandwidth_gb_per_s is \"0\", expected a number above 0, up to 1000000\n"
            "p2p.csv:4: data_mb is \"1.0\", expected each size once for intra\n");
}

TEST(OpProfileCsv, AProfileNeedsItsLinks) {
  EXPECT_EQ(mistakes_of(profile_from(fmt::format("{}{}", kOpHeader, kOps), kCollectives,
                                     "db,scope,data_mb,bandwidth_gb_per_s\nden,intra,1,1\n")),
            "p2p.csv: row is missing, expected one with db lab, scope intra\n");
}

TEST(OpProfileCsv, AMissingColumnIsNamed) {
  EXPECT_THAT(mistakes_of(profile_from("db,model\n", kCollectives, kLinks)),
              HasSubstr("ops.csv:1: column size is missing, expected it in the first line\n"));
}

TEST(OpProfileCsv, ReadsAFolderWithOrWithoutGzipAndCollectives) {
  const TemporaryFolder folder;
  folder.write("ops.csv.gz", gzip(fmt::format("{}{}", kOpHeader, kOps)));
  folder.write("p2p.csv", kLinks);
  const auto without = read_op_profile(folder.path(), kName);
  ASSERT_TRUE(without) << mistakes_of(without);
  EXPECT_TRUE(without->collectives.empty());
  folder.write("collectives.csv", kCollectives);
  const auto with = read_op_profile(folder.path(), kName);
  ASSERT_TRUE(with) << mistakes_of(with);
  EXPECT_EQ(with->collectives.size(), 1U);
  const auto names = list_op_profiles(folder.path());
  ASSERT_TRUE(names) << mistakes_of(names);
  EXPECT_THAT(*names,
              ElementsAre(ProfileName{"den", "gpt", "1B"}, kName, ProfileName{"lab", "t5", "2B"}));
}

TEST(OpProfileCsv, AMissingFolderOrFileIsBadInput) {
  const TemporaryFolder folder;
  const auto empty = read_op_profile(folder.path(), kName);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::bad_input);
  const std::string path = folder.path().string();
  EXPECT_EQ(mistakes_of(empty),
            path + ": ops.csv is missing, expected ops.csv or ops.csv.gz in the folder\n" + path +
                ": p2p.csv is missing, expected p2p.csv or p2p.csv.gz in the folder\n");
  EXPECT_EQ(mistakes_of(list_op_profiles(folder.path() / "none")),
            path +
                "/none: folder is \"not a folder\", expected a folder with ops.csv, "
                "collectives.csv and p2p.csv\n");
  EXPECT_EQ(mistakes_of(read_op_profile(folder.path() / "none", kName)),
            mistakes_of(list_op_profiles(folder.path() / "none")));
}

TEST(OpProfileCsv, ANameThatCannotBeShownIsRefused) {
  EXPECT_THAT(mistakes_with_ops("lab,g\x1bpt,1B,1,1,0,0,x,1,1,1,1,1,1,1,1\n"),
              HasSubstr("ops.csv:2: model is \"g\\x1bpt\", expected a name"));
}

}  // namespace
}  // namespace weir::formats
