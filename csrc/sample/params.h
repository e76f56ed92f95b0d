#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace bactrian {

/// What the infill sampler must know of the vocabulary.
struct InfillVocab {
  std::vector<std::string> token_bytes;  // [n_vocab]
  std::vector<int32_t> end_tokens;       // the first one stands for all if only they are left
};

/// How to draw tokens. The rules of each sampler stand in its file.
struct SamplerParams {
  /// Names in order of application; a name twice is applied twice.
  std::vector<std::string> samplers = {"penalties", "dry",   "top_n_sigma", "top_k",      "typ_p",
                                       "top_p",     "min_p", "xtc",         "temperature"};
  std::optional<uint32_t> seed;                    // none: chosen at random
  std::unordered_map<int32_t, double> logit_bias;  // added before everything else; may be -inf
  int32_t min_keep = 0;  // typ_p, top_p, min_p and xtc leave at least this many

  double temperature = 0.8;  // 0 or less: the likeliest token
  double dynatemp_range = 0.0;
  double dynatemp_exponent = 1.0;

  int32_t top_k = 40;
  double top_p = 0.95;
  double min_p = 0.05;
  double typical_p = 1.0;
  double top_n_sigma = -1.0;
  double xtc_probability = 0.0;
  double xtc_threshold = 0.1;

  int32_t repeat_last_n = 64;  // -1: all tokens
  double repeat_penalty = 1.0;
  double frequency_penalty = 0.0;
  double presence_penalty = 0.0;

  double dry_multiplier = 0.0;
  double dry_base = 1.75;
  int32_t dry_allowed_length = 2;
  int32_t dry_penalty_last_n = 64;  // -1: all tokens
  std::vector<std::vector<int32_t>> dry_sequence_breakers;

  int32_t mirostat = 0;  // 1, 2: replaces `samplers`
  double mirostat_tau = 5.0;
  double mirostat_eta = 0.1;

  double adaptive_target = -1.0;
  double adaptive_decay = 0.9;

  std::shared_ptr<const InfillVocab> infill;  // needed by the infill sampler only
};

/// A number among the parameters: its name, where it lies and its range, ends included.
struct NumberParam {
  std::string_view name;
  std::variant<double SamplerParams::*, int32_t SamplerParams::*> member;
  double low;
  double high;
};

/// All of them; min_keep to adaptive_decay.
std::span<const NumberParam> number_params() noexcept;

/// Throws Error(invalid_argument) naming the first parameter that is out of range, not a number or
/// does not suit a vocabulary of n_vocab tokens.
void validate(const SamplerParams& params, int32_t n_vocab);

}  // namespace bactrian
