#include <functional>

#include "base/error.h"
#include "check.h"
#include "model/hparams.h"
#include "tiny_model.h"

namespace bactrian {
namespace {

using test::GgufWriter;

Hparams read(const GgufWriter& writer, const RopeOverrides& overrides = {}) {
  const test::TempGguf file(writer);
  return read_hparams(*GgufFile::open(file.path()), overrides);
}

/// The tiny model with one key set to a value, or dropped.
GgufWriter with(const std::string& key, const GgufWriter::Value& value) {
  GgufWriter writer = test::tiny_llama();
  writer.keys[key] = value;
  return writer;
}

GgufWriter without(const std::string& key) {
  GgufWriter writer = test::tiny_llama();
  writer.keys.erase(key);
  return writer;
}

TEST(hparams_defaults) {
  const Hparams h = read(test::tiny_llama());
  CHECK_EQ(h.architecture, "llama");
  CHECK_EQ(h.n_vocab, 61);
  CHECK_EQ(h.n_embd, 32);
  CHECK_EQ(h.n_layer, 2);
  CHECK_EQ(h.n_head, 4);
  CHECK_EQ(h.n_head_kv, 2);
  CHECK_EQ(h.d_head_k, 8);
  CHECK_EQ(h.d_head_v, 8);
  CHECK_EQ(h.n_ff, 48);
  CHECK_EQ(h.n_ctx_train, 256);
  CHECK_EQ(h.n_ctx_max, 256);
  CHECK_EQ(h.norm_eps, 1e-5f);
  CHECK(h.causal);
  CHECK(!h.pooling);
  CHECK_EQ(h.rope.n_rot, 8);
  CHECK_EQ(h.rope.freq_base, 10000.0);
  CHECK_EQ(h.rope.factor, 1.0);
  CHECK_EQ(h.rope.n_ctx_original, 256);
}

TEST(hparams_head_count_kv_defaults_to_head_count) {
  CHECK_EQ(read(without("llama.attention.head_count_kv")).n_head_kv, 4);
}

TEST(hparams_vocabulary_size_from_the_token_list) {
  GgufWriter writer = without("llama.vocab_size");
  writer.keys["tokenizer.ggml.tokens"] = std::vector<std::string>{"a", "b", "c"};
  CHECK_EQ(read(writer).n_vocab, 3);
  CHECK_ERROR(read(without("llama.vocab_size")), ErrorCode::bad_file, "tokenizer.ggml.tokens");
}

TEST(hparams_missing_keys_are_named) {
  for (const char* key : {"general.architecture", "llama.context_length", "llama.embedding_length",
                          "llama.block_count", "llama.feed_forward_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    CHECK_ERROR(read(without(key)), ErrorCode::bad_file, key);
  }
}

TEST(hparams_out_of_range_keys_are_named) {
  for (const char* key :
       {"llama.context_length", "llama.embedding_length", "llama.block_count",
        "llama.feed_forward_length", "llama.attention.head_count", "llama.attention.head_count_kv",
        "llama.rope.dimension_count", "llama.vocab_size"}) {
    CHECK_ERROR(read(with(key, 0u)), ErrorCode::bad_file, key);
    CHECK_ERROR(read(with(key, 0xffffffffu)), ErrorCode::bad_file, key);
    CHECK_ERROR(read(with(key, std::string("many"))), ErrorCode::bad_file, key);
  }
  for (const char* key :
       {"llama.rope.freq_base", "llama.rope.scaling.factor", "llama.rope.scaling.attn_factor",
        "llama.rope.scaling.yarn_beta_fast", "llama.attention.layer_norm_rms_epsilon"}) {
    CHECK_ERROR(read(with(key, -1.0f)), ErrorCode::bad_file, key);
    CHECK_ERROR(read(with(key, std::nanf(""))), ErrorCode::bad_file, key);
  }
}

TEST(hparams_that_contradict_each_other) {
  CHECK_ERROR(read(with("llama.attention.head_count_kv", 3u)), ErrorCode::bad_file,
              "(4) must be a multiple of llama.attention.head_count_kv (3)");
  CHECK_ERROR(read(with("llama.embedding_length", 30u)), ErrorCode::bad_file,
              "llama.embedding_length (30) must be a multiple of");
  CHECK_ERROR(read(with("llama.rope.dimension_count", 10u)), ErrorCode::bad_file,
              "llama.rope.dimension_count");
  CHECK_ERROR(read(with("llama.rope.dimension_count", 5u)), ErrorCode::bad_file, "even");
}

TEST(hparams_head_sizes_of_their_own) {
  GgufWriter writer = with("llama.attention.key_length", 12u);
  writer.keys["llama.attention.value_length"] = 16u;
  writer.keys["llama.embedding_length"] = 30u;
  const Hparams h = read(writer);
  CHECK_EQ(h.d_head_k, 12);
  CHECK_EQ(h.d_head_v, 16);
  CHECK_EQ(h.rope.n_rot, 12);
}

TEST(hparams_per_layer_arrays_must_be_uniform) {
  const std::string key = "llama.attention.head_count_kv";
  CHECK_EQ(read(with(key, std::vector<int32_t>{2, 2})).n_head_kv, 2);
  CHECK_ERROR(read(with(key, std::vector<int32_t>{2, 4})), ErrorCode::unsupported,
              key + " differs between layers");
  CHECK_ERROR(read(with(key, std::vector<int32_t>{2, 2, 2})), ErrorCode::bad_file,
              "array of 2 integers");
  CHECK_ERROR(read(with(key, std::vector<int32_t>{0, 0})), ErrorCode::bad_file, key);
}

TEST(hparams_what_is_not_supported_is_named) {
  CHECK_ERROR(read(with("llama.expert_count", 8u)), ErrorCode::unsupported,
              "llama.expert_count is 8");
  CHECK_ERROR(read(with("llama.rope.scaling.type", std::string("longrope"))),
              ErrorCode::unsupported, "\"longrope\"; supported are none, linear and yarn");
  CHECK_ERROR(read(with("llama.pooling_type", 4u)), ErrorCode::unsupported, "rank");
  CHECK_EQ(read(with("llama.expert_count", 0u)).n_layer, 2);
}

TEST(hparams_pooling_of_the_file) {
  CHECK(read(with("llama.pooling_type", 0u)).pooling == Pooling::none);
  CHECK(read(with("llama.pooling_type", 1u)).pooling == Pooling::mean);
  CHECK(read(with("llama.pooling_type", 2u)).pooling == Pooling::cls);
  CHECK(read(with("llama.pooling_type", 3u)).pooling == Pooling::last);
  CHECK_ERROR(read(with("llama.pooling_type", 5u)), ErrorCode::bad_file, "llama.pooling_type");
}

TEST(hparams_rope_scaling_of_the_file) {
  GgufWriter writer = with("llama.rope.scaling.factor", 4.0f);
  CHECK(read(writer).rope.scaling == RopeScaling::linear);
  CHECK_EQ(read(writer).rope.factor, 4.0);
  writer.keys["llama.rope.scaling.type"] = std::string("yarn");
  writer.keys["llama.rope.scaling.original_context_length"] = 64u;
  CHECK(read(writer).rope.scaling == RopeScaling::yarn);
  CHECK_EQ(read(writer).rope.n_ctx_original, 64);
  writer.keys["llama.rope.scaling.type"] = std::string("none");
  CHECK(read(writer).rope.scaling == RopeScaling::none);
  // Older files.
  CHECK_EQ(read(with("llama.rope.scale_linear", 8.0f)).rope.factor, 8.0);
  CHECK(read(with("llama.rope.scale_linear", 8.0f)).rope.scaling == RopeScaling::linear);
}

TEST(hparams_overrides_replace_the_file) {
  const Hparams h = read(test::tiny_llama(), {"yarn", 4.0, 5000.0});
  CHECK(h.rope.scaling == RopeScaling::yarn);
  CHECK_EQ(h.rope.factor, 4.0);
  CHECK_EQ(h.rope.freq_base, 5000.0);
  CHECK_EQ(h.n_ctx_train, 256);
  CHECK_EQ(h.n_ctx_max, 1024);
  CHECK(read(test::tiny_llama(), {std::nullopt, 2.0, std::nullopt}).rope.scaling ==
        RopeScaling::linear);
  CHECK_ERROR(read(test::tiny_llama(), {"ntk", std::nullopt, std::nullopt}),
              ErrorCode::invalid_argument, "rope_scaling is \"ntk\"");
  CHECK_ERROR(read(test::tiny_llama(), {std::nullopt, 0.0, std::nullopt}),
              ErrorCode::invalid_argument, "rope_scale is 0");
  CHECK_ERROR(read(test::tiny_llama(), {std::nullopt, std::nullopt, -1.0}),
              ErrorCode::invalid_argument, "rope_freq_base is -1");
}

TEST(pooling_names_round_trip) {
  for (const char* name : {"none", "mean", "cls", "last"}) {
    CHECK_EQ(pooling_name(parse_pooling(name)), std::string_view(name));
  }
  CHECK_ERROR(parse_pooling("max"), ErrorCode::invalid_argument, "\"max\"");
}

}  // namespace
}  // namespace bactrian
