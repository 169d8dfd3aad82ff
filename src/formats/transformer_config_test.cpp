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
  const auto config = parse_transformer_config("config.json", kLlama);
  ASSERT_TRUE(config) << to_string(config.error().details);
  EXPECT_EQ(config->model.name, "llama");
  EXPECT_EQ(config->model.layers, 32);
  EXPECT_EQ(config->model.kv_heads, 8);
  EXPECT_EQ(config->model.head_dim, 128);
  EXPECT_TRUE(config->model.is_gated);
  EXPECT_FALSE(config->model.has_tied_embeddings);
}

TEST(TransformerConfig, ReadsGpt2ByItsOwnNames) {
  const auto config = parse_transformer_config(
      "config.json",
      R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": null,
          "vocab_size": 50257})");
  ASSERT_TRUE(config) << to_string(config.error().details);
  EXPECT_EQ(config->model.ffn, 3072);
  EXPECT_FALSE(config->model.is_gated);
  EXPECT_TRUE(config->model.has_tied_embeddings);
  EXPECT_NEAR(static_cast<double>(config->model.elements()) / 1e6, 124, 1);
}

TEST(TransformerConfig, ReadsExperts) {
  const auto config = parse_transformer_config(
      "config.json",
      R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
          "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2})");
  ASSERT_TRUE(config) << to_string(config.error().details);
  EXPECT_EQ(config->model.experts, 8);
  EXPECT_EQ(config->model.experts_per_token, 2);
}

std::string config_mistakes(const std::string& text, ConfigUse use = ConfigUse::plan) {
  const auto config = parse_transformer_config("config.json", text, use);
  return config ? "" : to_string(config.error().details);
}

TEST(TransformerConfig, NamesWhatItDoesNotSupport) {
  EXPECT_THAT(config_mistakes(R"({"model_type": "phi", "hidden_size": 512})"),
              HasSubstr("model_type is \"phi\", expected one of gpt2, gpt_neox, llama, mistral, "
                        "qwen2, qwen3, internlm2, mixtral; for another decoder with full attention "
                        "write its dimensions with --dims"));
  EXPECT_THAT(config_mistakes("{}"), HasSubstr("model_type is missing"));
  EXPECT_THAT(config_mistakes("[]"), HasSubstr("config.json"));
  EXPECT_THAT(config_mistakes("{"), HasSubstr("config.json:1"));
}

TEST(TransformerConfig, AdvisesDimensionsOnlyWhereTheyDescribeTheModel) {
  const std::string kDims = "write its dimensions with --dims";
  const auto advice = [](const std::string& type, const std::string& more = "") {
    return config_mistakes("{\"model_type\": \"" + type + "\"" + more + "}");
  };
  for (const char* type : {"deepseek_v3", "mamba2", "vit", "t5"}) {
    EXPECT_THAT(advice(type), testing::Not(HasSubstr("--dims"))) << type;
    EXPECT_THAT(advice(type), HasSubstr("give that to --ops")) << type;
  }
  EXPECT_THAT(advice("deepseek_v3"), HasSubstr("latent attention (MLA)"));
  EXPECT_THAT(advice("mamba2"), HasSubstr("state space layers"));
  EXPECT_THAT(advice("vit"), HasSubstr("it sees images"));
  EXPECT_THAT(advice("roberta"), HasSubstr("it is an encoder: --dims plans a decoder"));
  EXPECT_THAT(advice("new_decoder"), HasSubstr(kDims));
  EXPECT_THAT(advice("new_decoder", R"(, "kv_lora_rank": 512)"),
              testing::AllOf(HasSubstr("(MLA)"), testing::Not(HasSubstr(kDims))));
  EXPECT_THAT(advice("new_pair", R"(, "is_encoder_decoder": true)"),
              testing::AllOf(HasSubstr("an encoder beside"), testing::Not(HasSubstr(kDims))));
}

TEST(TransformerConfig, AdvisesWhatDescribesExpertsPartsAndWindows) {
  const auto advice = [](const std::string& type, const std::string& more = "") {
    return config_mistakes("{\"model_type\": \"" + type + "\"" + more + "}");
  };
  const std::string experts = "ffn= is that of one expert";
  const std::string windows = "sliding windows are not known";
  const std::string part = "only the decoder of its text can be planned";
  for (const char* key : {"num_experts", "num_local_experts"}) {
    const std::string text = advice("new_mixture", std::string{", \""} + key + "\": 128");
    EXPECT_THAT(text, testing::AllOf(HasSubstr("experts=128"), HasSubstr(experts),
                                     HasSubstr("experts-per-token= (else 1)")));
    EXPECT_THAT(text, testing::Not(HasSubstr(windows)));
  }
  EXPECT_THAT(advice("new_decoder"), testing::Not(HasSubstr(experts)));
  for (const char* key : {"vision_config", "audio_config", "text_config"}) {
    const std::string text = advice("gemma3", std::string{", \""} + key + R"(": {"a": 1})");
    EXPECT_THAT(text, testing::AllOf(HasSubstr(part), HasSubstr("--dims"), HasSubstr(windows)))
        << key;
    EXPECT_THAT(text, testing::Not(HasSubstr("another decoder"))) << key;
  }
  EXPECT_THAT(advice("llama4", R"(, "text_config": {"num_local_experts": 16})"),
              testing::AllOf(HasSubstr(part), HasSubstr(experts)));
  EXPECT_THAT(advice("qwen2_vl"), HasSubstr(part));
  EXPECT_THAT(advice("siglip", R"(, "vision_config": {})"), HasSubstr("it sees images"));
  EXPECT_THAT(advice("new_decoder", R"(, "sliding_window": 128)"), HasSubstr(windows));
  EXPECT_THAT(advice("new_decoder", R"(, "sliding_window": null)"),
              testing::Not(HasSubstr(windows)));
  EXPECT_THAT(advice("new_decoder", R"(, "sliding_window": 128, "use_sliding_window": false)"),
              testing::Not(HasSubstr(windows)));
}

// The line of --dims that is advised.
std::string advised_dimensions(const std::string& text) {
  const std::string before = "--dims ";
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + before.size();
  return text.substr(begin, text.find(' ', begin) - begin);
}

// Gemma-7B's file has neither the gate nor the tie.
TEST(TransformerConfig, AdvisesTheDimensionsThatTheFileHas) {
  const std::string text = config_mistakes(R"({"model_type": "gemma", "attention_bias": false,
      "head_dim": 256, "hidden_act": "gelu", "hidden_size": 3072, "intermediate_size": 24576,
      "max_position_embeddings": 8192, "num_attention_heads": 16, "num_hidden_layers": 28,
      "num_key_value_heads": 16, "vocab_size": 256000})");
  EXPECT_EQ(advised_dimensions(text),
            "layers=28,hidden=3072,heads=16,kv-heads=16,vocab=256000,head-dim=256,ffn=24576,"
            "gated=1,tied=1");
  EXPECT_THAT(text, testing::Not(HasSubstr("the file does not say")));
  const auto model = parse_dimensions("--dims", advised_dimensions(text));
  ASSERT_TRUE(model) << to_string(model.error().details);
  EXPECT_NEAR(static_cast<double>(model->elements()), 8.54e9, 0.01e9);
}

TEST(TransformerConfig, NamesTheDimensionsThatTheFileDoesNotHave) {
  const std::string phi = config_mistakes(R"({"model_type": "phi", "hidden_act": "gelu_new",
      "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32,
      "num_hidden_layers": 24, "num_key_value_heads": null, "tie_word_embeddings": false,
      "vocab_size": 51200})");
  EXPECT_EQ(advised_dimensions(phi), "layers=24,hidden=2048,heads=32,vocab=51200,ffn=8192");
  EXPECT_THAT(phi, HasSubstr("; the file does not say gated= (else 0)\n"));
  const std::string mpt =
      config_mistakes(R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 0})");
  EXPECT_EQ(advised_dimensions(mpt), "hidden=4096,heads=32");
  EXPECT_THAT(mpt, HasSubstr("; the file does not say layers=, kv-heads= (else as many as heads), "
                             "vocab=, ffn= (else 4 x hidden), gated= (else 0), tied= (else 0)"));
}

TEST(TransformerConfig, AdvisesTheDimensionsOfAMixtureAndOfAPart) {
  const std::string sizes = R"("hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144,
      "num_attention_heads": 32, "num_hidden_layers": 48, "num_key_value_heads": 4, "head_dim": 128,
      "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
      "tie_word_embeddings": false, "vocab_size": 151936)";
  const std::string line =
      "layers=48,hidden=2048,heads=32,kv-heads=4,vocab=151936,head-dim=128,ffn=768,gated=1,"
      "experts=128,experts-per-token=8";
  EXPECT_EQ(advised_dimensions(config_mistakes(R"({"model_type": "qwen3_moe", )" + sizes + "}")),
            line);
  EXPECT_EQ(advised_dimensions(config_mistakes(
                R"({"model_type": "qwen3_vl_moe", "text_config": {)" + sizes + "}}")),
            line);
  EXPECT_TRUE(parse_dimensions("--dims", line));
}

TEST(TransformerConfig, ForAnIterationAdvisesATraceAndNamesNoExperts) {
  const std::string text = config_mistakes(R"({"model_type": "phi"})", ConfigUse::iteration);
  EXPECT_THAT(text, HasSubstr("internlm2; for any other network, trace it with"));
  EXPECT_THAT(text, HasSubstr("--ops"));
  EXPECT_THAT(text, testing::Not(HasSubstr("mixtral")));
}

TransformerConfig config_of(const std::string& type, const std::string& more) {
  const auto config = parse_transformer_config(
      "config.json", "{\"model_type\": \"" + type +
                         R"(", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 100)" +
                         more + "}");
  EXPECT_TRUE(config) << to_string(config.error().details);
  return config ? *config : TransformerConfig{};
}

TEST(TransformerConfig, TellsTheStyleOfTheLayers) {
  const LayerStyle llama = config_of("llama", R"(, "rope_theta": 500000.0)").style;
  EXPECT_TRUE(llama.has_rms_norm && llama.has_rotary);
  EXPECT_FALSE(llama.has_biases || llama.has_qkv_biases || llama.has_qk_norm);
  EXPECT_EQ(llama.rotary_base, 500'000);
  EXPECT_EQ(config_of("llama", "").style.rotary_base, std::nullopt);
  const std::string experts = R"(, "num_local_experts": 8, "num_experts_per_tok": 2)";
  EXPECT_EQ(config_of("mixtral", experts).style.rotary_base, 1'000'000) << "Hugging Face's own";
  EXPECT_TRUE(config_of("llama", R"(, "attention_bias": true)").style.has_qkv_biases);
  EXPECT_TRUE(config_of("qwen2", "").style.has_qkv_biases);
  EXPECT_TRUE(config_of("qwen3", "").style.has_qk_norm);
  const LayerStyle neox = config_of("gpt_neox", R"(, "rotary_emb_base": 10000)").style;
  EXPECT_TRUE(neox.has_biases && neox.has_rotary);
  EXPECT_FALSE(neox.has_rms_norm);
  EXPECT_EQ(neox.rotary_share, 0.25);
  EXPECT_EQ(neox.rotary_base, 10'000);
}

constexpr const char* kScaling =
    R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
       "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})";

TEST(TransformerConfig, TellsHowRotaryPositionsAreScaled) {
  const LayerStyle llama3 = config_of("llama", kScaling).style;
  EXPECT_EQ(llama3.rotary_scaling, RotaryScaling::llama3);
  EXPECT_EQ(llama3.rotary_factor, 8);
  const auto scaling = [](const std::string& object) {
    return config_of("llama", ", \"rope_scaling\": " + object).style.rotary_scaling;
  };
  EXPECT_EQ(scaling("null"), RotaryScaling::none);
  EXPECT_EQ(scaling(R"({"type": "linear", "factor": 2})"), RotaryScaling::linear);
  EXPECT_EQ(scaling(R"({"rope_type": "yarn", "factor": 2})"), RotaryScaling::other);
  EXPECT_EQ(scaling(R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 2})"),
            RotaryScaling::other)
      << "constants of its own";
}

// As newer versions of Hugging Face's library write it.
TEST(TransformerConfig, ReadsRotaryParametersInOneObject) {
  const LayerStyle style =
      config_of("llama", R"(, "rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3",
                         "factor": 32.0})")
          .style;
  EXPECT_EQ(style.rotary_base, 500'000);
  EXPECT_EQ(style.rotary_scaling, RotaryScaling::llama3);
  EXPECT_EQ(style.rotary_factor, 32);
  const LayerStyle neox =
      config_of("gpt_neox", R"(, "rope_parameters": {"partial_rotary_factor": 0.5})").style;
  EXPECT_EQ(neox.rotary_share, 0.5);
  EXPECT_EQ(neox.rotary_scaling, RotaryScaling::none);
}

TEST(TransformerConfig, TellsActivationDropoutAndNorm) {
  const LayerStyle llama = config_of("llama", R"(, "rms_norm_eps": 1e-05)").style;
  EXPECT_EQ(llama.norm_epsilon, 1e-5);
  EXPECT_EQ(llama.activation, Activation::silu);
  EXPECT_EQ(llama.attention_dropout, 0);
  EXPECT_EQ(config_of("llama", "").style.norm_epsilon, 1e-6) << "Hugging Face's own";
  EXPECT_EQ(config_of("llama", R"(, "hidden_act": "relu2")").style.activation, Activation::other);
  const auto gpt2 = parse_transformer_config(
      "config.json", R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4,
      "vocab_size": 100, "attn_pdrop": 0.2, "resid_pdrop": 0.0, "layer_norm_epsilon": 1e-6})");
  ASSERT_TRUE(gpt2) << to_string(gpt2.error().details);
  EXPECT_EQ(gpt2->style.activation, Activation::gelu_tanh);
  EXPECT_EQ(gpt2->style.attention_dropout, 0.2);
  EXPECT_EQ(gpt2->style.hidden_dropout, 0);
  EXPECT_EQ(gpt2->style.embedding_dropout, 0.1) << "Hugging Face's own";
  EXPECT_EQ(gpt2->style.norm_epsilon, 1e-6);
}

TEST(TransformerConfig, TellsBiasesAndTheResidual) {
  const LayerStyle some = config_of("llama", R"(, "attention_bias": true)").style;
  EXPECT_TRUE(some.has_other_biases && some.has_qkv_biases && !some.has_biases);
  const LayerStyle all = config_of("llama", R"(, "attention_bias": true, "mlp_bias": true)").style;
  EXPECT_TRUE(all.has_biases && all.has_qkv_biases && !all.has_other_biases);
  EXPECT_FALSE(config_of("qwen2", "").style.has_other_biases);
  EXPECT_TRUE(config_of("internlm2", "").style.has_qkv_biases) << "its own";
  EXPECT_FALSE(config_of("internlm2", R"(, "bias": false)").style.has_qkv_biases);
  EXPECT_TRUE(config_of("gpt_neox", "").style.has_parallel_residual);
  EXPECT_FALSE(
      config_of("gpt_neox", R"(, "use_parallel_residual": false)").style.has_parallel_residual);
}

TEST(TransformerConfig, TakesWhatHuggingFaceTakesForKeyValueHeads) {
  const auto config = [](const std::string& type, const std::string& more) {
    return parse_transformer_config(
        "config.json",
        "{\"model_type\": \"" + type +
            R"(", "hidden_size": 512, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 32, "vocab_size": 100)" +
            more + "}");
  };
  EXPECT_EQ(config("llama", "")->model.kv_heads, 32);
  EXPECT_EQ(config("mistral", "")->model.kv_heads, 8);
  EXPECT_EQ(config("mistral", R"(, "num_key_value_heads": null)")->model.kv_heads, 32);
  EXPECT_EQ(config("qwen3", "")->model.head_dim, 128);
  EXPECT_THAT(config_mistakes(R"({"model_type": "mistral", "hidden_size": 512,
      "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 12,
      "vocab_size": 100})"),
              HasSubstr("num_key_value_heads is missing, expected a divisor of the 12 heads"));
}

TEST(TransformerConfig, NamesFieldsOfTheWrongKind) {
  const std::string text = config_mistakes(R"({"model_type": "llama", "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
      "vocab_size": 100, "tie_word_embeddings": "yes", "attention_bias": 1,
      "rope_theta": "x", "attention_dropout": 2, "rms_norm_eps": 0, "hidden_act": 5,
      "rope_scaling": "llama3"})");
  for (const char* part : {"config.json:3: tie_word_embeddings is \"yes\", expected true or false",
                           "attention_bias is \"1\", expected true or false",
                           "rope_theta is \"x\", expected a number above 0",
                           "attention_dropout is \"2\", expected a number from 0 to 1",
                           "rms_norm_eps is \"0\", expected a number above 0",
                           "hidden_act is \"5\"", "rope_scaling is \"llama3\", expected an object"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(config_mistakes(R"({"model_type": "llama", "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
      "vocab_size": 100, "rope_scaling": {"rope_type": "linear"}})"),
              HasSubstr("rope_scaling.factor is missing, expected a number above 0"));
}

TEST(TransformerConfig, TellsAWindowThatIsInUse) {
  EXPECT_EQ(config_of("mistral", R"(, "sliding_window": 4096)").window, 4096);
  EXPECT_EQ(config_of("mistral", R"(, "sliding_window": null)").window, 0);
  EXPECT_EQ(config_of("mistral", "").window, 4096) << "Hugging Face's own";
  EXPECT_EQ(config_of("mistral", R"(, "use_sliding_window": false)").window, 0);
  const std::string experts = R"(, "num_local_experts": 8, "num_experts_per_tok": 2)";
  EXPECT_EQ(config_of("mixtral", experts).window, 0) << "Hugging Face's own";
  EXPECT_EQ(config_of("mixtral", experts + R"(, "sliding_window": 512)").window, 512);
  EXPECT_EQ(config_of("qwen2", R"(, "sliding_window": 4096, "use_sliding_window": false)").window,
            0);
  EXPECT_EQ(config_of("qwen2", R"(, "sliding_window": 4096)").window, 0);
  EXPECT_EQ(config_of("llama", "").window, 0);
}

TEST(TransformerConfig, TakesTheLongestSequenceButAtMost4096) {
  TransformerModel model;
  EXPECT_EQ(usual_sequence(model), 4096);
  model.positions = 1024;
  EXPECT_EQ(usual_sequence(model), 1024);
  model.positions = 131'072;
  EXPECT_EQ(usual_sequence(model), 4096);
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
