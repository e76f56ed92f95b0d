#include "poisoned_backend.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>

namespace bactrian::test {
namespace {

constexpr int32_t kScribble = -0x5a5a5a5b;

/// A handle: garbage where another backend's fields would be, then the way to the inner one.
template <typename Base>
struct Handle : Base {
  explicit Handle(std::shared_ptr<Base> inner_handle) : inner(std::move(inner_handle)) {
    garbage.fill(0xa5);
  }
  std::array<unsigned char, 256> garbage;
  std::shared_ptr<Base> inner;
};

struct Buffer final : Handle<DeviceBuffer> {
  using Handle::Handle;
  size_t size_bytes() const noexcept override { return inner->size_bytes(); }
};

struct PoisonedWeight final : Handle<Weight> {
  using Handle::Handle;
  int64_t n_rows() const noexcept override { return inner->n_rows(); }
  int64_t n_cols() const noexcept override { return inner->n_cols(); }
  DType dtype() const noexcept override { return inner->dtype(); }
  size_t size_bytes() const noexcept override { return inner->size_bytes(); }
};

template <typename Base>
std::shared_ptr<Base> unwrap(const Base& handle) {
  return dynamic_cast<const Handle<Base>&>(handle).inner;
}

/// A matrix whose buffer stays alive while an op on it waits in the queue.
struct Pinned {
  explicit Pinned(Matrix m) : owner(unwrap(*m.buffer)), matrix(m) { matrix.buffer = owner.get(); }
  std::shared_ptr<DeviceBuffer> owner;
  Matrix matrix;
};

struct PinnedTarget {
  explicit PinnedTarget(const LinearTarget& target)
      : weight(unwrap(*target.weight)),
        bias(target.bias != nullptr ? unwrap(*target.bias) : nullptr),
        out(target.out),
        accumulate(target.accumulate) {}
  std::shared_ptr<Weight> weight, bias;
  Pinned out;
  bool accumulate;
};

class PoisonedBackend final : public Backend {
 public:
  explicit PoisonedBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  ~PoisonedBackend() override { flush(); }

  std::string name() const override { return "poisoned " + inner_->name(); }

  std::shared_ptr<DeviceBuffer> allocate(size_t bytes) override {
    return std::make_shared<Buffer>(inner_->allocate(bytes));
  }

  std::unique_ptr<Weight> load(const HostTensor& tensor, WeightRole role) override {
    return std::make_unique<PoisonedWeight>(inner_->load(tensor, role));
  }

  std::unique_ptr<KvStore> make_kv_store(const KvShape& shape) override {
    return std::make_unique<Handle<KvStore>>(inner_->make_kv_store(shape));
  }

  std::unique_ptr<DeviceStep> make_step(const Step& step) override {
    Step copy = step;
    auto handle = std::make_unique<Handle<DeviceStep>>(inner_->make_step(copy));
    for (auto* numbers : {&copy.tokens, &copy.positions, &copy.page_table}) {
      std::fill(numbers->begin(), numbers->end(), kScribble);
    }
    std::fill(copy.spans.begin(), copy.spans.end(),
              SequenceSpan{kScribble, kScribble, kScribble, kScribble});
    return handle;
  }

  void download(Matrix src, float* dst) override {
    flush();
    inner_->download(Pinned(src).matrix, dst);
  }

  void synchronize() override {
    flush();
    inner_->synchronize();
  }

  void embed(const Weight& table, const DeviceStep& step, Matrix out) override {
    later([this, table = unwrap(table), step = unwrap(step), out = Pinned(out)] {
      inner_->embed(*table, *step, out.matrix);
    });
  }

  void rms_norm(Matrix x, const Weight& gain, float eps, Matrix out) override {
    later([this, x = Pinned(x), gain = unwrap(gain), eps, out = Pinned(out)] {
      inner_->rms_norm(x.matrix, *gain, eps, out.matrix);
    });
  }

  void linear(Matrix x, std::span<const LinearTarget> targets) override {
    std::vector<PinnedTarget> pinned(targets.begin(), targets.end());
    later([this, x = Pinned(x), pinned = std::move(pinned)] {
      std::vector<LinearTarget> unwrapped;
      for (const PinnedTarget& t : pinned) {
        unwrapped.push_back({t.weight.get(), t.bias.get(), t.out.matrix, t.accumulate});
      }
      inner_->linear(x.matrix, unwrapped);
    });
  }

  void gated_activation(Activation act, Matrix gate, Matrix up, Matrix out) override {
    later([this, act, gate = Pinned(gate), up = Pinned(up), out = Pinned(out)] {
      inner_->gated_activation(act, gate.matrix, up.matrix, out.matrix);
    });
  }

  void rope_table(const Rope& rope, const DeviceStep& step, Matrix table) override {
    later([this, rope, step = unwrap(step), table = Pinned(table)] {
      inner_->rope_table(rope, *step, table.matrix);
    });
  }

  void rope(Matrix x, int n_head, RopeLayout layout, Matrix table) override {
    later([this, x = Pinned(x), n_head, layout, table = Pinned(table)] {
      inner_->rope(x.matrix, n_head, layout, table.matrix);
    });
  }

  void store_kv(KvStore& store, int layer, const DeviceStep& step, Matrix k, Matrix v) override {
    later([this, store = unwrap(store), layer, step = unwrap(step), k = Pinned(k), v = Pinned(v)] {
      inner_->store_kv(*store, layer, *step, k.matrix, v.matrix);
    });
  }

  void attention_cached(const AttentionShape& shape, const KvStore& store, int layer,
                        const DeviceStep& step, Matrix q, Matrix out) override {
    later([this, shape, store = unwrap(store), layer, step = unwrap(step), q = Pinned(q),
           out = Pinned(out)] {
      inner_->attention_cached(shape, *store, layer, *step, q.matrix, out.matrix);
    });
  }

  void attention_packed(const AttentionShape& shape, const DeviceStep& step, Matrix q, Matrix k,
                        Matrix v, Matrix out) override {
    later([this, shape, step = unwrap(step), q = Pinned(q), k = Pinned(k), v = Pinned(v),
           out = Pinned(out)] {
      inner_->attention_packed(shape, *step, q.matrix, k.matrix, v.matrix, out.matrix);
    });
  }

  void select_rows(Matrix x, std::span<const int32_t> rows, Matrix out) override {
    later([this, x = Pinned(x), rows = std::vector(rows.begin(), rows.end()), out = Pinned(out)] {
      inner_->select_rows(x.matrix, rows, out.matrix);
    });
  }

  void mean_rows(Matrix x, const DeviceStep& step, Matrix out) override {
    later([this, x = Pinned(x), step = unwrap(step), out = Pinned(out)] {
      inner_->mean_rows(x.matrix, *step, out.matrix);
    });
  }

  void copy_page(KvStore& store, int32_t src, int32_t dst) override {
    later([this, store = unwrap(store), src, dst] { inner_->copy_page(*store, src, dst); });
  }

  void move_cells(KvStore& store, std::span<const int32_t> src, std::span<const int32_t> dst,
                  int delta, const Rope& rope) override {
    later([this, store = unwrap(store), src = std::vector(src.begin(), src.end()),
           dst = std::vector(dst.begin(), dst.end()), delta,
           rope] { inner_->move_cells(*store, src, dst, delta, rope); });
  }

 private:
  void later(std::function<void()> op) { queue_.push_back(std::move(op)); }

  void flush() {
    for (; !queue_.empty(); queue_.pop_front()) queue_.front()();
  }

  std::unique_ptr<Backend> inner_;
  std::deque<std::function<void()>> queue_;
};

}  // namespace

std::unique_ptr<Backend> make_poisoned_backend(std::unique_ptr<Backend> inner) {
  return std::make_unique<PoisonedBackend>(std::move(inner));
}

}  // namespace bactrian::test
