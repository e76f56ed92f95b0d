#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace bactrian::test {

/// Writes small GGUF v3 files: keys and float32 tensors that a test sets, replaces or drops.
class GgufWriter {
 public:
  using Value = std::variant<uint32_t, float, bool, std::string, std::vector<int32_t>,
                             std::vector<std::string>>;
  struct Tensor {
    std::vector<uint64_t> dims;  // fastest first
    std::vector<float> values;
  };

  std::map<std::string, Value> keys;
  std::map<std::string, Tensor> tensors;

  /// Adds a tensor of pseudo-random values in [center - spread, center + spread].
  void add_random(const std::string& name, std::vector<uint64_t> dims, float center, float spread);

  void write(const std::string& path) const;

 private:
  uint32_t random_ = 1;
};

/// A file in the temporary folder, removed with the object.
class TempGguf {
 public:
  explicit TempGguf(const GgufWriter& writer);
  ~TempGguf();
  TempGguf(const TempGguf&) = delete;
  TempGguf& operator=(const TempGguf&) = delete;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

struct TinyLlama {
  int n_vocab = 61;
  int n_embd = 32;
  int n_layer = 2;
  int n_head = 4;
  int n_head_kv = 2;
  int n_ff = 48;
  int n_ctx = 256;
  bool tied = true;
  bool biases = false;
  bool causal = true;
};

/// A complete llama file with random weights.
GgufWriter tiny_llama(const TinyLlama& shape = {});

}  // namespace bactrian::test
