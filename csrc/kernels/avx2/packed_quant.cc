#include "kernels/avx2/packed.h"

// Blocks of 32 and K-quants. Products of a scale and a quant are exact in float32 (11 bits of a
// half, at most 8 of a sub-scale, at most 5 of a quant where there is one), so d·q + m has a single
// rounding whether computed by a multiply and an add, as in quant/, or by one fused instruction.

namespace bactrian::avx2 {
namespace {

BACTRIAN_INLINE __m256 load_halves(const std::byte* at) {
  return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(at)));
}

BACTRIAN_INLINE __m256 load_bytes(const std::byte* at) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
}

struct Q8_0Decoder {
  static constexpr int kStep = 8;
  static constexpr int kBytes = 32 + 32 * 16;
  Q8_0Decoder() = default;
  explicit Q8_0Decoder(const std::byte* group) : group_(group) {}

  void unit(int64_t k, int half) {
    unit_ = group_ + k / 32 * kBytes;
    d_ = load_halves(unit_ + half * 16);
  }
  void step(int64_t k, int half) { q_ = unit_ + 32 + k % 32 * 16 + half * 8; }
  template <int i>
  __m256 value() const {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(q_ + i * 16));
    return _mm256_mul_ps(d_, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
  }

 private:
  const std::byte* group_ = nullptr;
  const std::byte* unit_ = nullptr;
  const std::byte* q_ = nullptr;
  __m256 d_{};
};

/// scale·nibble + offset. Odd nibbles are used where they lie, 16 times too large, with a scale 16
/// times smaller: half the shifts, same bits.
struct NibbleDecoder {
  static constexpr int kStep = 8;
  template <int i>
  __m256 value() const {
    const __m256i byte = _mm256_srli_epi32(q_, i / 2 * 8);
    const __m256i nibble = _mm256_and_si256(byte, _mm256_set1_epi32(i % 2 == 0 ? 0x0f : 0xf0));
    return _mm256_fmadd_ps(i % 2 == 0 ? scale_ : scale_16th_, _mm256_cvtepi32_ps(nibble), offset_);
  }

 protected:
  void set(__m256 scale, __m256 offset) {
    scale_ = scale;
    scale_16th_ = _mm256_mul_ps(scale, _mm256_set1_ps(1.0f / 16));
    offset_ = offset;
  }
  void load(const std::byte* at) { q_ = _mm256_load_si256(reinterpret_cast<const __m256i*>(at)); }

 private:
  __m256 scale_{};
  __m256 scale_16th_{};
  __m256 offset_{};
  __m256i q_{};
};

struct Q4_0Decoder : NibbleDecoder {
  static constexpr int kBytes = 32 + 4 * 64;
  Q4_0Decoder() = default;
  explicit Q4_0Decoder(const std::byte* group) : group_(group) {}

  void unit(int64_t k, int half) {
    unit_ = group_ + k / 32 * kBytes;
    const __m256 d = load_halves(unit_ + half * 16);
    set(d, _mm256_mul_ps(d, _mm256_set1_ps(-8.0f)));
  }
  void step(int64_t k, int half) { load(unit_ + 32 + k % 32 / 8 * 64 + half * 32); }

 private:
  const std::byte* group_ = nullptr;
  const std::byte* unit_ = nullptr;
};

struct Q4_1Decoder : NibbleDecoder {
  static constexpr int kBytes = 64 + 4 * 64;
  Q4_1Decoder() = default;
  explicit Q4_1Decoder(const std::byte* group) : group_(group) {}

  void unit(int64_t k, int half) {
    unit_ = group_ + k / 32 * kBytes;
    set(load_halves(unit_ + half * 16), load_halves(unit_ + 32 + half * 16));
  }
  void step(int64_t k, int half) { load(unit_ + 64 + k % 32 / 8 * 64 + half * 32); }

 private:
  const std::byte* group_ = nullptr;
  const std::byte* unit_ = nullptr;
};

struct Q4_KDecoder : NibbleDecoder {
  static constexpr int kBytes = 64 + 256 + 32 * 64;
  Q4_KDecoder() = default;
  explicit Q4_KDecoder(const std::byte* group) : group_(group) {}

  void unit(int64_t k, int half) {
    unit_ = group_ + k / 256 * kBytes;
    const std::byte* sub = unit_ + 64 + k % 256 / 32 * 16 + half * 8;
    const __m256 d = load_halves(unit_ + half * 16);
    const __m256 e = load_halves(unit_ + 32 + half * 16);
    const __m256 min = _mm256_mul_ps(e, load_bytes(sub + 128));
    set(_mm256_mul_ps(d, load_bytes(sub)), _mm256_xor_ps(min, _mm256_set1_ps(-0.0f)));
  }
  void step(int64_t k, int half) { load(unit_ + 320 + k % 256 / 8 * 64 + half * 32); }

 private:
  const std::byte* group_ = nullptr;
  const std::byte* unit_ = nullptr;
};

}  // namespace

constexpr PackedKernels kQ8_0 = packed_kernels<Q8_0Decoder>();
constexpr PackedKernels kQ4_0 = packed_kernels<Q4_0Decoder>();
constexpr PackedKernels kQ4_1 = packed_kernels<Q4_1Decoder>();
constexpr PackedKernels kQ4_K = packed_kernels<Q4_KDecoder>();

}  // namespace bactrian::avx2
