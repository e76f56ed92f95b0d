#include "kernels/avx2/packed.h"

// F32, F16 and BF16: one k at a time, because their rows may have any length.

namespace bactrian::avx2 {
namespace {

/// One unit is one k.
template <typename Unit>
struct FloatDecoder {
  static constexpr int kStep = 1;
  FloatDecoder() = default;
  explicit FloatDecoder(const std::byte* group) : units_(reinterpret_cast<const Unit*>(group)) {}
  void unit(int64_t, int) {}
  void step(int64_t k, int half) { at_ = units_[k].v + half * 8; }

 protected:
  const Unit* units_ = nullptr;
  decltype(&units_->v[0]) at_ = nullptr;
};

struct F32Decoder : FloatDecoder<UnitF32> {
  using FloatDecoder::FloatDecoder;
  template <int>
  __m256 value() const {
    return _mm256_load_ps(at_);
  }
};

struct F16Decoder : FloatDecoder<UnitF16> {
  using FloatDecoder::FloatDecoder;
  template <int>
  __m256 value() const {
    return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(at_)));
  }
};

struct BF16Decoder : FloatDecoder<UnitBF16> {
  using FloatDecoder::FloatDecoder;
  template <int>
  __m256 value() const {
    const __m128i bits = _mm_load_si128(reinterpret_cast<const __m128i*>(at_));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
};

}  // namespace

constexpr PackedKernels kF32 = packed_kernels<F32Decoder>();
constexpr PackedKernels kF16 = packed_kernels<F16Decoder>();
constexpr PackedKernels kBF16 = packed_kernels<BF16Decoder>();

}  // namespace bactrian::avx2
