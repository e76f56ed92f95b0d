#include "kernels/avx2/packed.h"

// F32, F16 and BF16: one k at a time, because their rows may have any length.

namespace bactrian::avx2 {
namespace {

struct FloatDecoder {
  static constexpr int kStep = 1;
  FloatDecoder() = default;
  explicit FloatDecoder(const std::byte* group) : group_(group) {}
  void unit(int64_t, int) {}

 protected:
  const std::byte* group_ = nullptr;
  const std::byte* at_ = nullptr;
};

struct F32Decoder : FloatDecoder {
  using FloatDecoder::FloatDecoder;
  void step(int64_t k, int half) { at_ = group_ + k * 64 + half * 32; }
  template <int>
  __m256 value() const {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(at_));
  }
};

struct F16Decoder : FloatDecoder {
  using FloatDecoder::FloatDecoder;
  void step(int64_t k, int half) { at_ = group_ + k * 32 + half * 16; }
  template <int>
  __m256 value() const {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at_)));
  }
};

struct BF16Decoder : FloatDecoder {
  using FloatDecoder::FloatDecoder;
  void step(int64_t k, int half) { at_ = group_ + k * 32 + half * 16; }
  template <int>
  __m256 value() const {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
};

}  // namespace

constexpr PackedKernels kF32 = packed_kernels<F32Decoder>();
constexpr PackedKernels kF16 = packed_kernels<F16Decoder>();
constexpr PackedKernels kBF16 = packed_kernels<BF16Decoder>();

}  // namespace bactrian::avx2
