#include <algorithm>
#include <numeric>

#include "backend_cpu_testing.h"
#include "check.h"

namespace bactrian {
namespace {

using test::Device;
using test::Random;
using test::Rows;

struct Sequence {
  int32_t n_before;  // keys in the cache before the step
  int32_t n_rows;    // of the step
  std::vector<int32_t> pages;
};

/// A step over the sequences in this order.
Step make_step(const std::vector<Sequence>& sequences) {
  Step step;
  for (const Sequence& s : sequences) {
    const auto row = static_cast<int32_t>(step.tokens.size());
    step.spans.push_back({row, s.n_rows, s.n_before, static_cast<int32_t>(step.page_table.size())});
    step.page_table.insert(step.page_table.end(), s.pages.begin(), s.pages.end());
    for (int32_t i = 0; i < s.n_rows; ++i) {
      step.tokens.push_back(0);
      step.positions.push_back(s.n_before + i);
    }
  }
  return step;
}

/// softmax(q kᵀ scale) v of one query head in float64, over the first n_keys rows of k and v.
std::vector<double> naive(const float* q, const Rows& k, const Rows& v, int64_t n_keys,
                          int64_t k_begin, int64_t d_k, int64_t v_begin, int64_t d_v, float scale) {
  std::vector<double> weights;
  double max = -1e300;
  for (int64_t i = 0; i < n_keys; ++i) {
    double score = 0.0;
    for (int64_t d = 0; d < d_k; ++d) {
      score += static_cast<double>(q[d]) * static_cast<double>(k.row(i)[k_begin + d]);
    }
    weights.push_back(score * static_cast<double>(scale));
    max = std::max(max, weights.back());
  }
  double sum = 0.0;
  for (double& w : weights) sum += w = std::exp(w - max);
  std::vector<double> out(static_cast<size_t>(d_v));
  for (int64_t i = 0; i < n_keys; ++i) {
    for (int64_t d = 0; d < d_v; ++d) {
      out[static_cast<size_t>(d)] +=
          weights[static_cast<size_t>(i)] / sum * static_cast<double>(v.row(i)[v_begin + d]);
    }
  }
  return out;
}

struct Case {
  AttentionShape shape;
  DType dtype;
  double tolerance;
};

// Tolerances: float32 rounding of sums of up to 150 terms of magnitude 1; half an ulp of binary16
// (2^-12 relative) in keys and values; Q8_0 steps of 1/254 of the largest in a block.
std::vector<Case> cases() {
  const auto shape = [](int h, int g, int d_k, int d_v) {
    return AttentionShape{h, g, d_k, d_v, 1.0f / std::sqrt(static_cast<float>(d_k)), true};
  };
  return {{shape(9, 3, 64, 64), DType::F32, 2e-6}, {shape(4, 4, 6, 10), DType::F32, 2e-6},
          {shape(4, 1, 80, 96), DType::F32, 2e-6}, {shape(9, 3, 64, 64), DType::F16, 2e-3},
          {shape(2, 1, 34, 18), DType::F16, 2e-3}, {shape(4, 2, 128, 128), DType::Q8_0, 3e-2},
          {shape(2, 2, 32, 64), DType::Q8_0, 3e-2}};
}

struct Problem {
  Problem(const AttentionShape& s, int64_t n)
      : q(Random(1), n, s.n_head * s.d_head_k),
        k(Random(2), n, s.n_head_kv * s.d_head_k),
        v(Random(3), n, s.n_head_kv * s.d_head_v) {}
  Rows q, k, v;
};

void check_against_naive(const Case& c, const Problem& p, const Rows& out, bool causal) {
  const AttentionShape& s = c.shape;
  for (int64_t t = 0; t < out.n_rows; ++t) {
    for (int64_t h = 0; h < s.n_head; ++h) {
      const int64_t g = h / (s.n_head / s.n_head_kv);
      const auto truth = naive(p.q.row(t) + h * s.d_head_k, p.k, p.v, causal ? t + 1 : out.n_rows,
                               g * s.d_head_k, s.d_head_k, g * s.d_head_v, s.d_head_v, s.scale);
      for (int64_t d = 0; d < s.d_head_v; ++d) {
        const double error =
            static_cast<double>(out.row(t)[h * s.d_head_v + d]) - truth[static_cast<size_t>(d)];
        CHECK(std::fabs(error) <= c.tolerance);
      }
    }
  }
}

std::unique_ptr<KvStore> make_store(Device& device, const AttentionShape& s, DType dtype,
                                    int64_t n_pages) {
  return device.backend().make_kv_store(
      {2, s.n_head_kv, s.d_head_k, s.d_head_v, n_pages, dtype, dtype});
}

/// Stores and attends rows [begin, begin + n) of the problem as one step.
Rows attend(Device& device, const Case& c, KvStore& store, const Problem& p, int32_t begin,
            int32_t n, const std::vector<int32_t>& pages) {
  const auto step = device.backend().make_step(make_step({{begin, n, pages}}));
  device.backend().store_kv(store, 1, *step, device.upload(p.k.slice(begin, n)),
                            device.upload(p.v.slice(begin, n)));
  const Matrix out = device.matrix(n, c.shape.n_head * c.shape.d_head_v);
  device.backend().attention_cached(c.shape, store, 1, *step, device.upload(p.q.slice(begin, n)),
                                    out);
  return device.download(out);
}

TEST(cached_attention_agrees_with_float64) {
  test::for_each_device([](Device& device) {
    for (const Case& c : cases()) {
      const Problem p(c.shape, 150);
      const auto store = make_store(device, c.shape, c.dtype, 5);
      check_against_naive(c, p, attend(device, c, *store, p, 0, 150, {4, 0, 2}), true);
    }
  });
}

TEST(cached_attention_is_invariant_to_chunks_and_pages) {
  test::for_each_device([](Device& device) {
    for (const Case& c : cases()) {
      const Problem p(c.shape, 150);
      const auto whole_store = make_store(device, c.shape, c.dtype, 3);
      const Rows whole = attend(device, c, *whole_store, p, 0, 150, {0, 1, 2});
      for (const int32_t chunk : {1, 5, 64, 97}) {
        const auto store = make_store(device, c.shape, c.dtype, 5);
        for (int32_t t = 0; t < 150; t += chunk) {
          const int32_t n = std::min(chunk, 150 - t);
          const Rows part = attend(device, c, *store, p, t, n, {3, 4, 1});
          CHECK(part.same_bits(whole.slice(t, n)));
        }
      }
    }
  });
}

TEST(cached_attention_is_invariant_to_neighbours) {
  test::for_each_device([](Device& device) {
    for (const Case& c : cases()) {
      const AttentionShape& s = c.shape;
      // Three sequences with keys before the step; each alone, then all in one step.
      const std::vector<Sequence> sequences = {
          {70, 3, {0, 1}}, {0, 40, {5}}, {127, 1, {2, 3}}, {9, 2, {4}}};
      const auto store = make_store(device, s, c.dtype, 6);
      const Problem before(s, 130);
      for (const Sequence& q : sequences) {
        if (q.n_before > 0) attend(device, c, *store, before, 0, q.n_before, q.pages);
      }
      const Problem p(s, 46);
      const auto run = [&](const std::vector<Sequence>& some, int64_t begin, int64_t n) {
        const auto step = device.backend().make_step(make_step(some));
        device.backend().store_kv(*store, 1, *step, device.upload(p.k.slice(begin, n)),
                                  device.upload(p.v.slice(begin, n)));
        const Matrix out = device.matrix(n, s.n_head * s.d_head_v);
        device.backend().attention_cached(s, *store, 1, *step, device.upload(p.q.slice(begin, n)),
                                          out);
        return device.download(out);
      };
      const Rows all = run(sequences, 0, 46);
      int64_t row = 0;
      for (const Sequence& q : sequences) {
        CHECK(run({q}, row, q.n_rows).same_bits(all.slice(row, q.n_rows)));
        row += q.n_rows;
      }
    }
  });
}

TEST(keys_behind_a_row_do_not_exist) {
  // NaN in the cells after a row's position, in the same page: left by an earlier owner of the
  // page, or by a later token of the same step.
  test::for_each_device([](Device& device) {
    const Case c{{2, 1, 16, 16, 0.25f, true}, DType::F32, 2e-6};
    Problem p(c.shape, 20);
    const auto clean_store = make_store(device, c.shape, c.dtype, 1);
    const Rows clean = attend(device, c, *clean_store, p, 0, 20, {0});
    std::fill_n(p.k.row(13), 16, NAN);
    std::fill_n(p.v.row(13), 16, NAN);
    const auto store = make_store(device, c.shape, c.dtype, 1);
    const Rows spoilt = attend(device, c, *store, p, 0, 20, {0});
    CHECK(spoilt.slice(0, 13).same_bits(clean.slice(0, 13)));
    for (int64_t t = 13; t < 20; ++t) CHECK(std::isnan(spoilt.row(t)[0]));
    const Rows again = attend(device, c, *store, p, 0, 7, {0});
    CHECK(again.same_bits(clean.slice(0, 7)));
  });
}

TEST(packed_attention_agrees_with_float64_both_ways) {
  test::for_each_device([](Device& device) {
    for (Case c : cases()) {
      if (c.dtype != DType::F32) continue;
      for (const bool causal : {true, false}) {
        c.shape.causal = causal;
        for (const int32_t n : {1, 15, 64, 150}) {
          const Problem p(c.shape, n);
          const auto step = device.backend().make_step(make_step({{0, n, {}}}));
          const Matrix out = device.matrix(n, c.shape.n_head * c.shape.d_head_v);
          device.backend().attention_packed(c.shape, *step, device.upload(p.q), device.upload(p.k),
                                            device.upload(p.v), out);
          check_against_naive(c, p, device.download(out), causal);
        }
      }
    }
  });
}

TEST(packed_attention_is_cached_attention_and_ignores_neighbours) {
  test::for_each_device([](Device& device) {
    for (const Case& c : cases()) {
      if (c.dtype != DType::F32) continue;
      const Problem p(c.shape, 150);
      // Inputs of 30, 100 and 20 rows.
      const auto step =
          device.backend().make_step(make_step({{0, 30, {}}, {0, 100, {}}, {0, 20, {}}}));
      const Matrix out = device.matrix(150, c.shape.n_head * c.shape.d_head_v);
      device.backend().attention_packed(c.shape, *step, device.upload(p.q), device.upload(p.k),
                                        device.upload(p.v), out);
      const Rows packed = device.download(out);

      Problem middle = p;
      middle.q = p.q.slice(30, 100);
      middle.k = p.k.slice(30, 100);
      middle.v = p.v.slice(30, 100);
      const auto store = make_store(device, c.shape, c.dtype, 2);
      const Rows cached = attend(device, c, *store, middle, 0, 100, {1, 0});
      CHECK(cached.same_bits(packed.slice(30, 100)));
    }
  });
}

}  // namespace
}  // namespace bactrian
