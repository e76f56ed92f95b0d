#include "model/layers.h"

#include <cmath>

#include "base/error.h"

namespace bactrian {

Linear Linear::load(WeightLoader& loader, const std::string& name, int64_t n_in, int64_t n_out) {
  return {loader.matrix(name + ".weight", n_out, n_in),
          loader.optional_vector(name + ".bias", n_out)};
}

Norm Norm::load(WeightLoader& loader, const std::string& name, int64_t n_embd, float eps) {
  return {loader.vector(name + ".weight", n_embd), eps};
}

void Norm::run(Backend& backend, Matrix x, Matrix out) const {
  backend.rms_norm(x, *gain, eps, out);
}

std::vector<float> load_rope_factors(WeightLoader& loader, int64_t n_pairs) {
  std::vector<float> factors = loader.optional_host_vector("rope_freqs.weight", n_pairs);
  for (const float factor : factors) {
    if (!(std::isfinite(factor) && factor > 0.0f)) {
      fail(ErrorCode::bad_file, loader.path(), ": tensor rope_freqs.weight holds ", factor,
           ", but frequency factors must be finite and positive");
    }
  }
  return factors;
}

AttentionBlock::AttentionBlock(WeightLoader& loader, const std::string& prefix,
                               const AttentionOptions& options)
    : options_(options),
      norm_(Norm::load(loader, prefix + ".attn_norm", options.n_embd, options.norm_eps)) {
  const AttentionShape& shape = options.shape;
  const int64_t n_embd = options.n_embd;
  const int64_t n_q = int64_t{shape.n_head} * shape.d_head_k;
  const int64_t n_k = int64_t{shape.n_head_kv} * shape.d_head_k;
  const int64_t n_v = int64_t{shape.n_head_kv} * shape.d_head_v;
  q_ = Linear::load(loader, prefix + ".attn_q", n_embd, n_q);
  k_ = Linear::load(loader, prefix + ".attn_k", n_embd, n_k);
  v_ = Linear::load(loader, prefix + ".attn_v", n_embd, n_v);
  output_ =
      Linear::load(loader, prefix + ".attn_output", int64_t{shape.n_head} * shape.d_head_v, n_embd);
}

Matrix AttentionBlock::run(const Pass& pass, int layer, Matrix rope_table, Matrix x,
                           bool wanted_only) const {
  Backend& backend = pass.backend;
  Arena& arena = pass.arena;
  const AttentionShape& shape = options_.shape;
  const auto n_wanted = static_cast<int64_t>(pass.wanted_rows.size());
  const bool select = wanted_only && n_wanted < pass.n_rows;
  const Matrix result = select ? arena.matrix(n_wanted, x.n_cols) : x;
  const Arena::Scope scope(arena);

  const Matrix normed = arena.matrix(pass.n_rows, x.n_cols);
  const Matrix q = arena.matrix(pass.n_rows, q_.n_out());
  const Matrix k = arena.matrix(pass.n_rows, k_.n_out());
  const Matrix v = arena.matrix(pass.n_rows, v_.n_out());
  norm_.run(backend, x, normed);
  const LinearTarget qkv[] = {q_.to(q), k_.to(k), v_.to(v)};
  backend.linear(normed, qkv);
  backend.rope(q, shape.n_head, options_.rope_layout, rope_table);
  backend.rope(k, shape.n_head_kv, options_.rope_layout, rope_table);
  if (pass.kv != nullptr) backend.store_kv(*pass.kv, layer, pass.step, k, v);
  if (result.n_rows == 0) return result;

  Matrix attended = arena.matrix(pass.n_rows, int64_t{shape.n_head} * shape.d_head_v);
  if (pass.kv != nullptr) {
    backend.attention_cached(shape, *pass.kv, layer, pass.step, q, attended);
  } else {
    backend.attention_packed(shape, pass.step, q, k, v, attended);
  }
  if (select) {
    const Matrix all = attended;
    attended = arena.matrix(n_wanted, all.n_cols);
    backend.select_rows(all, pass.wanted_rows, attended);
    backend.select_rows(x, pass.wanted_rows, result);
  }
  const LinearTarget output[] = {output_.add_to(result)};
  backend.linear(attended, output);
  return result;
}

FeedForwardBlock::FeedForwardBlock(WeightLoader& loader, const std::string& prefix,
                                   const FeedForwardOptions& options)
    : options_(options),
      norm_(Norm::load(loader, prefix + ".ffn_norm", options.n_embd, options.norm_eps)),
      gate_(Linear::load(loader, prefix + ".ffn_gate", options.n_embd, options.n_ff)),
      up_(Linear::load(loader, prefix + ".ffn_up", options.n_embd, options.n_ff)),
      down_(Linear::load(loader, prefix + ".ffn_down", options.n_ff, options.n_embd)) {}

void FeedForwardBlock::run(const Pass& pass, Matrix x) const {
  Backend& backend = pass.backend;
  const Arena::Scope scope(pass.arena);
  const Matrix normed = pass.arena.matrix(x.n_rows, x.n_cols);
  const Matrix gate = pass.arena.matrix(x.n_rows, options_.n_ff);
  const Matrix up = pass.arena.matrix(x.n_rows, options_.n_ff);
  norm_.run(backend, x, normed);
  const LinearTarget gate_up[] = {gate_.to(gate), up_.to(up)};
  backend.linear(normed, gate_up);
  backend.gated_activation(options_.activation, gate, up, gate);
  const LinearTarget down[] = {down_.add_to(x)};
  backend.linear(gate, down);
}

}  // namespace bactrian
