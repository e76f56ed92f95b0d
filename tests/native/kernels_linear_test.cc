#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "check.h"
#include "kernels/linear.h"
#include "kernels/select.h"
#include "quant/format.h"
#include "random.h"

namespace bactrian {
namespace {

using test::Random;

constexpr DType kDTypes[] = {DType::F32,  DType::F16,    DType::BF16,   DType::Q4_0,
                             DType::Q4_1, DType::Q5_0,   DType::Q5_1,   DType::Q8_0,
                             DType::Q2_K, DType::Q3_K,   DType::Q4_K,   DType::Q5_K,
                             DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4};

struct AlignedFloats {
  explicit AlignedFloats(size_t n) : storage(n + 16) {}
  float* data() {
    void* at = storage.data();
    size_t space = storage.size() * sizeof(float);
    return static_cast<float*>(std::align(64, 1, at, space));
  }
  std::vector<float> storage;
};

/// A random weight as in a file, its values, and its packed form if the type has one.
struct TestWeight {
  TestWeight(DType dtype, int64_t n_rows, int64_t n_cols, uint32_t seed, bool packed = true)
      : values(Random(seed).floats(n_rows * n_cols)),
        blocks(static_cast<size_t>(n_rows * dtype_info(dtype).row_bytes(n_cols))),
        memory(0) {
    format(dtype).quantize(values.data(), blocks.data(), n_rows * n_cols);
    format(dtype).dequantize(blocks.data(), values.data(), n_rows * n_cols);
    view = {.dtype = dtype, .n_rows = n_rows, .n_cols = n_cols, .data = blocks.data()};
    const PackedLayout* layout = packed ? packed_layout(dtype) : nullptr;
    if (layout == nullptr) return;
    const size_t group_bytes = layout->group_bytes(n_cols);
    memory = AlignedFloats(static_cast<size_t>(view.n_groups()) * group_bytes / sizeof(float));
    auto* const at = reinterpret_cast<std::byte*>(memory.data());
    for (int64_t g = 0; g < view.n_groups(); ++g) {
      pack_group(*layout, blocks.data(), n_rows, n_cols, g,
                 at + static_cast<size_t>(g) * group_bytes);
    }
    view.layout = layout;
    view.data = at;
  }
  std::vector<float> values;
  std::vector<std::byte> blocks;
  AlignedFloats memory;
  LinearWeight view;
};

std::vector<float> run(const Kernels& kernels, LinearArgs args, std::vector<float> out,
                       int64_t piece = std::numeric_limits<int64_t>::max()) {
  AlignedFloats scratch(linear_scratch_floats());
  args.out = out.data();
  const int64_t n = args.weight.n_groups();
  for (int64_t g = 0; g < n; g += std::min(piece, n)) {
    linear_groups(kernels, args, g, std::min(n, g + std::min(piece, n)), scratch.data());
  }
  return out;
}

bool same_bits(const float* a, const float* b, int64_t n) {
  return std::memcmp(a, b, static_cast<size_t>(n) * sizeof(float)) == 0;
}

template <typename Body>
void for_each_isa(const Body& body) {
  for (const std::string_view isa : supported_isas()) body(find_kernels(isa));
}

TEST(every_packed_kind_expands_to_the_dequantised_values) {
  for_each_isa([](const Kernels& kernels) {
    for (const DType dtype : kDTypes) {
      if (packed_layout(dtype) == nullptr) continue;
      const int64_t block = dtype_info(dtype).block_elems;
      for (const int64_t n_cols : {block, 3 * block, block == 1 ? 37 : 5 * block}) {
        const TestWeight w(dtype, 21, n_cols, 1);
        const int64_t unit = std::max<int64_t>(block, 32);
        for (int64_t k = 0; k < n_cols; k += 32) {
          const int64_t n = std::min(n_cols - k, k % unit == 0 ? 64 : int64_t{32});
          for (int64_t g = 0; g < 2; ++g) {
            AlignedFloats panel(static_cast<size_t>(n * kGroupRows));
            kernels.packed[static_cast<size_t>(w.view.layout->kind)]->expand(
                w.view.data + static_cast<size_t>(g) * w.view.layout->group_bytes(n_cols), k, n,
                panel.data());
            for (int64_t i = 0; i < n * kGroupRows; ++i) {
              const int64_t row = g * kGroupRows + i % kGroupRows;
              const auto at = static_cast<size_t>(row * n_cols + k + i / kGroupRows);
              CHECK_EQ(panel.data()[i], row < 21 ? w.values[at] : 0.0f);
            }
          }
        }
      }
    }
  });
}

/// Every product rounds once and every sum once, each by at most 2^-24 of the sum of magnitudes.
void check_close(const TestWeight& w, const std::vector<float>& x, int64_t n_tokens,
                 const std::vector<float>& out) {
  const int64_t n = w.view.n_rows;
  const int64_t k = w.view.n_cols;
  for (int64_t t = 0; t < n_tokens; ++t) {
    for (int64_t r = 0; r < n; ++r) {
      double sum = 0;
      double magnitude = 0;
      for (int64_t i = 0; i < k; ++i) {
        const double p = static_cast<double>(x[static_cast<size_t>(t * k + i)]) *
                         static_cast<double>(w.values[static_cast<size_t>(r * k + i)]);
        sum += p;
        magnitude += std::fabs(p);
      }
      const double error =
          std::fabs(static_cast<double>(out[static_cast<size_t>(t * n + r)]) - sum);
      CHECK(error <= static_cast<double>(k + 1) * 0x1p-24 * magnitude);
    }
  }
}

TEST(linear_agrees_with_float64) {
  for_each_isa([](const Kernels& kernels) {
    for (const DType dtype : kDTypes) {
      const int64_t block = dtype_info(dtype).block_elems;
      for (const int64_t n_rows : {1, 2, 15, 16, 17, 33, 80}) {
        for (const int64_t n_cols : {block, block == 256 ? 512 : 352 / block * block + block}) {
          const TestWeight w(dtype, n_rows, n_cols, 2);
          for (const int64_t n_tokens : {1, 2, 3, 4, 5, 7}) {
            const auto x = Random(3).floats(n_tokens * n_cols);
            const LinearArgs args{.weight = w.view,
                                  .x = x.data(),
                                  .ldx = n_cols,
                                  .n_tokens = n_tokens,
                                  .ldo = n_rows};
            std::vector<float> out(static_cast<size_t>(n_tokens * n_rows), NAN);
            check_close(w, x, n_tokens, run(kernels, args, out));
          }
        }
      }
    }
  });
}

TEST(linear_is_invariant_to_tokens_and_pieces) {
  for_each_isa([](const Kernels& kernels) {
    for (const DType dtype : kDTypes) {
      const int64_t block = dtype_info(dtype).block_elems;
      const int64_t n_rows = 83;
      const int64_t n_cols = block == 1 ? 663 : block == 32 ? 672 : 768;
      const int64_t ldx = n_cols + 3;
      const TestWeight w(dtype, n_rows, n_cols, 4);
      const int64_t max_tokens = 200;  // more than one block of tokens
      const auto x = Random(5).floats(max_tokens * ldx);
      const auto bias = Random(6).floats(n_rows);
      const auto before = Random(7).floats(max_tokens * n_rows);
      for (const bool accumulate : {false, true}) {
        LinearArgs args{.weight = w.view,
                        .x = x.data(),
                        .ldx = ldx,
                        .n_tokens = max_tokens,
                        .bias = bias.data(),
                        .ldo = n_rows,
                        .accumulate = accumulate};
        const auto all = run(kernels, args, before);
        for (const int64_t n_tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 64, 65}) {
          args.n_tokens = n_tokens;
          for (const int64_t piece : {1, 3, 4, 6}) {
            const auto some = run(kernels, args, before, piece);
            CHECK(same_bits(some.data(), all.data(), n_tokens * n_rows));
          }
        }
        // The same rows later in a batch.
        args.x = x.data() + 60 * ldx;
        args.n_tokens = 2;
        const auto tail =
            run(kernels, args, std::vector(before.begin() + 60 * n_rows, before.end()));
        CHECK(same_bits(tail.data(), all.data() + 60 * n_rows, 2 * n_rows));
      }
    }
  });
}

TEST(packing_never_changes_a_bit) {
  for_each_isa([](const Kernels& kernels) {
    for (const DType dtype : kDTypes) {
      if (packed_layout(dtype) == nullptr) continue;
      const TestWeight packed(dtype, 50, 512, 8);
      const TestWeight plain(dtype, 50, 512, 8, false);
      for (const int64_t n_tokens : {1, 3, 9}) {
        const auto x = Random(9).floats(n_tokens * 512);
        LinearArgs args{
            .weight = packed.view, .x = x.data(), .ldx = 512, .n_tokens = n_tokens, .ldo = 50};
        const std::vector<float> out(static_cast<size_t>(n_tokens * 50));
        const auto a = run(kernels, args, out);
        args.weight = plain.view;
        const auto b = run(kernels, args, out);
        CHECK(same_bits(a.data(), b.data(), n_tokens * 50));
      }
    }
  });
}

TEST(a_nan_stays_in_its_row) {
  for_each_isa([](const Kernels& kernels) {
    for (const DType dtype : {DType::F32, DType::Q4_1, DType::Q6_K}) {
      for (const int64_t n_tokens : {2, 4, 13}) {
        const TestWeight w(dtype, 20, 256, 10);
        auto x = Random(11).floats(n_tokens * 256);
        const LinearArgs args{
            .weight = w.view, .x = x.data(), .ldx = 256, .n_tokens = n_tokens, .ldo = 20};
        const std::vector<float> zeros(static_cast<size_t>(n_tokens * 20));
        const auto clean = run(kernels, args, zeros);
        x[256 + 77] = NAN;
        const auto spoilt = run(kernels, args, zeros);
        for (int64_t i = 0; i < n_tokens * 20; ++i) {
          const bool second = i / 20 == 1;
          const auto at = static_cast<size_t>(i);
          CHECK(second ? std::isnan(spoilt[at]) : spoilt[at] == clean[at]);
        }
      }
    }
  });
}

}  // namespace
}  // namespace bactrian
