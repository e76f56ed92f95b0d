#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "check.h"
#include "sample/log_probabilities.h"
#include "sample/random.h"
#include "sample/sampler.h"

namespace bactrian {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SamplerParams chain(std::vector<std::string> samplers) {
  SamplerParams params;
  params.samplers = std::move(samplers);
  params.seed = 1;
  return params;
}

std::vector<int32_t> survivors(const Sampler& sampler) {
  std::vector<int32_t> ids;
  for (const TokenProbability& token : sampler.probabilities()) ids.push_back(token.id);
  return ids;
}

std::vector<int32_t> survivors(const SamplerParams& params, const std::vector<float>& logits) {
  Sampler sampler(params, static_cast<int32_t>(logits.size()));
  sampler.sample(logits);
  return survivors(sampler);
}

std::string text(const std::vector<int32_t>& ids) {
  std::string joined;
  for (const int32_t id : ids) {
    if (!joined.empty()) joined += ' ';
    joined += std::to_string(id);
  }
  return joined;
}

// The known answers that come with Random123, the library of the paper's authors.
TEST(philox_known_answers) {
  const auto check = [](std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key,
                        std::array<uint32_t, 4> expected) {
    CHECK(philox4x32(counter, key) == expected);
  };
  constexpr uint32_t kOnes = 0xffffffff;
  check({0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes},
        {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(uniform_is_in_the_unit_interval_and_differs_by_each_argument) {
  double sum = 0.0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const double u = uniform(7, i, 0);
    CHECK(u >= 0.0 && u < 1.0);
    sum += u;
  }
  CHECK(std::fabs(sum / 10000 - 0.5) < 0.02);
  CHECK(uniform(7, 3, 0) == uniform(7, 3, 0));
  CHECK(uniform(7, 3, 0) != uniform(8, 3, 0));
  CHECK(uniform(7, 3, 0) != uniform(7, 4, 0));
  CHECK(uniform(7, 3, 0) != uniform(7, 3, 1));
  CHECK(uniform(7, 3, 0) != uniform(7, 3 + (uint64_t{1} << 32), 0));
}

TEST(greedy_takes_the_lowest_of_equal_ids) {
  SamplerParams params;
  params.temperature = 0.0;
  std::vector<float> logits(100, 1.0f);
  logits[37] = logits[80] = logits[99] = 2.0f;
  Sampler sampler(params, 100);
  for (int i = 0; i < 3; ++i) CHECK_EQ(sampler.sample(logits), 37);
  CHECK_EQ(text(survivors(sampler)), "37");
}

TEST(top_k_of_any_size_agrees_with_sorting) {
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>((i * 7919) % 601) - 300.0f;  // many equal ones
  }
  logits[17] = -kInfinity;
  logits[18] = -0.0f;
  logits[19] = 0.0f;
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  for (const size_t k : {size_t{1}, size_t{2}, size_t{40}, size_t{256}, size_t{257}, size_t{1000},
                         size_t{4999}, size_t{5000}}) {
    Candidates candidates;
    candidates.reset(logits);
    candidates.keep_top(k);
    std::vector<int32_t> ids;
    candidates.for_each([&](int32_t id, float) { ids.push_back(id); });
    CHECK_EQ(text(ids), text({order.begin(), order.begin() + static_cast<int64_t>(k)}));
  }
}

TEST(unusable_logits_are_an_error_and_change_nothing) {
  Sampler sampler(chain({}), 4);
  Sampler untouched(chain({}), 4);
  const std::vector<float> good{0, 1, 2, 3};
  sampler.sample(good);
  untouched.sample(good);
  CHECK_ERROR(sampler.sample(std::vector<float>{0, NAN, 0, 0}), ErrorCode::non_finite, "token 1");
  CHECK_ERROR(sampler.sample(std::vector<float>{0, 0, 0, kInfinity}), ErrorCode::non_finite,
              "token 3");
  CHECK_ERROR(sampler.sample(std::vector<float>(4, -kInfinity)), ErrorCode::non_finite, "finite");
  const std::vector<uint32_t> none{0};
  CHECK_ERROR(sampler.sample(good, none), ErrorCode::non_finite, "allowed");
  CHECK_ERROR(sampler.sample(std::vector<float>(3)), ErrorCode::invalid_argument, "3 logits");
  const std::vector<uint32_t> long_mask{0, 0};
  CHECK_ERROR(sampler.sample(good, long_mask), ErrorCode::invalid_argument, "2 words");
  CHECK_ERROR(sampler.accept(std::vector<int32_t>{1, 4}), ErrorCode::invalid_argument, "id 4");
  CHECK(sampler.probabilities().empty());
  for (int i = 0; i < 20; ++i) CHECK_EQ(sampler.sample(good), untouched.sample(good));
}

TEST(probabilities_survive_the_callers_logits) {
  Sampler sampler(chain({}), 3);
  {
    std::vector<float> logits{1.0f, 2.0f, 3.0f};
    sampler.sample(logits);
    std::ranges::fill(logits, NAN);
  }
  const Sampler copy = sampler;
  CHECK_EQ(text(survivors(sampler)), "2 1 0");
  CHECK_EQ(text(survivors(copy)), "2 1 0");
}

TEST(the_mask_comes_before_the_chain) {
  SamplerParams params = chain({"top_k"});
  params.top_k = 1;
  Sampler sampler(params, 40);
  std::vector<float> logits(40);
  for (size_t i = 0; i < 40; ++i) logits[i] = static_cast<float>(i);
  const std::vector<uint32_t> mask{1u << 31 | 1u, 1u << 2};
  CHECK_EQ(sampler.sample(logits, mask), 34);
  const std::vector<uint32_t> stray_bits{1u, 0xffffff00u};  // beyond the vocabulary
  CHECK_EQ(sampler.sample(logits, stray_bits), 0);
}

TEST(infinitely_biased_tokens_are_never_drawn) {
  SamplerParams params = chain({});
  params.logit_bias = {{1, -kInfinity}};
  Sampler sampler(params, 2);
  for (int i = 0; i < 100; ++i) CHECK_EQ(sampler.sample(std::vector<float>{0.0f, 30.0f}), 0);
}

TEST(huge_parameters_stay_finite) {
  SamplerParams params = chain({"penalties", "dry", "temperature"});
  params.repeat_penalty = 1e-6;
  params.frequency_penalty = -3e38;
  params.dry_multiplier = 3e38;
  params.dry_base = 1e6;
  params.dry_allowed_length = 0;
  params.dry_penalty_last_n = -1;
  params.temperature = 1e-38;
  Sampler sampler(params, 3);
  sampler.accept(std::vector<int32_t>(1000, 2));
  const std::vector<float> logits{3e38f, -3e38f, 1.0f};
  for (int i = 0; i < 5; ++i) {
    sampler.sample(logits);
    for (const TokenProbability& token : sampler.probabilities()) {
      CHECK(std::isfinite(token.p) && token.p > 0.0);
    }
  }
}

TEST(dry_exponent_is_clamped) {
  // A repetition of 999 tokens: 2^999 would overflow; the clamped penalty does not.
  SamplerParams params = chain({"dry"});
  params.dry_multiplier = 1e-30;
  params.dry_base = 2.0;
  params.dry_penalty_last_n = -1;
  Sampler sampler(params, 2);
  sampler.accept(std::vector<int32_t>(1000, 1));
  CHECK_EQ(sampler.sample(std::vector<float>{0.0f, 50.0f}), 0);
  CHECK_EQ(survivors(sampler).size(), size_t{1});
}

TEST(min_keep_wins) {
  SamplerParams params = chain({"top_p"});
  params.top_p = 0.0;
  const std::vector<float> logits{0, 9, 1, 8, 2};
  CHECK_EQ(text(survivors(params, logits)), "1");
  params.min_keep = 3;
  CHECK_EQ(text(survivors(params, logits)), "1 3 4");
  params.samplers = {"min_p"};
  params.min_p = 1.0;
  CHECK_EQ(text(survivors(params, logits)), "1 3 4");
  params.samplers = {"typ_p"};
  params.typical_p = 0.0;
  CHECK_EQ(survivors(params, logits).size(), size_t{3});
  params.samplers = {"xtc"};
  params.xtc_probability = 1.0;
  params.xtc_threshold = 0.1;
  params.min_keep = 5;
  CHECK_EQ(survivors(params, logits).size(), size_t{5});
  params.min_keep = 4;
  CHECK_EQ(text(survivors(params, logits)), "3 4 2 0");
}

TEST(min_keep_beyond_the_vocabulary_keeps_all) {
  for (const char* name : {"top_p", "min_p", "typ_p", "xtc"}) {
    SamplerParams params = chain({name});
    params.top_p = params.typical_p = 0.1;
    params.min_p = params.xtc_probability = 1.0;
    params.min_keep = 1000;
    CHECK_EQ(survivors(params, {1, 2, 3}).size(), size_t{3});
  }
}

TEST(a_single_token_vocabulary_always_gives_it) {
  for (const int mirostat : {0, 1, 2}) {
    for (const double target : {-1.0, 0.5}) {
      SamplerParams params;
      params.samplers.push_back("adaptive_p");
      params.adaptive_target = target;
      params.mirostat = mirostat;
      params.typical_p = params.xtc_probability = 0.5;
      params.top_n_sigma = params.dynatemp_range = 1.0;
      params.dry_multiplier = 1.0;
      params.repeat_penalty = 2.0;
      Sampler sampler(params, 1);
      for (int i = 0; i < 5; ++i) CHECK_EQ(sampler.sample(std::vector<float>{-3.0f}), 0);
    }
  }
}

TEST(equal_logits_are_fine_for_every_sampler) {
  for (const int mirostat : {0, 1, 2}) {
    SamplerParams params;
    params.mirostat = mirostat;
    params.typical_p = 0.5;
    params.top_n_sigma = params.dynatemp_range = 1.0;
    Sampler sampler(params, 50);
    for (int i = 0; i < 50; ++i) {
      const int32_t token = sampler.sample(std::vector<float>(50, 5.0f));
      CHECK(token >= 0 && token < 50);
    }
  }
}

TEST(wrong_parameters_are_named) {
  const auto check = [](const char* name, const auto& change) {
    SamplerParams params;
    change(params);
    CHECK_ERROR(Sampler(params, 10), ErrorCode::invalid_argument, name);
  };
  check("temperature", [](SamplerParams& p) { p.temperature = NAN; });
  check("temperature", [](SamplerParams& p) { p.temperature = INFINITY; });
  check("top_p", [](SamplerParams& p) { p.top_p = 1.01; });
  check("min_p", [](SamplerParams& p) { p.min_p = -0.01; });
  check("repeat_penalty", [](SamplerParams& p) { p.repeat_penalty = 0.0; });
  check("repeat_last_n", [](SamplerParams& p) { p.repeat_last_n = -2; });
  check("mirostat", [](SamplerParams& p) { p.mirostat = 3; });
  check("adaptive_decay", [](SamplerParams& p) { p.adaptive_decay = 1.0; });
  check("logit_bias", [](SamplerParams& p) { p.logit_bias = {{10, 1.0}}; });
  check("logit_bias", [](SamplerParams& p) { p.logit_bias = {{1, NAN}}; });
  check("logit_bias", [](SamplerParams& p) { p.logit_bias = {{1, INFINITY}}; });
  check("dry_sequence_breakers", [](SamplerParams& p) { p.dry_sequence_breakers = {{}}; });
  check("dry_sequence_breakers", [](SamplerParams& p) { p.dry_sequence_breakers = {{1, -1}}; });
  check("top_k", [](SamplerParams& p) { p.samplers = {"nonsense"}; });  // lists the known ones
  check("token_bytes", [](SamplerParams& p) { p.samplers = {"infill"}; });
  CHECK_ERROR(Sampler(SamplerParams(), 0), ErrorCode::invalid_argument, "n_vocab");
}

TEST(a_random_seed_is_chosen_and_differs) {
  SamplerParams params;
  const Sampler a(params, 2);
  const Sampler b(params, 2);
  CHECK(a.seed() != b.seed() || Sampler(params, 2).seed() != a.seed());
  params.seed = a.seed();
  CHECK_EQ(Sampler(params, 2).seed(), a.seed());
}

TEST(the_history_of_penalties_is_a_window) {
  SamplerParams params = chain({"penalties"});
  params.repeat_last_n = 2;
  params.presence_penalty = 100.0;
  Sampler sampler(params, 4);
  for (int i = 0; i < 500; ++i) sampler.accept(std::vector<int32_t>{i % 4});  // ends with 2, 3
  const std::vector<float> logits{0, 1, 0, 0};
  sampler.sample(logits);
  const std::vector<TokenProbability> all = sampler.probabilities();
  CHECK_EQ(text(survivors(sampler)), "1 0 2 3");
  CHECK(std::fabs(all[1].p - 1.0 / (1.0 + std::exp(1.0))) < 1e-6);
  CHECK(all[2].p < 1e-40);
}

TEST(log_probabilities_of_a_row) {
  const std::vector<float> logits{0.0f, std::log(2.0f), -kInfinity, std::log(5.0f)};
  std::vector<int32_t> ids(4);
  std::vector<float> values(4);
  CHECK(std::fabs(log_probabilities(logits, 1, ids, values) - std::log(0.25f)) < 1e-6f);
  CHECK_EQ(text(ids), "3 1 0 2");
  CHECK(std::fabs(values[0] - std::log(0.625f)) < 1e-6f);
  CHECK_EQ(values[3], -kInfinity);
  CHECK_ERROR(log_probabilities(std::vector<float>{NAN}, 0, {}, {}), ErrorCode::non_finite, "nan");
}

}  // namespace
}  // namespace bactrian
