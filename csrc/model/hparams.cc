#include "model/hparams.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace bactrian {
namespace {

// Generous bounds: nothing real comes near them, and products of two stay far inside int64.
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxLayers = 1 << 12;
constexpr int64_t kMaxHeads = 1 << 14;
constexpr int64_t kMaxVocab = 1 << 24;
constexpr int64_t kMaxContext = 1 << 28;

/// The keys of one architecture, by their names without the prefix.
class Keys {
 public:
  Keys(const GgufFile& file, std::string architecture)
      : file_(file), prefix_(std::move(architecture) + ".") {}

  std::string name(std::string_view key) const { return prefix_ + std::string(key); }
  bool has(std::string_view key) const { return file_.find(name(key)) != nullptr; }

  int integer(std::string_view key, int64_t min, int64_t max) const {
    return static_cast<int>(file_.require_integer(name(key), min, max));
  }
  int integer(std::string_view key, int64_t min, int64_t max, int64_t fallback) const {
    return static_cast<int>(file_.integer(name(key), min, max, fallback));
  }
  bool boolean(std::string_view key, bool fallback) const {
    return file_.boolean(name(key), fallback);
  }
  std::string string(std::string_view key, std::string_view fallback) const {
    return file_.string(name(key), fallback);
  }

  double number(std::string_view key, double min, double max, double fallback) const {
    const double value = file_.number(name(key), fallback);
    if (!(value >= min && value <= max)) {
      fail(ErrorCode::bad_file, file_.path(), ": key ", name(key), " is ", value,
           ", but must lie between ", min, " and ", max);
    }
    return value;
  }

  /// A key that may also be an array with one entry a layer; the entries must agree.
  int uniform_integer(std::string_view key, int64_t min, int64_t max, int n_layer) const {
    const MetadataValue* value = file_.find(name(key));
    const auto* array = value != nullptr ? std::get_if<MetadataArray>(value) : nullptr;
    if (array == nullptr) return integer(key, min, max);
    const auto* numbers = std::get_if<std::vector<int64_t>>(array);
    if (numbers == nullptr || numbers->size() != static_cast<size_t>(n_layer)) {
      fail(ErrorCode::bad_file, file_.path(), ": key ", name(key),
           " must be an integer or an array of ", n_layer, " integers, one for each layer");
    }
    if (std::adjacent_find(numbers->begin(), numbers->end(), std::not_equal_to<>()) !=
        numbers->end()) {
      fail(ErrorCode::unsupported, file_.path(), ": key ", name(key),
           " differs between layers, which this engine can't run; it needs the same value for all ",
           n_layer, " layers");
    }
    const int64_t common = numbers->front();
    if (common < min || common > max) {
      fail(ErrorCode::bad_file, file_.path(), ": key ", name(key), " is ", common,
           ", but must lie between ", min, " and ", max);
    }
    return static_cast<int>(common);
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

std::optional<RopeScaling> find_rope_scaling(std::string_view name) noexcept {
  if (name == "none") return RopeScaling::none;
  if (name == "linear") return RopeScaling::linear;
  if (name == "yarn") return RopeScaling::yarn;
  return std::nullopt;
}

int read_vocab_size(const GgufFile& file, const Keys& keys) {
  if (keys.has("vocab_size")) return keys.integer("vocab_size", 1, kMaxVocab);
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
  const MetadataValue* value = file.find(kTokens);
  const auto* array = value != nullptr ? std::get_if<MetadataArray>(value) : nullptr;
  const auto* tokens =
      array != nullptr ? std::get_if<std::vector<std::string_view>>(array) : nullptr;
  if (tokens == nullptr || tokens->empty() || tokens->size() > size_t{kMaxVocab}) {
    fail(ErrorCode::bad_file, file.path(), ": neither key ", keys.name("vocab_size"),
         " nor a list of 1 to ", kMaxVocab, " strings under ", kTokens,
         " tells the size of the vocabulary");
  }
  return static_cast<int>(tokens->size());
}

float read_norm_eps(const GgufFile& file, const Keys& keys) {
  const std::string rms = keys.name("attention.layer_norm_rms_epsilon");
  const std::string layer = keys.name("attention.layer_norm_epsilon");
  const std::string& key = file.find(rms) != nullptr ? rms : layer;
  if (file.find(key) == nullptr) {
    fail(ErrorCode::bad_file, file.path(), ": key ", rms, " is missing (or ", layer,
         " for models with LayerNorm)");
  }
  const double eps = file.require_number(key);
  if (!(eps >= 0.0 && eps < 1.0)) {
    fail(ErrorCode::bad_file, file.path(), ": key ", key, " is ", eps,
         ", but must be at least 0 and below 1");
  }
  return static_cast<float>(eps);
}

std::optional<Pooling> read_pooling(const GgufFile& file, const Keys& keys) {
  switch (keys.integer("pooling_type", -1, 4, -1)) {
    case 0:
      return Pooling::none;
    case 1:
      return Pooling::mean;
    case 2:
      return Pooling::cls;
    case 3:
      return Pooling::last;
    case 4:
      fail(ErrorCode::unsupported, file.path(), ": key ", keys.name("pooling_type"),
           " is 4 (rank): rerankers are not supported; this engine pools with none, mean, cls "
           "or last");
    default:
      return std::nullopt;
  }
}

RopeParams read_rope(const GgufFile& file, const Keys& keys, const Hparams& hparams) {
  constexpr double kTiny = 1e-6;
  constexpr double kHuge = 1e12;
  RopeParams rope;
  rope.n_rot = keys.integer("rope.dimension_count", 2, hparams.d_head_k, hparams.d_head_k);
  if (rope.n_rot % 2 != 0) {
    fail(ErrorCode::bad_file, file.path(), ": key ", keys.name("rope.dimension_count"), " is ",
         rope.n_rot, ", but elements rotate in pairs, so it must be even");
  }
  rope.freq_base = keys.number("rope.freq_base", 1.0 + kTiny, kHuge, rope.freq_base);
  // Files from before rope.scaling.* hold a lone factor under rope.scale_linear. 0 means unscaled.
  const std::string_view factor_key =
      keys.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  const double factor = keys.number(factor_key, 0.0, kHuge, 1.0);
  rope.factor = factor == 0.0 ? 1.0 : factor;
  // A factor without a type is linear scaling; without a factor, linear changes nothing.
  const std::string type = keys.string("rope.scaling.type", "linear");
  const auto scaling = find_rope_scaling(type);
  if (!scaling) {
    fail(ErrorCode::unsupported, file.path(), ": key ", keys.name("rope.scaling.type"), " is \"",
         type, "\"; supported are none, linear and yarn (and llama3, as tensor rope_freqs)");
  }
  rope.scaling = *scaling;
  rope.attn_factor = keys.number("rope.scaling.attn_factor", kTiny, kHuge, rope.attn_factor);
  rope.n_ctx_original =
      keys.integer("rope.scaling.original_context_length", 1, kMaxContext, hparams.n_ctx_train);
  rope.ext_factor = keys.number("rope.scaling.yarn_ext_factor", 0.0, 1.0, rope.ext_factor);
  rope.beta_fast = keys.number("rope.scaling.yarn_beta_fast", kTiny, kHuge, rope.beta_fast);
  rope.beta_slow = keys.number("rope.scaling.yarn_beta_slow", kTiny, kHuge, rope.beta_slow);
  return rope;
}

void check_override(std::string_view name, double value, double min) {
  if (!(value >= min && value <= 1e12)) {
    fail(ErrorCode::invalid_argument, name, " is ", value, ", but must be a finite number from ",
         min, " upwards");
  }
}

void apply_overrides(const RopeOverrides& overrides, Hparams& hparams) {
  RopeParams& rope = hparams.rope;
  if (overrides.scaling) {
    const auto scaling = find_rope_scaling(*overrides.scaling);
    if (!scaling) {
      fail(ErrorCode::invalid_argument, "rope_scaling is \"", *overrides.scaling,
           "\", but must be none, linear or yarn");
    }
    rope.scaling = *scaling;
  }
  if (overrides.freq_base) {
    check_override("rope_freq_base", *overrides.freq_base, 1.0 + 1e-6);
    rope.freq_base = *overrides.freq_base;
  }
  if (overrides.factor) {
    check_override("rope_scale", *overrides.factor, 1e-6);
    rope.factor = *overrides.factor;
    // A scale alone means what it does in a file: linear scaling.
    if (!overrides.scaling && rope.scaling == RopeScaling::none) rope.scaling = RopeScaling::linear;
    if (rope.scaling != RopeScaling::none) {
      const double stretched = static_cast<double>(rope.n_ctx_original) * rope.factor;
      hparams.n_ctx_max =
          std::max(hparams.n_ctx_train,
                   static_cast<int>(std::min(stretched, static_cast<double>(kMaxContext))));
    }
  }
}

}  // namespace

Pooling parse_pooling(std::string_view name) {
  for (const Pooling pooling : {Pooling::none, Pooling::mean, Pooling::cls, Pooling::last}) {
    if (pooling_name(pooling) == name) return pooling;
  }
  fail(ErrorCode::invalid_argument, "pooling is \"", name,
       "\", but must be none, mean, cls or last");
}

std::string_view pooling_name(Pooling pooling) noexcept {
  switch (pooling) {
    case Pooling::none:
      return "none";
    case Pooling::mean:
      return "mean";
    case Pooling::cls:
      return "cls";
    case Pooling::last:
      return "last";
  }
  return "none";
}

Hparams read_hparams(const GgufFile& file, const RopeOverrides& overrides) {
  Hparams h;
  h.architecture = file.require_string("general.architecture");
  const Keys keys(file, h.architecture);

  h.n_ctx_train = keys.integer("context_length", 1, kMaxContext);
  h.n_ctx_max = h.n_ctx_train;
  h.n_embd = keys.integer("embedding_length", 1, kMaxWidth);
  h.n_layer = keys.integer("block_count", 1, kMaxLayers);
  h.n_ff = keys.uniform_integer("feed_forward_length", 1, kMaxWidth, h.n_layer);
  h.n_head = keys.uniform_integer("attention.head_count", 1, kMaxHeads, h.n_layer);
  h.n_head_kv = keys.has("attention.head_count_kv")
                    ? keys.uniform_integer("attention.head_count_kv", 1, kMaxHeads, h.n_layer)
                    : h.n_head;
  if (h.n_head % h.n_head_kv != 0) {
    fail(ErrorCode::bad_file, file.path(), ": key ", keys.name("attention.head_count"), " (",
         h.n_head, ") must be a multiple of ", keys.name("attention.head_count_kv"), " (",
         h.n_head_kv, ")");
  }
  const bool explicit_heads =
      keys.has("attention.key_length") && keys.has("attention.value_length");
  if (!explicit_heads && h.n_embd % h.n_head != 0) {
    fail(ErrorCode::bad_file, file.path(), ": key ", keys.name("embedding_length"), " (", h.n_embd,
         ") must be a multiple of ", keys.name("attention.head_count"), " (", h.n_head, "), or ",
         keys.name("attention.key_length"), " and ", keys.name("attention.value_length"),
         " must be given");
  }
  const int d_head = h.n_embd / h.n_head;
  h.d_head_k = keys.integer("attention.key_length", 1, kMaxHeads, d_head);
  h.d_head_v = keys.integer("attention.value_length", 1, kMaxHeads, d_head);
  h.n_vocab = read_vocab_size(file, keys);
  h.norm_eps = read_norm_eps(file, keys);
  h.causal = keys.boolean("attention.causal", true);
  h.pooling = read_pooling(file, keys);
  if (const int n_expert = keys.integer("expert_count", 0, kMaxWidth, 0); n_expert > 0) {
    fail(ErrorCode::unsupported, file.path(), ": key ", keys.name("expert_count"), " is ", n_expert,
         ": mixtures of experts are not supported, only models without experts");
  }
  h.rope = read_rope(file, keys, h);
  apply_overrides(overrides, h);
  return h;
}

}  // namespace bactrian
