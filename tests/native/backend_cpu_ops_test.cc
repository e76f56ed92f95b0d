#include <numbers>

#include "backend_cpu_testing.h"
#include "base/error.h"
#include "check.h"
#include "quant/format.h"

namespace bactrian {
namespace {

using test::Device;
using test::Random;
using test::Rows;

/// A matrix in a file's format.
struct Blocks {
  Blocks(DType dtype, int64_t n_rows, int64_t n_cols, uint32_t seed)
      : bytes(static_cast<size_t>(n_rows * dtype_info(dtype).row_bytes(n_cols))),
        values(Random(seed), n_rows, n_cols),
        tensor{"weight", dtype, n_rows, n_cols, bytes} {
    format(dtype).quantize(values.values.data(), bytes.data(), n_rows * n_cols);
    format(dtype).dequantize(bytes.data(), values.values.data(), n_rows * n_cols);
  }
  std::vector<std::byte> bytes;
  Rows values;
  HostTensor tensor;
};

Step tokens_step(const std::vector<int32_t>& tokens) {
  Step step;
  step.tokens = tokens;
  for (size_t i = 0; i < tokens.size(); ++i) step.positions.push_back(static_cast<int32_t>(i));
  step.spans = {{0, static_cast<int32_t>(tokens.size()), 0, 0}};
  return step;
}

TEST(linear_of_several_targets_is_each_alone_on_any_number_of_threads) {
  for (const std::string_view isa : supported_isas()) {
    for (const int64_t n_tokens : {1, 3, 70}) {
      const Rows x(Random(1), n_tokens, 256);
      const Blocks wide(DType::Q4_1, 200, 256, 2);
      const Blocks narrow(DType::Q6_K, 33, 256, 3);
      const auto bias = Random(4).floats(33);
      const Rows residual(Random(5), n_tokens, 33);
      std::vector<Rows> wides;
      std::vector<Rows> narrows;
      for (const int n_threads : {1, 2, 5}) {
        for (const bool together : {true, false}) {
          Device device(find_kernels(isa), n_threads);
          Backend& backend = device.backend();
          const auto w = backend.load(wide.tensor, WeightRole::linear);
          const auto n = backend.load(narrow.tensor, WeightRole::linear);
          const auto b = device.vector(bias);
          const Matrix in = device.upload(x);
          const Matrix w_out = device.matrix(n_tokens, 200);
          const Matrix n_out = device.upload(residual);
          const LinearTarget targets[] = {{w.get(), nullptr, w_out, false},
                                          {n.get(), b.get(), n_out, true}};
          if (together) {
            backend.linear(in, targets);
          } else {
            backend.linear(in, std::span(targets).first(1));
            backend.linear(in, std::span(targets).last(1));
          }
          wides.push_back(device.download(w_out));
          narrows.push_back(device.download(n_out));
          CHECK(wides.back().same_bits(wides.front()));
          CHECK(narrows.back().same_bits(narrows.front()));
        }
      }
      for (int64_t r = 0; r < 33; ++r) {
        double sum = 0.0;
        for (int64_t i = 0; i < 256; ++i) {
          sum += static_cast<double>(x.row(0)[i]) * static_cast<double>(narrow.values.row(r)[i]);
        }
        const float truth =
            static_cast<float>(sum) + bias[static_cast<size_t>(r)] + residual.row(0)[r];
        CHECK(std::fabs(narrows.front().row(0)[r] - truth) < 1e-4f);
      }
    }
  }
}

TEST(tied_weight_serves_both_ways) {
  test::for_each_device([](Device& device) {
    for (const DType dtype : {DType::F32, DType::Q8_0, DType::Q5_0}) {
      const Blocks table(dtype, 50, 64, 6);
      const auto weight = device.backend().load(table.tensor, WeightRole::linear_and_table);
      CHECK_EQ(weight->n_rows(), 50);
      CHECK_EQ(weight->n_cols(), 64);
      CHECK(weight->dtype() == dtype);
      const auto step = device.backend().make_step(tokens_step({49, 0, 7}));
      const Matrix rows = device.matrix(3, 64);
      device.backend().embed(*weight, *step, rows);
      const Rows embedded = device.download(rows);
      for (int64_t i = 0; i < 64; ++i) {
        CHECK_EQ(embedded.row(0)[i], table.values.row(49)[i]);
        CHECK_EQ(embedded.row(2)[i], table.values.row(7)[i]);
      }
      const Matrix logits = device.matrix(3, 50);
      const LinearTarget target[] = {{weight.get(), nullptr, logits, false}};
      device.backend().linear(rows, target);
      double square = 0.0;
      for (int64_t i = 0; i < 64; ++i) {
        square += std::pow(static_cast<double>(table.values.row(49)[i]), 2);
      }
      CHECK(std::fabs(static_cast<double>(device.download(logits).row(0)[49]) - square) < 1e-4);
    }
  });
}

TEST(packed_weights_take_memory_and_tables_none) {
  Device device(select_kernels(), 1);
  const Blocks w(DType::Q4_1, 32, 64, 7);
  CHECK_EQ(device.backend().load(w.tensor, WeightRole::linear)->size_bytes(), w.bytes.size());
  CHECK_EQ(device.backend().load(w.tensor, WeightRole::table)->size_bytes(), size_t{0});
  // Sub-scales are stored as whole bytes, so that K formats grow a little.
  const Blocks q3(DType::Q3_K, 32, 256, 7);
  const size_t packed = device.backend().load(q3.tensor, WeightRole::linear)->size_bytes();
  CHECK(packed >= q3.bytes.size() && packed < q3.bytes.size() * 5 / 4);
}

TEST(rms_norm_of_a_row_ignores_the_others) {
  test::for_each_device([](Device& device) {
    const Rows x(Random(8), 40, 100);
    const auto gain = device.vector(Random(9).floats(100));
    const Matrix in = device.upload(x);
    const Matrix out = device.matrix(40, 100);
    device.backend().rms_norm(in, *gain, 1e-6f, out);
    const Rows all = device.download(out);
    for (const int64_t r : {0, 17, 39}) {
      const Matrix one = device.upload(x.slice(r, 1));
      device.backend().rms_norm(one, *gain, 1e-6f, one);
      CHECK(device.download(one).same_bits(all.slice(r, 1)));
    }
  });
}

TEST(gated_activation_may_write_over_its_inputs) {
  test::for_each_device([](Device& device) {
    const Rows gate(Random(10), 30, 77);
    const Rows up(Random(11), 30, 77);
    const Matrix out = device.matrix(30, 77);
    device.backend().gated_activation(Activation::silu, device.upload(gate), device.upload(up),
                                      out);
    const Matrix over_gate = device.upload(gate);
    device.backend().gated_activation(Activation::silu, over_gate, device.upload(up), over_gate);
    const Matrix over_up = device.upload(up);
    device.backend().gated_activation(Activation::silu, device.upload(gate), over_up, over_up);
    const Rows truth = device.download(out);
    CHECK(device.download(over_gate).same_bits(truth));
    CHECK(device.download(over_up).same_bits(truth));
    const float g = gate.row(3)[5];
    CHECK(std::fabs(truth.row(3)[5] - g / (1.0f + std::exp(-g)) * up.row(3)[5]) < 1e-6f);
  });
}

TEST(rope_turns_heads_by_position) {
  test::for_each_device([](Device& device) {
    for (const RopeLayout layout : {RopeLayout::adjacent, RopeLayout::halves}) {
      const Rope rope{layout, {1.0, 0.25, 1e-3}, 1.5f};  // 6 of 10 elements rotate
      Step step = tokens_step({0, 0, 0});
      step.positions = {0, 7, 100000};
      const auto on_device = device.backend().make_step(step);
      const Matrix table = device.matrix(3, rope.n_rot());
      device.backend().rope_table(rope, *on_device, table);
      const Rows before(Random(12), 3, 20);
      const Matrix x = device.upload(before);
      device.backend().rope(x, 2, layout, table);
      const Rows after = device.download(x);
      for (int64_t t = 0; t < 3; ++t) {
        for (int64_t h = 0; h < 2; ++h) {
          const float* a = before.row(t) + h * 10;
          const float* b = after.row(t) + h * 10;
          for (int64_t i = 0; i < 3; ++i) {
            const double angle =
                step.positions[static_cast<size_t>(t)] * rope.inv_freq[static_cast<size_t>(i)];
            const int64_t first = layout == RopeLayout::adjacent ? 2 * i : i;
            const int64_t second = layout == RopeLayout::adjacent ? 2 * i + 1 : i + 3;
            const double x0 = a[first] * 1.5;
            const double x1 = a[second] * 1.5;
            CHECK(std::fabs(b[first] - (x0 * std::cos(angle) - x1 * std::sin(angle))) < 1e-6);
            CHECK(std::fabs(b[second] - (x0 * std::sin(angle) + x1 * std::cos(angle))) < 1e-6);
          }
          for (int64_t i = 6; i < 10; ++i) CHECK_EQ(b[i], a[i]);
        }
      }
    }
  });
}

TEST(rows_are_selected_and_averaged) {
  test::for_each_device([](Device& device) {
    const Rows x(Random(13), 6, 9);
    const Matrix in = device.upload(x);
    const Matrix some = device.matrix(3, 9);
    device.backend().select_rows(in, std::vector<int32_t>{5, 0, 5}, some);
    const Rows selected = device.download(some);
    CHECK(selected.slice(0, 1).same_bits(x.slice(5, 1)));
    CHECK(selected.slice(1, 1).same_bits(x.slice(0, 1)));
    CHECK(selected.slice(2, 1).same_bits(x.slice(5, 1)));

    Step step = tokens_step({0, 0, 0, 0, 0, 0});
    step.spans = {{0, 1, 0, 0}, {1, 5, 0, 0}};
    const Matrix means = device.matrix(2, 9);
    device.backend().mean_rows(in, *device.backend().make_step(step), means);
    const Rows mean = device.download(means);
    CHECK(mean.slice(0, 1).same_bits(x.slice(0, 1)));
    for (int64_t i = 0; i < 9; ++i) {
      float sum = 0.0f;
      for (int64_t r = 1; r < 6; ++r) sum += x.row(r)[i];
      CHECK_EQ(mean.row(1)[i], sum / 5.0f);
    }
  });
}

// --- KV cells, seen through attention: a query that attends to one key returns its value.

constexpr AttentionShape kOneHead{1, 1, 32, 32, 1.0f, true};

KvShape kv_shape(DType dtype) { return {2, 1, 32, 32, 3, dtype, dtype}; }

Step cells_step(int32_t position, int32_t n, const std::vector<int32_t>& pages) {
  Step step;
  step.tokens.resize(static_cast<size_t>(n));
  for (int32_t i = 0; i < n; ++i) step.positions.push_back(position + i);
  step.spans = {{0, n, position, 0}};
  step.page_table = pages;
  return step;
}

/// Attention of the last of n cells on these pages, in both layers.
Rows read_cells(Device& device, const KvStore& store, int32_t n, const std::vector<int32_t>& pages,
                const Rows& query) {
  const auto step = device.backend().make_step(cells_step(n - 1, 1, pages));
  Rows both(2, 32);
  for (int layer = 0; layer < 2; ++layer) {
    const Matrix out = device.matrix(1, 32);
    device.backend().attention_cached(kOneHead, store, layer, *step, device.upload(query), out);
    std::copy_n(device.download(out).row(0), 32, both.row(layer));
  }
  return both;
}

void write_cells(Device& device, KvStore& store, int32_t position,
                 const std::vector<int32_t>& pages, const Rows& k, const Rows& v) {
  const auto n = static_cast<int32_t>(k.n_rows);
  const auto step = device.backend().make_step(cells_step(position, n, pages));
  for (int layer = 0; layer < 2; ++layer) {
    device.backend().store_kv(store, layer, *step, device.upload(k), device.upload(v));
  }
}

TEST(copied_pages_are_the_same_and_their_own) {
  test::for_each_device([](Device& device) {
    for (const DType dtype : {DType::F32, DType::F16, DType::Q8_0}) {
      const auto store = device.backend().make_kv_store(kv_shape(dtype));
      const Rows k(Random(14), 40, 32);
      const Rows v(Random(15), 40, 32);
      const Rows query(Random(16), 1, 32);
      write_cells(device, *store, 0, {0}, k, v);
      device.backend().copy_page(*store, 0, 2);
      const Rows original = read_cells(device, *store, 40, {0}, query);
      CHECK(read_cells(device, *store, 40, {2}, query).same_bits(original));
      write_cells(device, *store, 3, {2}, k.slice(20, 5), v.slice(20, 5));
      CHECK(read_cells(device, *store, 40, {0}, query).same_bits(original));
      CHECK(!read_cells(device, *store, 40, {2}, query).same_bits(original));
    }
  });
}

TEST(moved_cells_are_as_if_written_at_their_new_position) {
  test::for_each_device([](Device& device) {
    for (const RopeLayout layout : {RopeLayout::adjacent, RopeLayout::halves}) {
      for (const auto& [dtype, tolerance] :
           {std::pair{DType::F32, 1e-5}, {DType::F16, 4e-3}, {DType::Q8_0, 4e-2}}) {
        const Rope rope{layout, {1.0, 0.3, 0.1, 0.01}, 2.0f};  // 8 of 32 elements rotate
        Backend& backend = device.backend();
        const auto rotated = [&](const Rows& k, int32_t position) {
          const auto step =
              backend.make_step(cells_step(position, static_cast<int32_t>(k.n_rows), {0, 1}));
          const Matrix table = device.matrix(k.n_rows, rope.n_rot());
          backend.rope_table(rope, *step, table);
          const Matrix x = device.upload(k);
          backend.rope(x, 1, layout, table);
          return device.download(x);
        };
        // 80 cells over two pages; cells 70..79 move to 30..39.
        const Rows k(Random(17), 80, 32);
        const Rows v(Random(18), 80, 32);
        const Rows query(Random(19), 1, 32);
        const auto moved = backend.make_kv_store(kv_shape(dtype));
        write_cells(device, *moved, 0, {2, 1}, rotated(k, 0), v);
        std::vector<int32_t> src;
        std::vector<int32_t> dst;
        for (int32_t i = 0; i < 10; ++i) {
          src.push_back(1 * kPageTokens + (70 - kPageTokens) + i);
          dst.push_back(2 * kPageTokens + 30 + i);
        }
        backend.move_cells(*moved, src, dst, -40, rope);

        const auto direct = backend.make_kv_store(kv_shape(dtype));
        write_cells(device, *direct, 0, {2, 1}, rotated(k.slice(0, 30), 0), v.slice(0, 30));
        write_cells(device, *direct, 30, {2, 1}, rotated(k.slice(70, 10), 30), v.slice(70, 10));
        const Rows a = read_cells(device, *moved, 40, {2, 1}, query);
        const Rows b = read_cells(device, *direct, 40, {2, 1}, query);
        for (size_t i = 0; i < a.values.size(); ++i) {
          CHECK(std::fabs(static_cast<double>(a.values[i] - b.values[i])) < tolerance);
        }
      }
    }
  });
}

TEST(values_move_bit_for_bit_and_chains_of_moves_in_order) {
  test::for_each_device([](Device& device) {
    for (const DType dtype : {DType::F32, DType::F16, DType::Q8_0}) {
      const auto store = device.backend().make_kv_store(kv_shape(dtype));
      const Rows k(Random(20), 10, 32);
      const Rows v(Random(21), 10, 32);
      const Rows query(Random(22), 1, 32);
      write_cells(device, *store, 0, {0}, k, v);
      // One cell in a page: attention returns its value exactly.
      device.backend().move_cells(*store, std::vector<int32_t>{4}, std::vector<int32_t>{128}, 0,
                                  {RopeLayout::halves, {1.0}, 1.0f});
      const Rows original = read_cells(device, *store, 1, {2}, query);
      // Shift by one: every cell but the first is first read, then overwritten.
      std::vector<int32_t> src(9);
      std::vector<int32_t> dst(9);
      for (int32_t i = 0; i < 9; ++i) {
        src[static_cast<size_t>(i)] = i + 1;
        dst[static_cast<size_t>(i)] = i;
      }
      for (int i = 0; i < 4; ++i) {
        device.backend().move_cells(*store, src, dst, 0, {RopeLayout::halves, {1.0}, 1.0f});
      }
      CHECK(read_cells(device, *store, 1, {0}, query).same_bits(original));
    }
  });
}

TEST(kv_types_that_do_not_fit_are_refused) {
  Device device(select_kernels(), 1);
  KvShape shape = kv_shape(DType::Q8_0);
  shape.d_head_v = 40;
  CHECK_ERROR(device.backend().make_kv_store(shape), ErrorCode::unsupported, "40");
  shape = kv_shape(DType::Q4_0);
  CHECK_ERROR(device.backend().make_kv_store(shape), ErrorCode::unsupported, "Q4_0");
  shape = kv_shape(DType::F32);
  shape.n_pages = int64_t{1} << 50;
  CHECK_ERROR(device.backend().make_kv_store(shape), ErrorCode::out_of_memory, "KV cache");
}

}  // namespace
}  // namespace bactrian
