#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/kv_page.h"

namespace bactrian {

// The interface between models and devices. A model holds only opaque handles and plain host data;
// no pointer of a handle may be looked into outside the backend that made it. Ops are queued in
// order and may run asynchronously; only download() and synchronize() wait.
//
// Numerics: an output row depends on its own input row and on the keys it attends to, never on the
// other rows of the call, on chunking or on the number of threads (batch invariance, bit for bit).
//
// Letters: T tokens (rows of a step), K input width, N output width, H query heads, G key/value
// heads, D head size.

/// Device memory, released with its last owner.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  virtual size_t size_bytes() const noexcept = 0;
};

/// float32 activations [n_rows, n_cols], rows `stride` floats apart, starting `offset` floats into
/// the buffer. A view: does not own the buffer.
struct Matrix {
  DeviceBuffer* buffer = nullptr;
  int64_t offset = 0;
  int64_t n_rows = 0;
  int64_t n_cols = 0;
  int64_t stride = 0;

  Matrix rows(int64_t begin, int64_t count) const {
    return {buffer, offset + begin * stride, count, n_cols, stride};
  }
};

/// One tensor of a file on its way to a device. `data` must stay valid as long as the weight made
/// from it (a CPU backend may leave it where it is).
struct HostTensor {
  std::string name;
  DType dtype;
  int64_t n_rows = 1;  // 1 for vectors
  int64_t n_cols = 0;
  std::span<const std::byte> data;
};

/// A weight matrix [N, K] or vector [N] on a device, in whatever layout suits it.
class Weight {
 public:
  virtual ~Weight() = default;
  virtual int64_t n_rows() const noexcept = 0;
  virtual int64_t n_cols() const noexcept = 0;
  virtual DType dtype() const noexcept = 0;
  /// Device memory held beyond the mapped file.
  virtual size_t size_bytes() const noexcept = 0;
};

/// What a weight is used for; decides its layout on the device.
enum class WeightRole {
  linear,            // left factor of linear()
  table,             // rows looked up by embed()
  linear_and_table,  // tied embeddings
  vector,            // norm gains, biases, frequency factors: small, float32 on the device
};

/// A run of consecutive rows of a step that belong to one sequence.
struct SequenceSpan {
  int32_t row_begin = 0;
  int32_t n_rows = 0;
  int32_t position_begin = 0;  // position of the first row; the rest follow one by one
  int32_t page_begin = 0;      // first entry of this sequence in Step::page_table (cached steps)
};

/// One forward pass's worth of rows: plain host data.
struct Step {
  std::vector<int32_t> tokens;      // [T]
  std::vector<int32_t> positions;   // [T]
  std::vector<SequenceSpan> spans;  // ascending, cover all rows; span i is sequence i of the step
  /// Steps with a KV cache: page numbers of each span's sequence, concatenated. The page of
  /// position p is page_table[page_begin + p / kPageTokens], its cell p % kPageTokens.
  std::vector<int32_t> page_table;
};

/// A step as the device sees it; made once, used by all layers.
class DeviceStep {
 public:
  virtual ~DeviceStep() = default;
};

/// Shape of the memory behind the KV cache.
struct KvShape {
  int n_layer = 0;
  int n_head_kv = 0;
  int d_head_k = 0;
  int d_head_v = 0;
  int64_t n_pages = 0;
  DType dtype_k = DType::F16;  // F32, F16 or Q8_0 (head sizes divisible by 32)
  DType dtype_v = DType::F16;

  /// Bytes of one page over all layers.
  size_t page_bytes() const noexcept {
    return static_cast<size_t>(n_layer) * kPageTokens * static_cast<size_t>(n_head_kv) *
           static_cast<size_t>(dtype_info(dtype_k).row_bytes(d_head_k) +
                               dtype_info(dtype_v).row_bytes(d_head_v));
  }
};

/// Keys and values of all pages and layers on the device.
class KvStore {
 public:
  virtual ~KvStore() = default;
};

enum class RopeLayout {
  adjacent,  // pairs (2i, 2i+1): llama files, whose q/k rows were permuted for it ("NORM")
  halves,    // pairs (i, i + n_rot/2): "NEOX"
};

/// Rotary embedding with all scaling already folded in.
struct Rope {
  RopeLayout layout = RopeLayout::adjacent;
  std::vector<double> inv_freq;  // [n_rot / 2] radians per position
  float magnitude = 1.0f;        // factor on cos and sin (YaRN's attention factor)

  int n_rot() const noexcept { return static_cast<int>(inv_freq.size()) * 2; }
};

struct AttentionShape {
  int n_head = 0;
  int n_head_kv = 0;
  int d_head_k = 0;
  int d_head_v = 0;
  float scale = 1.0f;
  bool causal = true;
};

enum class Activation { silu };

/// One product of linear(): out = x · weightᵀ (+ bias) (+ out, if accumulate).
struct LinearTarget {
  const Weight* weight = nullptr;
  const Weight* bias = nullptr;  // nullptr = none
  Matrix out;                    // [T, N]
  bool accumulate = false;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;

  // Memory. Throw Error(out_of_memory) naming the size.
  virtual std::shared_ptr<DeviceBuffer> allocate(size_t bytes) = 0;
  virtual std::unique_ptr<Weight> load(const HostTensor& tensor, WeightRole role) = 0;
  virtual std::unique_ptr<KvStore> make_kv_store(const KvShape& shape) = 0;
  virtual std::unique_ptr<DeviceStep> make_step(const Step& step) = 0;

  /// dst = the matrix, dense row-major [n_rows, n_cols]; waits for everything queued before.
  virtual void download(Matrix src, float* dst) = 0;
  virtual void synchronize() = 0;

  // Ops. Outputs never overlap inputs unless said so.

  /// out[t] = table[tokens[t]].
  virtual void embed(const Weight& table, const DeviceStep& step, Matrix out) = 0;

  /// out[r] = x[r] / sqrt(mean(x[r]²) + eps) * gain. out may be x.
  virtual void rms_norm(Matrix x, const Weight& gain, float eps, Matrix out) = 0;

  /// All products share x [T, K] and run as one parallel region.
  virtual void linear(Matrix x, std::span<const LinearTarget> targets) = 0;

  /// out = act(gate) * up, elementwise. out may be gate or up.
  virtual void gated_activation(Activation act, Matrix gate, Matrix up, Matrix out) = 0;

  /// table[t] = cos then sin of positions[t] * inv_freq, times magnitude: [T, n_rot].
  virtual void rope_table(const Rope& rope, const DeviceStep& step, Matrix table) = 0;

  /// Rotates the first n_rot elements of each of the n_head heads of x [T, n_head * D] in place.
  virtual void rope(Matrix x, int n_head, RopeLayout layout, Matrix table) = 0;

  /// Writes rows k [T, G * D_k] and v [T, G * D_v] into the cells of their positions.
  virtual void store_kv(KvStore& store, int layer, const DeviceStep& step, Matrix k, Matrix v) = 0;

  /// Attention of q [T, H * D_k] over the cached keys at positions [0, own position] (causal) of
  /// the row's own sequence; out [T, H * D_v].
  virtual void attention_cached(const AttentionShape& shape, const KvStore& store, int layer,
                                const DeviceStep& step, Matrix q, Matrix out) = 0;

  /// Attention inside each span over the step's own k and v; touches no KV store. Causal or both
  /// ways as the shape says.
  virtual void attention_packed(const AttentionShape& shape, const DeviceStep& step, Matrix q,
                                Matrix k, Matrix v, Matrix out) = 0;

  /// out[i] = x[rows[i]].
  virtual void select_rows(Matrix x, std::span<const int32_t> rows, Matrix out) = 0;

  /// out[i] = mean of the rows of span i, summed in row order.
  virtual void mean_rows(Matrix x, const DeviceStep& step, Matrix out) = 0;

  /// Copies all layers of page src to page dst.
  virtual void copy_page(KvStore& store, int32_t src, int32_t dst) = 0;

  /// For i in order: cell dst[i] = cell src[i] in all layers, keys rotated by `delta` positions
  /// (negative: towards the start). Cells are page * kPageTokens + index. A dst may be an earlier
  /// src.
  virtual void move_cells(KvStore& store, std::span<const int32_t> src,
                          std::span<const int32_t> dst, int delta, const Rope& rope) = 0;
};

}  // namespace bactrian
