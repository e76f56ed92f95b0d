#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/half.h"
#include "check.h"
#include "kernels/select.h"
#include "random.h"

namespace bactrian {
namespace {

using test::Random;

template <typename Body>
void for_each_isa(const Body& body) {
  for (const std::string_view isa : supported_isas()) body(find_kernels(isa));
}

constexpr float kInf = std::numeric_limits<float>::infinity();

double relative_error(float value, double truth) {
  return std::fabs(static_cast<double>(value) - truth) / std::fabs(truth);
}

/// exp as softmax sees it: the second of two scores, the first of which is the largest, 0.
float exp_of(const Kernels& kernels, float x) {
  float s[64] = {0.0f, x};
  float max = -kInf;
  float sum = 0.0f;
  kernels.softmax_page(s, 2, 1.0f, &max, &sum);
  CHECK_EQ(s[0], 1.0f);
  return s[1];
}

TEST(exp_is_accurate_and_ends_at_zero) {
  for_each_isa([](const Kernels& kernels) {
    for (float x = 0.0f; x > -87.3f; x -= 0.0078125f * 1.37f) {
      CHECK(relative_error(exp_of(kernels, x), std::exp(static_cast<double>(x))) < 2e-7);
    }
    for (const float x : {-110.0f, -1000.0f, -3e38f, -kInf}) CHECK_EQ(exp_of(kernels, x), 0.0f);
  });
}

TEST(softmax_page_by_page_is_the_softmax) {
  for_each_isa([](const Kernels& kernels) {
    for (const int n : {1, 7, 8, 9, 63, 64, 65, 130, 200}) {
      const auto scores = Random(1).floats(n, -30.0f, 30.0f);
      const float scale = 0.37f;
      float max = -kInf;
      float sum = 0.0f;
      double weighted = 0.0;  // of the index
      for (int begin = 0; begin < n; begin += 64) {
        const int n_keys = std::min(64, n - begin);
        float page[64];
        std::fill_n(page, 64, NAN);  // what lies behind the keys must not count
        std::copy_n(scores.begin() + begin, n_keys, page);
        weighted *= static_cast<double>(kernels.softmax_page(page, n_keys, scale, &max, &sum));
        for (int i = 0; i < n_keys; ++i) weighted += static_cast<double>(page[i]) * (begin + i);
      }
      double truth_sum = 0.0;
      double truth = 0.0;
      for (int i = 0; i < n; ++i) {
        const double p = std::exp(static_cast<double>(scores[static_cast<size_t>(i)] * scale));
        truth_sum += p;
        truth += p * i;
      }
      // Rounding of the scaled scores (up to 11) dominates.
      CHECK(std::fabs(weighted / static_cast<double>(sum) - truth / truth_sum) < 1e-5 * n);
    }
  });
}

TEST(softmax_of_a_nan_is_nan) {
  for_each_isa([](const Kernels& kernels) {
    for (const int at : {0, 3, 11}) {
      float s[64] = {};
      s[at] = NAN;
      float max = -kInf;
      float sum = 0.0f;
      kernels.softmax_page(s, 12, 1.0f, &max, &sum);
      CHECK(std::isnan(sum));
    }
  });
}

TEST(rms_norm_is_accurate_in_place_or_not) {
  for_each_isa([](const Kernels& kernels) {
    for (const int64_t n : {1, 7, 8, 31, 32, 33, 100, 576}) {
      const auto x = Random(2).floats(n, -3.0f, 3.0f);
      const auto gain = Random(3).floats(n, 0.5f, 1.5f);
      std::vector<float> out(static_cast<size_t>(n));
      kernels.rms_norm(x.data(), gain.data(), 1e-5f, n, out.data());
      double squares = 0.0;
      for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
      const double factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
      for (size_t i = 0; i < out.size(); ++i) {
        const double truth = static_cast<double>(x[i]) * factor * static_cast<double>(gain[i]);
        CHECK(std::fabs(static_cast<double>(out[i]) - truth) <= 1e-6 * std::fabs(truth));
      }
      auto in_place = x;
      kernels.rms_norm(in_place.data(), gain.data(), 1e-5f, n, in_place.data());
      CHECK(in_place == out);
    }
  });
}

TEST(silu_mul_is_accurate_in_place_or_not) {
  for_each_isa([](const Kernels& kernels) {
    for (const int64_t n : {1, 5, 8, 13, 64}) {
      const auto gate = Random(4).floats(n, -20.0f, 20.0f);
      const auto up = Random(5).floats(n);
      std::vector<float> out(static_cast<size_t>(n));
      kernels.silu_mul(gate.data(), up.data(), n, out.data());
      for (size_t i = 0; i < out.size(); ++i) {
        const double g = gate[i];
        const double truth = g / (1.0 + std::exp(-g)) * static_cast<double>(up[i]);
        CHECK(std::fabs(static_cast<double>(out[i]) - truth) <= 1e-6 * std::fabs(truth));
      }
      auto in_place = gate;
      kernels.silu_mul(in_place.data(), up.data(), n, in_place.data());
      CHECK(in_place == out);
    }
    const float gate[] = {0.0f, -100.0f, 100.0f, -kInf, NAN};
    const float up[] = {2.0f, 2.0f, 2.0f, 2.0f, 2.0f};
    float out[5];
    kernels.silu_mul(gate, up, 5, out);
    CHECK_EQ(out[0], 0.0f);
    CHECK(std::fabs(out[1]) < 1e-35f);
    CHECK_EQ(out[2], 200.0f);
    CHECK(std::isnan(out[3]));  // -inf / inf, as the formula says
    CHECK(std::isnan(out[4]));
  });
}

TEST(rope_rotates_pairs) {
  for_each_isa([](const Kernels& kernels) {
    for (const int64_t n : {1, 3, 4, 5, 8, 16, 19, 32}) {
      const auto x = Random(6).floats(2 * n);
      std::vector<float> cos;
      std::vector<float> sin;
      for (const float angle : Random(7).floats(n, 0.0f, 6.0f)) {
        cos.push_back(std::cos(angle));
        sin.push_back(std::sin(angle));
      }
      auto adjacent = x;
      auto halves = x;
      kernels.rope_adjacent(adjacent.data(), cos.data(), sin.data(), n);
      kernels.rope_halves(halves.data(), cos.data(), sin.data(), n);
      for (size_t i = 0; i < cos.size(); ++i) {
        const auto check = [&](const std::vector<float>& y, size_t a, size_t b) {
          CHECK(std::fabs(y[a] - (x[a] * cos[i] - x[b] * sin[i])) < 3e-7f);
          CHECK(std::fabs(y[b] - (x[a] * sin[i] + x[b] * cos[i])) < 3e-7f);
        };
        check(adjacent, 2 * i, 2 * i + 1);
        check(halves, i, i + cos.size());
      }
    }
  });
}

TEST(conversions_are_those_of_base) {
  for_each_isa([](const Kernels& kernels) {
    std::vector<uint16_t> halves(65536 - 2048);  // all but NaNs, whose payload may differ
    for (size_t i = 0, h = 0; i < halves.size(); ++h) {
      if (!std::isnan(half_to_float(static_cast<uint16_t>(h)))) {
        halves[i++] = static_cast<uint16_t>(h);
      }
      if (h == 65535) halves.resize(i);
    }
    std::vector<float> floats(halves.size());
    kernels.half_to_float(halves.data(), floats.data(), static_cast<int64_t>(floats.size()));
    for (size_t i = 0; i < halves.size(); ++i) CHECK_EQ(floats[i], half_to_float(halves[i]));

    for (const float range : {1e-7f, 1.0f, 70000.0f}) {
      const auto x = Random(8).floats(1003, -range, range);
      std::vector<uint16_t> rounded(x.size());
      kernels.float_to_half(x.data(), rounded.data(), static_cast<int64_t>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) CHECK_EQ(rounded[i], float_to_half(x[i]));
    }
  });
}

TEST(scaled_bytes) {
  for_each_isa([](const Kernels& kernels) {
    Random random(9);
    int8_t q[96];
    uint16_t d[96];
    for (int i = 0; i < 96; ++i) {
      q[i] = static_cast<int8_t>(random.below(256) - 128);
      d[i] = float_to_half(random.uniform());
    }
    float out[96];
    kernels.scale_each(q, d, out, 91);
    for (int i = 0; i < 91; ++i) CHECK_EQ(out[i], half_to_float(d[i]) * static_cast<float>(q[i]));
    kernels.scale_blocks(q, d, out, 96);
    for (int i = 0; i < 96; ++i) {
      CHECK_EQ(out[i], half_to_float(d[i / 32]) * static_cast<float>(q[i]));
    }
  });
}

TEST(transpose_of_any_length) {
  for_each_isa([](const Kernels& kernels) {
    for (const int64_t n : {1, 7, 8, 24, 37}) {
      const auto rows = Random(10).floats(16 * 40);
      std::vector<float> panel(static_cast<size_t>(n * 20));
      kernels.transpose(rows.data(), 40, n, panel.data(), 20);
      for (int64_t i = 0; i < n * 16; ++i) {
        CHECK_EQ(panel[static_cast<size_t>(i / 16 * 20 + i % 16)],
                 rows[static_cast<size_t>(i % 16 * 40 + i / 16)]);
      }
    }
  });
}

}  // namespace
}  // namespace bactrian
