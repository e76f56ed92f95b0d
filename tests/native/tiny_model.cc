#include "tiny_model.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

namespace bactrian::test {
namespace {

constexpr uint64_t kAlignment = 32;

/// Little-endian fields, appended. The tests run on little-endian machines only.
class Bytes {
 public:
  template <typename T>
  void number(T value) {
    data_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void string(const std::string& text) {
    number(static_cast<uint64_t>(text.size()));
    data_ += text;
  }
  void pad() { data_.resize((data_.size() + kAlignment - 1) / kAlignment * kAlignment); }
  std::string data_;
};

struct ValueWriter {
  Bytes& out;

  void operator()(uint32_t value) { typed(4u, value); }
  void operator()(float value) { typed(6u, value); }
  void operator()(bool value) { typed(7u, static_cast<uint8_t>(value)); }
  void operator()(const std::string& value) {
    out.number(8u);
    out.string(value);
  }
  void operator()(const std::vector<int32_t>& values) {
    array(5u, values.size());
    for (const int32_t value : values) out.number(value);
  }
  void operator()(const std::vector<std::string>& values) {
    array(8u, values.size());
    for (const std::string& value : values) out.string(value);
  }

 private:
  template <typename T>
  void typed(uint32_t type, T value) {
    out.number(type);
    out.number(value);
  }
  void array(uint32_t type, size_t count) {
    out.number(9u);
    out.number(type);
    out.number(static_cast<uint64_t>(count));
  }
};

}  // namespace

void GgufWriter::add_random(const std::string& name, std::vector<uint64_t> dims, float center,
                            float spread) {
  uint64_t count = 1;
  for (const uint64_t dim : dims) count *= dim;
  std::vector<float> values;
  for (uint64_t i = 0; i < count; ++i) {
    random_ = random_ * 1664525u + 1013904223u;  // Numerical Recipes' LCG
    const float unit = static_cast<float>(random_ >> 8) * 0x1p-24f;
    values.push_back(center + spread * (2.0f * unit - 1.0f));
  }
  tensors[name] = {std::move(dims), std::move(values)};
}

void GgufWriter::write(const std::string& path) const {
  Bytes head;
  head.data_ = "GGUF";
  head.number(3u);
  head.number(static_cast<uint64_t>(tensors.size()));
  head.number(static_cast<uint64_t>(keys.size()));
  for (const auto& [key, value] : keys) {
    head.string(key);
    std::visit(ValueWriter{head}, value);
  }
  Bytes data;
  for (const auto& [name, tensor] : tensors) {
    data.pad();
    head.string(name);
    head.number(static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims) head.number(dim);
    head.number(0u);  // F32
    head.number(static_cast<uint64_t>(data.data_.size()));
    for (const float value : tensor.values) data.number(value);
  }
  data.pad();
  head.pad();
  std::ofstream(path, std::ios::binary) << head.data_ << data.data_;
}

TempGguf::TempGguf(const GgufWriter& writer) {
  static std::atomic<int> counter{0};
  const std::string name =
      "bactrian-test-" + std::to_string(getpid()) + "-" + std::to_string(++counter) + ".gguf";
  path_ = (std::filesystem::temp_directory_path() / name).string();
  writer.write(path_);
}

TempGguf::~TempGguf() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

GgufWriter tiny_llama(const TinyLlama& shape) {
  const auto u = [](int value) { return static_cast<uint32_t>(value); };
  GgufWriter w;
  w.keys = {{"general.architecture", std::string("llama")},
            {"llama.vocab_size", u(shape.n_vocab)},
            {"llama.context_length", u(shape.n_ctx)},
            {"llama.embedding_length", u(shape.n_embd)},
            {"llama.block_count", u(shape.n_layer)},
            {"llama.feed_forward_length", u(shape.n_ff)},
            {"llama.attention.head_count", u(shape.n_head)},
            {"llama.attention.head_count_kv", u(shape.n_head_kv)},
            {"llama.attention.layer_norm_rms_epsilon", 1e-5f},
            {"llama.attention.causal", shape.causal}};

  const auto n_vocab = static_cast<uint64_t>(shape.n_vocab);
  const auto n_embd = static_cast<uint64_t>(shape.n_embd);
  const auto n_ff = static_cast<uint64_t>(shape.n_ff);
  const uint64_t n_kv =
      n_embd / static_cast<uint64_t>(shape.n_head) * static_cast<uint64_t>(shape.n_head_kv);
  const auto linear = [&](const std::string& name, uint64_t n_in, uint64_t n_out) {
    w.add_random(name + ".weight", {n_in, n_out}, 0.0f, 0.3f);
    if (shape.biases) w.add_random(name + ".bias", {n_out}, 0.0f, 0.1f);
  };
  w.add_random("token_embd.weight", {n_embd, n_vocab}, 0.0f, 1.0f);
  for (int i = 0; i < shape.n_layer; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    w.add_random(prefix + "attn_norm.weight", {n_embd}, 1.0f, 0.2f);
    linear(prefix + "attn_q", n_embd, n_embd);
    linear(prefix + "attn_k", n_embd, n_kv);
    linear(prefix + "attn_v", n_embd, n_kv);
    linear(prefix + "attn_output", n_embd, n_embd);
    w.add_random(prefix + "ffn_norm.weight", {n_embd}, 1.0f, 0.2f);
    linear(prefix + "ffn_gate", n_embd, n_ff);
    linear(prefix + "ffn_up", n_embd, n_ff);
    linear(prefix + "ffn_down", n_ff, n_embd);
  }
  w.add_random("output_norm.weight", {n_embd}, 1.0f, 0.2f);
  if (!shape.tied) linear("output", n_embd, n_vocab);
  return w;
}

}  // namespace bactrian::test
