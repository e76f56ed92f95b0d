#include "sample/params.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "sample/chain.h"

namespace bactrian {
namespace {

using P = SamplerParams;

constexpr double kMax = std::numeric_limits<float>::max();
constexpr double kMaxInt = std::numeric_limits<int32_t>::max();

constexpr NumberParam kNumbers[] = {
    {"min_keep", &P::min_keep, 0, kMaxInt},
    {"temperature", &P::temperature, -kMax, kMax},
    {"dynatemp_range", &P::dynatemp_range, 0, kMax},
    {"dynatemp_exponent", &P::dynatemp_exponent, 0, kMax},
    {"top_k", &P::top_k, -kMaxInt, kMaxInt},
    {"top_p", &P::top_p, 0, 1},
    {"min_p", &P::min_p, 0, 1},
    {"typical_p", &P::typical_p, 0, 1},
    {"top_n_sigma", &P::top_n_sigma, -kMax, kMax},
    {"xtc_probability", &P::xtc_probability, 0, 1},
    {"xtc_threshold", &P::xtc_threshold, 0, 1},
    {"repeat_last_n", &P::repeat_last_n, -1, kMaxInt},
    {"repeat_penalty", &P::repeat_penalty, 1e-6, kMax},
    {"frequency_penalty", &P::frequency_penalty, -kMax, kMax},
    {"presence_penalty", &P::presence_penalty, -kMax, kMax},
    {"dry_multiplier", &P::dry_multiplier, 0, kMax},
    {"dry_base", &P::dry_base, 0, kMax},
    {"dry_allowed_length", &P::dry_allowed_length, 0, kMaxInt},
    {"dry_penalty_last_n", &P::dry_penalty_last_n, -1, kMaxInt},
    {"mirostat", &P::mirostat, 0, 2},
    {"mirostat_tau", &P::mirostat_tau, 0, kMax},
    {"mirostat_eta", &P::mirostat_eta, 0, kMax},
    {"adaptive_target", &P::adaptive_target, -kMax, 1},
    {"adaptive_decay", &P::adaptive_decay, 0, 0.99},
};

void check_token(std::string_view name, int32_t token, int32_t n_vocab) {
  if (token < 0 || token >= n_vocab) {
    fail(ErrorCode::invalid_argument, name, " names token ", token,
         ", which is outside the vocabulary of ", n_vocab);
  }
}

void check_infill(const InfillVocab& infill, int32_t n_vocab) {
  if (infill.token_bytes.size() != static_cast<size_t>(n_vocab)) {
    fail(ErrorCode::invalid_argument, "token_bytes has ", infill.token_bytes.size(),
         " entries, but the vocabulary has ", n_vocab);
  }
  if (infill.end_tokens.empty()) {
    fail(ErrorCode::invalid_argument, "end_tokens is empty, but infill needs at least one");
  }
  for (const int32_t token : infill.end_tokens) check_token("end_tokens", token, n_vocab);
}

}  // namespace

std::span<const NumberParam> number_params() noexcept { return kNumbers; }

void validate(const SamplerParams& params, int32_t n_vocab) {
  if (n_vocab < 1) fail(ErrorCode::invalid_argument, "n_vocab is ", n_vocab, ", but must be 1 up");
  for (const NumberParam& number : kNumbers) {
    const double value = std::visit(
        [&](const auto member) { return static_cast<double>(params.*member); }, number.member);
    if (!(value >= number.low && value <= number.high)) {
      fail(ErrorCode::invalid_argument, number.name, " is ", value, ", but must lie between ",
           number.low, " and ", number.high);
    }
  }
  for (const auto& [token, bias] : params.logit_bias) {
    check_token("logit_bias", token, n_vocab);
    if (!(bias <= kMax)) {
      fail(ErrorCode::invalid_argument, "logit_bias of token ", token, " is ", bias,
           ", but must be a number or -inf");
    }
  }
  for (const auto& breaker : params.dry_sequence_breakers) {
    if (breaker.empty()) {
      fail(ErrorCode::invalid_argument, "dry_sequence_breakers has an entry without tokens");
    }
    for (const int32_t token : breaker) check_token("dry_sequence_breakers", token, n_vocab);
  }
  if (params.infill) check_infill(*params.infill, n_vocab);
  resolve_chain(params);
}

}  // namespace bactrian
