#include <utility>
#include <vector>

#include "check.h"
#include "model/rope.h"

namespace bactrian {
namespace {

using Figures = std::vector<std::pair<size_t, double>>;

void check_frequencies(const Rope& rope, const Figures& expected) {
  for (const auto& [pair, theta] : expected) {
    const double error = std::abs(rope.inv_freq.at(pair) / theta - 1.0);
    // The figures come from float32 arithmetic with a handful of roundings.
    if (!(error < 1e-5)) {
      test::fail_check(__FILE__, __LINE__,
                       "pair " + std::to_string(pair) + ": " +
                           std::to_string(rope.inv_freq.at(pair)) + " is not " +
                           std::to_string(theta));
    }
  }
}

// The figures of these tests: transformers 5.24, ROPE_INIT_FUNCTIONS, head size = n_rot.

TEST(rope_without_scaling_is_a_geometric_series) {
  const Rope rope = make_rope({.n_rot = 64}, RopeLayout::halves, {});
  CHECK_EQ(rope.n_rot(), 64);
  CHECK(rope.layout == RopeLayout::halves);
  CHECK_EQ(rope.magnitude, 1.0f);
  check_frequencies(rope, {{0, 1.0}, {8, 0.1}, {16, 0.01}, {24, 0.001}});
}

TEST(rope_linear_divides_all_frequencies) {
  const Rope rope = make_rope({.n_rot = 64, .scaling = RopeScaling::linear, .factor = 4.0},
                              RopeLayout::adjacent, {});
  CHECK_EQ(rope.magnitude, 1.0f);
  check_frequencies(rope, {{0, 0.25}, {5, 0.05928434059023857}, {31, 3.333803761051968e-05}});
}

TEST(rope_yarn_with_default_betas) {
  const Rope rope =
      make_rope({.n_rot = 64, .scaling = RopeScaling::yarn, .factor = 4.0, .n_ctx_original = 2048},
                RopeLayout::adjacent, {});
  CHECK(std::abs(rope.magnitude - 1.138629436111989f) < 1e-6f);
  check_frequencies(rope, {{0, 1.0},
                           {1, 0.7498942017555237},
                           {8, 0.10000000149011612},
                           {9, 0.07066310197114944},
                           {12, 0.024325214326381683},
                           {16, 0.005384615156799555},
                           {18, 0.0023791363928467035},
                           {20, 0.0009730085730552673},
                           {24, 0.0002500000118743628},
                           {31, 3.333803761051968e-05}});
}

TEST(rope_yarn_with_other_base_and_betas) {
  const Rope rope = make_rope({.n_rot = 128,
                               .freq_base = 500000.0,
                               .scaling = RopeScaling::yarn,
                               .factor = 16.0,
                               .n_ctx_original = 4096,
                               .beta_fast = 24.0,
                               .beta_slow = 2.0},
                              RopeLayout::adjacent, {});
  CHECK(std::abs(rope.magnitude - 1.2772588722239782f) < 1e-6f);
  check_frequencies(rope, {{0, 1.0},
                           {10, 0.12868738174438477},
                           {20, 0.011783391237258911},
                           {26, 0.0013494539307430387},
                           {30, 0.00013319497520569712},
                           {40, 1.7140511772595346e-05},
                           {63, 1.5344629389346665e-07}});
}

TEST(rope_yarn_without_extrapolation_is_linear_but_for_the_magnitude) {
  const RopeParams params{.n_rot = 8,
                          .scaling = RopeScaling::yarn,
                          .factor = 2.0,
                          .attn_factor = 0.5,
                          .n_ctx_original = 512,
                          .ext_factor = 0.0};
  const Rope rope = make_rope(params, RopeLayout::adjacent, {});
  check_frequencies(rope, {{0, 0.5}, {1, 0.05}, {2, 0.005}, {3, 0.0005}});
  CHECK(std::abs(rope.magnitude - 0.5f * 1.0693147f) < 1e-6f);
}

TEST(rope_factors_divide_the_frequencies) {
  const std::vector<float> factors = {1.0f, 2.0f, 8.0f, 8.0f};
  const Rope rope = make_rope({.n_rot = 8}, RopeLayout::adjacent, factors);
  check_frequencies(rope, {{0, 1.0}, {1, 0.05}, {2, 0.00125}, {3, 0.000125}});
}

}  // namespace
}  // namespace bactrian
