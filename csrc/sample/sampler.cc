#include "sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "sample/samplers.h"

namespace bactrian {
namespace {

/// All ones asks for a random seed at the interfaces, so it is never chosen.
uint32_t random_seed() {
  std::random_device device;
  uint32_t seed = device();
  while (seed == 0xFFFFFFFFu) seed = device();
  return seed;
}

std::shared_ptr<const SamplerParams> checked(SamplerParams params, int32_t n_vocab) {
  validate(params, n_vocab);
  return std::make_shared<const SamplerParams>(std::move(params));
}

}  // namespace

Sampler::Sampler(SamplerParams params, int32_t n_vocab)
    : params_(checked(std::move(params), n_vocab)),
      chain_(resolve_chain(*params_)),
      n_vocab_(n_vocab),
      seed_(params_->seed ? *params_->seed : random_seed()),
      history_(uses_penalties(*params_) ? params_->repeat_last_n : 0,
               uses_dry(*params_) ? params_->dry_penalty_last_n : 0),
      mirostat_(*params_),
      adaptive_(*params_) {}

void Sampler::accept(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) {
    if (token < 0 || token >= n_vocab_) {
      fail(ErrorCode::invalid_argument, "token id ", token, " is outside the vocabulary of ",
           n_vocab_);
    }
  }
  for (const int32_t token : tokens) history_.push(token);
}

void Sampler::check_sizes(std::span<const float> logits, std::span<const uint32_t> allowed) const {
  const auto n_vocab = static_cast<size_t>(n_vocab_);
  if (logits.size() != n_vocab) {
    fail(ErrorCode::invalid_argument, "the row has ", logits.size(),
         " logits, but the sampler is for a vocabulary of ", n_vocab_);
  }
  if (!allowed.empty() && allowed.size() != (n_vocab + 31) / 32) {
    fail(ErrorCode::invalid_argument, "allowed has ", allowed.size(), " words of 32 bits, but a ",
         "vocabulary of ", n_vocab_, " needs ", (n_vocab + 31) / 32);
  }
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const uint32_t> allowed) {
  check_sizes(logits, allowed);
  check_logits(logits);
  try {
    const int32_t token = run_chain(logits, allowed);
    candidates_.detach();
    return token;
  } catch (...) {
    candidates_.reset({});  // it must not look at the caller's logits any longer
    throw;
  }
}

int32_t Sampler::run_chain(std::span<const float> logits, std::span<const uint32_t> allowed) {
  candidates_.reset(logits);
  if (!allowed.empty()) candidates_.mask(allowed);
  apply_logit_bias(candidates_, *params_);
  const bool is_restricted = !allowed.empty() || !params_->logit_bias.empty();
  if (is_restricted && candidates_.max_logit() == -INFINITY) {
    fail(ErrorCode::non_finite,
         "no token is left to draw: logit_bias and the mask of allowed "
         "tokens forbid all that have a finite logit");
  }
  uint32_t step = 0;
  for (const ApplySampler apply : chain_.steps) {
    apply(candidates_, {*params_, history_, seed_, n_drawn_, ++step});
  }
  TokenProbability drawn;
  switch (chain_.draw) {
    case DrawKind::plain:
      drawn = draw();
      break;
    case DrawKind::mirostat_v1:
      mirostat_.filter_v1(candidates_, n_vocab_);
      drawn = draw();
      mirostat_.update(drawn.p);
      break;
    case DrawKind::mirostat_v2:
      mirostat_.filter_v2(candidates_);
      drawn = draw();
      mirostat_.update(drawn.p);
      break;
    case DrawKind::adaptive: {
      const Softmax before(candidates_);
      const std::vector<Candidate> list = candidates_.list();
      adaptive_.transform(candidates_);
      drawn = draw();
      adaptive_.update(
          before.probability(std::ranges::find(list, drawn.id, &Candidate::id)->logit));
      break;
    }
  }
  history_.push(drawn.id);
  ++n_drawn_;
  return drawn.id;
}

/// The first candidate, in order, at which the sum of probabilities exceeds a random number.
TokenProbability Sampler::draw() {
  constexpr uint32_t kStep = 0;
  const float max = candidates_.max_logit();
  double total = 0.0;
  weights_.clear();
  candidates_.for_each([&](int32_t, float logit) {
    weights_.push_back(std::exp(logit - max));
    total += weights_.back();
  });
  const double target = uniform(seed_, n_drawn_, kStep) * total;
  TokenProbability drawn;
  double sum = 0.0;
  const float* weight = weights_.data();
  candidates_.for_each([&](int32_t id, float) {
    const double w = *weight++;
    if (sum > target || w == 0.0) return;
    sum += w;
    drawn = {id, w / total};
  });
  return drawn;
}

std::vector<TokenProbability> Sampler::probabilities() const {
  const Softmax softmax(candidates_);
  std::vector<TokenProbability> all;
  candidates_.for_each([&](int32_t id, float logit) {
    if (const double p = softmax.probability(logit); p > 0.0) all.push_back({id, p});
  });
  // Candidates that no filter has put in order come by id.
  std::ranges::stable_sort(all, std::ranges::greater(), &TokenProbability::p);
  return all;
}

}  // namespace bactrian
