#include "model/arch/llama.h"

#include <cmath>
#include <vector>

#include "model/layers.h"
#include "model/rope.h"

namespace bactrian {
namespace {

// Llama files have the rows of q and k permuted for rotating adjacent elements.
constexpr RopeLayout kRopeLayout = RopeLayout::adjacent;

struct Layer {
  AttentionBlock attention;
  FeedForwardBlock feed_forward;
};

class Llama final : public Architecture {
 public:
  Llama(const Hparams& h, WeightLoader& loader) : n_embd_(h.n_embd) {
    const bool tied = !loader.has("output.weight");
    token_embd_ = loader.matrix("token_embd.weight", h.n_vocab, h.n_embd,
                                tied ? WeightRole::linear_and_table : WeightRole::table);
    rope_ = make_rope(h.rope, kRopeLayout, load_rope_factors(loader, h.rope.n_rot / 2));

    const AttentionOptions attention{
        .shape = {.n_head = h.n_head,
                  .n_head_kv = h.n_head_kv,
                  .d_head_k = h.d_head_k,
                  .d_head_v = h.d_head_v,
                  .scale = 1.0f / std::sqrt(static_cast<float>(h.d_head_k)),
                  .causal = h.causal},
        .n_embd = h.n_embd,
        .norm_eps = h.norm_eps,
        .rope_layout = kRopeLayout};
    const FeedForwardOptions feed_forward{
        .n_embd = h.n_embd, .n_ff = h.n_ff, .norm_eps = h.norm_eps, .activation = Activation::silu};
    for (int i = 0; i < h.n_layer; ++i) {
      const std::string prefix = "blk." + std::to_string(i);
      layers_.push_back({AttentionBlock(loader, prefix, attention),
                         FeedForwardBlock(loader, prefix, feed_forward)});
    }

    output_norm_ = Norm::load(loader, "output_norm", h.n_embd, h.norm_eps);
    if (!tied) output_ = loader.matrix("output.weight", h.n_vocab, h.n_embd);
    output_bias_ = loader.optional_vector("output.bias", h.n_vocab);
  }

  Matrix forward(const Pass& pass) const override {
    Matrix x = pass.arena.matrix(pass.n_rows, n_embd_);
    pass.backend.embed(*token_embd_, pass.step, x);
    const Matrix rope_table = pass.arena.matrix(pass.n_rows, rope_.n_rot());
    pass.backend.rope_table(rope_, pass.step, rope_table);

    for (size_t i = 0; i < layers_.size(); ++i) {
      pass.checkpoint();
      // After the last layer's keys and values are stored, rows that nobody wants are done.
      const bool wanted_only = i + 1 == layers_.size();
      x = layers_[i].attention.run(pass, static_cast<int>(i), rope_table, x, wanted_only);
      if (x.n_rows == 0) return x;
      layers_[i].feed_forward.run(pass, x);
    }
    output_norm_.run(pass.backend, x, x);
    return x;
  }

  void logits(Backend& backend, Matrix hidden, Matrix out) const override {
    const Weight* weight = output_ != nullptr ? output_.get() : token_embd_.get();
    const LinearTarget target[] = {{weight, output_bias_.get(), out, false}};
    backend.linear(hidden, target);
  }

  const Rope& rope() const noexcept override { return rope_; }

 private:
  int n_embd_;
  std::unique_ptr<Weight> token_embd_;
  Rope rope_;
  std::vector<Layer> layers_;
  Norm output_norm_;
  std::unique_ptr<Weight> output_;  // nullptr: tied to token_embd_
  std::unique_ptr<Weight> output_bias_;
};

}  // namespace

std::unique_ptr<Architecture> make_llama(const Hparams& hparams, WeightLoader& loader) {
  return std::make_unique<Llama>(hparams, loader);
}

}  // namespace bactrian
