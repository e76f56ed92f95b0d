#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/attention_op.h"
#include "backend/cpu/handles.h"
#include "backend/cpu/kv_store.h"
#include "backend/cpu/workers.h"
#include "kernels/select.h"
#include "quant/format.h"

namespace bactrian {
namespace {

// Multiply-adds that take about as long as the thing named.
constexpr int64_t kActivationCost = 16;  // of one element
constexpr int64_t kTrigCost = 256;       // of a sine and a cosine in float64

const Step& host(const DeviceStep& step) { return static_cast<const CpuStep&>(step).host(); }
CpuKvStore& host(KvStore& store) { return static_cast<CpuKvStore&>(store); }
const CpuKvStore& host(const KvStore& store) { return static_cast<const CpuKvStore&>(store); }
const CpuWeight& host(const Weight& weight) { return static_cast<const CpuWeight&>(weight); }

/// Runs every op to its end before it returns.
class CpuBackend final : public Backend {
 public:
  CpuBackend(std::shared_ptr<ThreadPool> pool, const Kernels& kernels)
      : workers_(std::move(pool)), kernels_(kernels) {}

  std::string name() const override { return std::string("cpu (") + kernels_.isa + ")"; }

  std::shared_ptr<DeviceBuffer> allocate(size_t bytes) override {
    return std::make_shared<CpuBuffer>(bytes);
  }
  std::unique_ptr<Weight> load(const HostTensor& tensor, WeightRole role) override {
    return std::make_unique<CpuWeight>(tensor, role, workers_.pool());
  }
  std::unique_ptr<KvStore> make_kv_store(const KvShape& shape) override {
    return std::make_unique<CpuKvStore>(shape);
  }
  std::unique_ptr<DeviceStep> make_step(const Step& step) override {
    return std::make_unique<CpuStep>(step);
  }

  void download(Matrix src, float* dst) override {
    const HostMatrix m(src);
    for (int64_t r = 0; r < m.n_rows; ++r) std::copy_n(m.row(r), m.n_cols, dst + r * m.n_cols);
  }
  void synchronize() override {}

  void embed(const Weight& table, const DeviceStep& step, Matrix out) override;
  void rms_norm(Matrix x, const Weight& gain, float eps, Matrix out) override;
  void linear(Matrix x, std::span<const LinearTarget> targets) override;
  void gated_activation(Activation act, Matrix gate, Matrix up, Matrix out) override;
  void rope_table(const Rope& rope, const DeviceStep& step, Matrix table) override;
  void rope(Matrix x, int n_head, RopeLayout layout, Matrix table) override;
  void store_kv(KvStore& store, int layer, const DeviceStep& step, Matrix k, Matrix v) override;

  void attention_cached(const AttentionShape& shape, const KvStore& store, int layer,
                        const DeviceStep& step, Matrix q, Matrix out) override {
    bactrian::attention_cached(workers_, kernels_, shape, host(store), layer, host(step),
                               HostMatrix(q), HostMatrix(out));
  }
  void attention_packed(const AttentionShape& shape, const DeviceStep& step, Matrix q, Matrix k,
                        Matrix v, Matrix out) override {
    bactrian::attention_packed(workers_, kernels_, shape, host(step), HostMatrix(q), HostMatrix(k),
                               HostMatrix(v), HostMatrix(out));
  }

  void select_rows(Matrix x, std::span<const int32_t> rows, Matrix out) override;
  void mean_rows(Matrix x, const DeviceStep& step, Matrix out) override;

  void copy_page(KvStore& store, int32_t src, int32_t dst) override {
    host(store).copy_page(src, dst);
  }
  void move_cells(KvStore& store, std::span<const int32_t> src, std::span<const int32_t> dst,
                  int delta, const Rope& rope) override;

 private:
  /// Rotates the first n_rot elements of one head.
  void rotate(RopeLayout layout, float* x, const float* cos, const float* sin,
              int64_t n_pairs) const noexcept {
    (layout == RopeLayout::adjacent ? kernels_.rope_adjacent : kernels_.rope_halves)(x, cos, sin,
                                                                                     n_pairs);
  }

  Workers workers_;
  const Kernels& kernels_;
};

void CpuBackend::embed(const Weight& table, const DeviceStep& step, Matrix out) {
  const CpuWeight& weight = host(table);
  const std::vector<int32_t>& tokens = host(step).tokens;
  const HostMatrix y(out);
  workers_.run_rows(y.n_rows, 4 * y.n_cols, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const std::byte* row = weight.row(tokens[static_cast<size_t>(t)]).data();
      format(weight.dtype()).dequantize(row, y.row(t), y.n_cols);
    }
  });
}

void CpuBackend::rms_norm(Matrix x, const Weight& gain, float eps, Matrix out) {
  const float* const g = host(gain).vector();
  const HostMatrix in(x);
  const HostMatrix y(out);
  workers_.run_rows(in.n_rows, 4 * in.n_cols, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      kernels_.rms_norm(in.row(r), g, eps, in.n_cols, y.row(r));
    }
  });
}

void CpuBackend::linear(Matrix x, std::span<const LinearTarget> targets) {
  const HostMatrix in(x);
  if (in.n_rows == 0) return;
  // A piece is a run of groups of one target: whole multiples of what a kernel takes at once while
  // that leaves enough pieces to share out.
  constexpr int64_t kPiecesPerWorker = 8;
  constexpr int64_t kMaxPiece = 16;
  constexpr int64_t kKernelGroups = 4;
  struct Piece {
    const LinearArgs* args;
    int64_t begin, end;
  };
  std::vector<LinearArgs> args;
  int64_t n_groups = 0;
  int64_t cost = 0;
  args.reserve(targets.size());
  for (const LinearTarget& target : targets) {
    const HostMatrix out(target.out);
    const LinearWeight weight = host(*target.weight).linear();
    args.push_back({.weight = weight,
                    .x = in.data,
                    .ldx = in.stride,
                    .n_tokens = in.n_rows,
                    .bias = target.bias != nullptr ? host(*target.bias).vector() : nullptr,
                    .out = out.data,
                    .ldo = out.stride,
                    .accumulate = target.accumulate});
    n_groups += weight.n_groups();
    cost += weight.n_rows * weight.n_cols * in.n_rows;
  }
  int64_t size = std::clamp<int64_t>(n_groups / (kPiecesPerWorker * workers_.size()), 1, kMaxPiece);
  if (size > kKernelGroups || in.n_rows < kKernelGroups) {
    size = (size + kKernelGroups - 1) / kKernelGroups * kKernelGroups;
  }
  std::vector<Piece> pieces;
  for (const LinearArgs& a : args) {
    const int64_t n = a.weight.n_groups();
    for (int64_t g = 0; g < n; g += size) pieces.push_back({&a, g, std::min(g + size, n)});
  }
  workers_.reserve_scratch(linear_scratch_floats());
  workers_.run(static_cast<int64_t>(pieces.size()), cost, [&](int64_t task, int worker) {
    const Piece& piece = pieces[static_cast<size_t>(task)];
    linear_groups(kernels_, *piece.args, piece.begin, piece.end, workers_.scratch(worker));
  });
}

void CpuBackend::gated_activation(Activation act, Matrix gate, Matrix up, Matrix out) {
  const HostMatrix g(gate);
  const HostMatrix u(up);
  const HostMatrix y(out);
  workers_.run_rows(y.n_rows, kActivationCost * y.n_cols, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      switch (act) {
        case Activation::silu:
          kernels_.silu_mul(g.row(r), u.row(r), y.n_cols, y.row(r));
          break;
      }
    }
  });
}

void CpuBackend::rope_table(const Rope& rope, const DeviceStep& step, Matrix table) {
  const std::vector<int32_t>& positions = host(step).positions;
  const size_t n_pairs = rope.inv_freq.size();
  const HostMatrix y(table);
  const auto row_cost = static_cast<int64_t>(n_pairs) * kTrigCost;
  workers_.run_rows(y.n_rows, row_cost, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* const row = y.row(t);
      for (size_t i = 0; i < n_pairs; ++i) {
        const double angle = positions[static_cast<size_t>(t)] * rope.inv_freq[i];
        row[i] = static_cast<float>(std::cos(angle)) * rope.magnitude;
        row[n_pairs + i] = static_cast<float>(std::sin(angle)) * rope.magnitude;
      }
    }
  });
}

void CpuBackend::rope(Matrix x, int n_head, RopeLayout layout, Matrix table) {
  const HostMatrix y(x);
  const HostMatrix angles(table);
  const int64_t n_pairs = angles.n_cols / 2;
  const int64_t d_head = y.n_cols / n_head;
  workers_.run_rows(y.n_rows, 2 * y.n_cols, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float* const cos = angles.row(t);
      for (int64_t h = 0; h < n_head; ++h) {
        rotate(layout, y.row(t) + h * d_head, cos, cos + n_pairs, n_pairs);
      }
    }
  });
}

void CpuBackend::store_kv(KvStore& store, int layer, const DeviceStep& step, Matrix k, Matrix v) {
  CpuKvStore& kv = host(store);
  const Step& s = host(step);
  const KvShape& shape = kv.shape();
  const HostMatrix keys(k);
  const HostMatrix values(v);
  const int64_t span_cost = 4 * (keys.n_cols + values.n_cols);
  const auto write = [&](const SequenceSpan& span, int64_t row) {
    const int64_t position = span.position_begin + row - span.row_begin;
    const auto entry = static_cast<size_t>(span.page_begin + position / kPageTokens);
    const int64_t cell = int64_t{s.page_table[entry]} * kPageTokens + position % kPageTokens;
    for (int head = 0; head < shape.n_head_kv; ++head) {
      kv.write_key(kernels_, layer, cell, head, keys.row(row) + head * shape.d_head_k);
      kv.write_value(kernels_, layer, cell, head, values.row(row) + head * shape.d_head_v);
    }
  };
  workers_.run_rows(keys.n_rows, span_cost, [&](int64_t begin, int64_t end) {
    for (const SequenceSpan& span : s.spans) {
      const int64_t first = std::max<int64_t>(begin, span.row_begin);
      const int64_t last = std::min<int64_t>(end, span.row_begin + span.n_rows);
      for (int64_t row = first; row < last; ++row) write(span, row);
    }
  });
}

void CpuBackend::select_rows(Matrix x, std::span<const int32_t> rows, Matrix out) {
  const HostMatrix in(x);
  const HostMatrix y(out);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(in.row(rows[i]), in.n_cols, y.row(static_cast<int64_t>(i)));
  }
}

void CpuBackend::mean_rows(Matrix x, const DeviceStep& step, Matrix out) {
  const HostMatrix in(x);
  const HostMatrix y(out);
  const std::vector<SequenceSpan>& spans = host(step).spans;
  for (size_t i = 0; i < spans.size(); ++i) {
    float* const mean = y.row(static_cast<int64_t>(i));
    std::fill_n(mean, in.n_cols, 0.0f);
    for (int64_t r = 0; r < spans[i].n_rows; ++r) {
      const float* const row = in.row(spans[i].row_begin + r);
      for (int64_t j = 0; j < in.n_cols; ++j) mean[j] += row[j];
    }
    for (int64_t j = 0; j < in.n_cols; ++j) mean[j] /= static_cast<float>(spans[i].n_rows);
  }
}

void CpuBackend::move_cells(KvStore& store, std::span<const int32_t> src,
                            std::span<const int32_t> dst, int delta, const Rope& rope) {
  CpuKvStore& kv = host(store);
  const KvShape& shape = kv.shape();
  const size_t n_pairs = rope.inv_freq.size();
  std::vector<float> cos(n_pairs);
  std::vector<float> sin(n_pairs);
  for (size_t i = 0; i < n_pairs; ++i) {
    // Without the rope's magnitude, which the stored keys already have.
    cos[i] = static_cast<float>(std::cos(delta * rope.inv_freq[i]));
    sin[i] = static_cast<float>(std::sin(delta * rope.inv_freq[i]));
  }
  workers_.reserve_scratch(static_cast<size_t>(shape.d_head_k));
  const int64_t cost =
      int64_t{shape.n_layer} * static_cast<int64_t>(src.size()) * shape.n_head_kv * shape.d_head_k;
  // Layers are independent; within one the order of the moves counts.
  workers_.run(shape.n_layer, 8 * cost, [&](int64_t task, int worker) {
    const auto layer = static_cast<int>(task);
    float* const key = workers_.scratch(worker);
    for (size_t i = 0; i < src.size(); ++i) {
      for (int head = 0; head < shape.n_head_kv; ++head) {
        kv.read_key(layer, src[i], head, key);
        rotate(rope.layout, key, cos.data(), sin.data(), static_cast<int64_t>(n_pairs));
        kv.write_key(kernels_, layer, dst[i], head, key);
        kv.copy_value(layer, src[i], dst[i], head);
      }
    }
  });
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(std::shared_ptr<ThreadPool> pool) {
  return make_cpu_backend(std::move(pool), select_kernels());
}

std::unique_ptr<Backend> make_cpu_backend(std::shared_ptr<ThreadPool> pool,
                                          const Kernels& kernels) {
  return std::make_unique<CpuBackend>(std::move(pool), kernels);
}

}  // namespace bactrian
