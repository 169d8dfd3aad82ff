// SPDX-License-Identifier: Apache-2.0
#include "formats/transformer_config.h"

#include <gmock/gmock.h>

namespace weir::formats {
namespace {

using testing::HasSubstr;

constexpr const char* kLlama = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "rope_theta": 1e4})";

TEST(TransformerConfig, ReadsALlama) {
  const auto model = parse_transformer_config("config.json", kLlama);
  ASSERT_TRUE(model) << to_string(model.error().details);
  EXPECT_EQ(model->name, "llama");
  EXPECT_EQ(model->layers, 32);
  EXPECT_EQ(model->kv_heads, 8);
  EXPECT_EQ(model->head_dim, 128);
  EXPECT_TRUE(model->is_gated);
  EXPECT_FALSE(model->has_tied_embeddings);
}

TEST(TransformerConfig, ReadsGpt2ByItsOwnNames) {
  const auto model = parse_transformer_config(
      "config.json",
      R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": null,
          "vocab_size": 50257})");
  ASSERT_TRUE(model) << to_string(model.error().details);
  EXPECT_EQ(model->ffn, 3072);
  EXPECT_FALSE(model->is_gated);
  EXPECT_TRUE(model->has_tied_embeddings);
  EXPECT_NEAR(static_cast<double>(model->elements()) / 1e6, 124, 1);
}

TEST(TransformerConfig, ReadsExperts) {
  const auto model = parse_transformer_config(
      "config.json",
      R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
          "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2})");
  ASSERT_TRUE(model) << to_string(model.error().details);
  EXPECT_EQ(model->experts, 8);
  EXPECT_EQ(model->experts_per_token, 2);
}

std::string config_mistakes(const char* text) {
  const auto model = parse_transformer_config("config.json", text);
  return model ? "" : to_string(model.error().details);
}

TEST(TransformerConfig, NamesWhatItDoesNotSupport) {
  EXPECT_THAT(config_mistakes(R"({"model_type": "t5", "d_model": 512})"),
              HasSubstr("model_type is \"t5\", expected one of gpt2, gpt_neox, llama, mistral, "
                        "qwen2, qwen3, internlm2, mixtral; for another decoder write its "
                        "dimensions with --dims"));
  EXPECT_THAT(config_mistakes("{}"), HasSubstr("model_type is missing"));
  EXPECT_THAT(config_mistakes("[]"), HasSubstr("config.json"));
  EXPECT_THAT(config_mistakes("{"), HasSubstr("config.json:1"));
}

TEST(TransformerConfig, NamesEveryDimensionThatIsMissingOrWrong) {
  const std::string text =
      config_mistakes(R"({"model_type": "llama", "hidden_size": -1, "num_attention_heads": 7})");
  for (const char* part : {"hidden_size is \"-1\"", "num_hidden_layers is missing",
                           "vocab_size is missing", "intermediate_size is missing"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(
      config_mistakes(R"({"model_type": "llama", "hidden_size": 100, "intermediate_size": 10,
      "num_hidden_layers": 2, "num_attention_heads": 7, "num_key_value_heads": 3,
      "vocab_size": 10})"),
      testing::AllOf(HasSubstr("num_attention_heads is \"7\", expected a divisor"),
                     HasSubstr("num_key_value_heads is \"3\", expected a divisor")));
}

TEST(TransformerConfig, ReadsDimensionsThatAreTyped) {
  const auto model = parse_dimensions(
      "--dims", "layers=32,hidden=4096,heads=32,kv-heads=8,ffn=11008,vocab=32000,gated=1");
  ASSERT_TRUE(model) << to_string(model.error().details);
  EXPECT_EQ(model->kv_heads, 8);
  EXPECT_TRUE(model->is_gated);
  const auto plain = parse_dimensions("--dims", "layers=2,hidden=64,heads=4,vocab=100");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->ffn, 256);
  EXPECT_EQ(plain->kv_heads, 4);
}

TEST(TransformerConfig, NamesWrongDimensions) {
  const auto wrong = parse_dimensions("--dims", "layers=0,hidden=64,heads=5,width=3,hidden=1");
  ASSERT_FALSE(wrong);
  const std::string text = to_string(wrong.error().details);
  for (const char* part : {"layers=0", "\"width=3\"", "expected it once", "also vocab="})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(
      to_string(parse_dimensions("--dims", "layers=2,hidden=64,heads=5,vocab=9").error().details),
      HasSubstr("heads= a divisor of hidden, 64"));
}

}  // namespace
}  // namespace weir::formats
