#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gguf/reader.h"

namespace bactrian {

/// How the hidden states of one input become its embedding.
enum class Pooling { none, mean, cls, last };

/// "none", "mean", "cls", "last"; throws Error(invalid_argument) for anything else.
Pooling parse_pooling(std::string_view name);
std::string_view pooling_name(Pooling pooling) noexcept;

enum class RopeScaling { none, linear, yarn };

/// Rotary position embedding as a file describes it; rope.h turns this into frequencies.
struct RopeParams {
  int n_rot = 0;  // leading elements of each head that rotate, even
  double freq_base = 10000.0;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1.0;       // context extension: positions are divided by it
  double attn_factor = 1.0;  // on the magnitude of cos and sin
  int64_t n_ctx_original = 0;
  // YaRN: weight of the unscaled frequencies, and the rotations over the original context between
  // which unscaled and scaled frequencies are blended.
  double ext_factor = 1.0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
};

/// What the caller may set against the file's rotary embedding.
struct RopeOverrides {
  std::optional<std::string> scaling;  // "none", "linear" or "yarn"
  std::optional<double> factor;        // context extension, > 0
  std::optional<double> freq_base;     // > 0
};

/// Hyperparameters that every decoder and encoder has, checked against each other.
struct Hparams {
  std::string architecture;
  int n_vocab = 0;
  int n_embd = 0;
  int n_layer = 0;
  int n_head = 0;
  int n_head_kv = 0;
  int d_head_k = 0;
  int d_head_v = 0;
  int n_ff = 0;
  int n_ctx_train = 0;  // as the file says
  int n_ctx_max = 0;    // longest sequence: n_ctx_train, or more if an override stretches it
  float norm_eps = 0.0f;
  bool causal = true;
  std::optional<Pooling> pooling;  // what the file asks for
  RopeParams rope;
};

/// Reads the keys of `file`'s architecture. Throws Error(bad_file) naming the key that is missing,
/// out of range or at odds with another; Error(unsupported) for per-layer arrays of different
/// values, mixtures of experts, kinds of RoPE scaling and pooling this engine lacks;
/// Error(invalid_argument) for an override out of range.
Hparams read_hparams(const GgufFile& file, const RopeOverrides& overrides);

}  // namespace bactrian
