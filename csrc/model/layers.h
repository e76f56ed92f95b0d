#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/architecture.h"
#include "model/weights.h"

namespace bactrian {

// Building blocks of transformer layers. A block is loaded by its tensor names and knows how to run
// itself on a pass; what differs between architectures stands in its option struct.

/// y = x · weightᵀ (+ bias, if the file has one).
struct Linear {
  std::unique_ptr<Weight> weight;
  std::unique_ptr<Weight> bias;

  /// Tensors `name`.weight [n_out, n_in] and optionally `name`.bias [n_out].
  static Linear load(WeightLoader& loader, const std::string& name, int64_t n_in, int64_t n_out);

  int64_t n_out() const noexcept { return weight->n_rows(); }
  LinearTarget to(Matrix out) const noexcept { return {weight.get(), bias.get(), out, false}; }
  LinearTarget add_to(Matrix out) const noexcept { return {weight.get(), bias.get(), out, true}; }
};

/// RMSNorm (Zhang & Sennrich 2019).
struct Norm {
  std::unique_ptr<Weight> gain;
  float eps = 0.0f;

  /// Tensor `name`.weight [n_embd].
  static Norm load(WeightLoader& loader, const std::string& name, int64_t n_embd, float eps);

  /// out may be x.
  void run(Backend& backend, Matrix x, Matrix out) const;
};

/// Factors that divide the rotary frequencies (tensor rope_freqs of llama3 scaling): [n_pairs], or
/// empty if the file has none. Throws Error(bad_file) if one is not finite and positive.
std::vector<float> load_rope_factors(WeightLoader& loader, int64_t n_pairs);

struct AttentionOptions {
  AttentionShape shape;
  int64_t n_embd = 0;
  float norm_eps = 0.0f;
  RopeLayout rope_layout = RopeLayout::adjacent;
};

/// x += output(attention(rope(q), rope(k), v)), with q, k, v projected from norm(x): grouped-query
/// attention (Ainslie et al. 2023) with rotary positions.
class AttentionBlock {
 public:
  /// Tensors `prefix`.attn_{norm,q,k,v,output}.
  AttentionBlock(WeightLoader& loader, const std::string& prefix, const AttentionOptions& options);

  /// Updates and returns x [n_rows, n_embd]. With `wanted_only` the result has just the wanted rows
  /// of the pass, in another matrix; the keys and values of all rows are stored all the same.
  Matrix run(const Pass& pass, int layer, Matrix rope_table, Matrix x, bool wanted_only) const;

 private:
  AttentionOptions options_;
  Norm norm_;
  Linear q_, k_, v_, output_;
};

struct FeedForwardOptions {
  int64_t n_embd = 0;
  int64_t n_ff = 0;
  float norm_eps = 0.0f;
  Activation activation = Activation::silu;
};

/// x += down(act(gate(h)) * up(h)) with h = norm(x): a gated linear unit (Shazeer 2020).
class FeedForwardBlock {
 public:
  /// Tensors `prefix`.ffn_{norm,gate,up,down}.
  FeedForwardBlock(WeightLoader& loader, const std::string& prefix,
                   const FeedForwardOptions& options);

  void run(const Pass& pass, Matrix x) const;

 private:
  FeedForwardOptions options_;
  Norm norm_;
  Linear gate_, up_, down_;
};

}  // namespace bactrian
