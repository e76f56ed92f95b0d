#include "kernels/avx2/codes.h"
#include "quant/blocks.h"

// Kinds with one scale for 32 k.

namespace bactrian::avx2 {
namespace {

struct Q4_0Decoder : UnitDecoder<UnitQ4_0> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int half) { codes_.set(biased(load_halves(at(k).d + half * 8), 8.0f)); }
  void step(int64_t k, int half) { codes_.words = Words::low4(unit_->low4, in_unit(k), half); }
  template <int i>
  __m256 value() const {
    return codes_.value<i>();
  }
  Nibbles codes_;
};

struct Q4_1Decoder : UnitDecoder<UnitQ4_1> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int half) {
    const UnitQ4_1& u = at(k);
    codes_.set({load_halves(u.d + half * 8), load_halves(u.m + half * 8)});
  }
  void step(int64_t k, int half) { codes_.words = Words::low4(unit_->low4, in_unit(k), half); }
  template <int i>
  __m256 value() const {
    return codes_.value<i>();
  }
  Nibbles codes_;
};

/// 4 low bits and 1 high bit.
template <typename Unit>
struct FiveBitDecoder : UnitDecoder<Unit> {
  using UnitDecoder<Unit>::UnitDecoder;
  void step(int64_t k, int half) {
    low_ = Words::low4(this->unit_->low4, this->in_unit(k), half);
    high_ = Words::one(this->unit_->high1, this->in_unit(k), half);
  }
  template <int i>
  __m256 value() const {
    return affine_(_mm256_or_si256(move_bits<4 * i, 0, 4>(low_), move_bits<i, 4, 1>(high_)));
  }
  Affine affine_;
  __m256i low_{};
  __m256i high_{};
};

struct Q5_0Decoder : FiveBitDecoder<UnitQ5_0> {
  using FiveBitDecoder::FiveBitDecoder;
  void unit(int64_t k, int half) { affine_ = biased(load_halves(at(k).d + half * 8), 16.0f); }
};

struct Q5_1Decoder : FiveBitDecoder<UnitQ5_1> {
  using FiveBitDecoder::FiveBitDecoder;
  void unit(int64_t k, int half) {
    const UnitQ5_1& u = at(k);
    affine_ = {load_halves(u.d + half * 8), load_halves(u.m + half * 8)};
  }
};

struct Q8_0Decoder : UnitDecoder<UnitQ8_0> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int half) { scale_ = load_halves(at(k).d + half * 8); }
  void step(int64_t k, int half) { codes_ = unit_->q[in_unit(k)] + half * 8; }
  template <int i>
  __m256 value() const {
    return _mm256_mul_ps(scale_, load_bytes(codes_ + i * kGroupRows));
  }
  __m256 scale_{};
  const int8_t* codes_ = nullptr;
};

struct IQ4_NLDecoder : UnitDecoder<UnitIQ4_NL> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int half) {
    codes_.set(kIq4Values);
    codes_.scale = load_halves(at(k).d + half * 8);
  }
  void step(int64_t k, int half) { codes_.words = Words::low4(unit_->low4, in_unit(k), half); }
  template <int i>
  __m256 value() const {
    return codes_.value<i>();
  }
  Codebook codes_;
};

struct MXFP4Decoder : UnitDecoder<UnitMXFP4> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int half) {
    codes_.set(kE2m1Doubled);
    const __m128i d = _mm_load_si128(reinterpret_cast<const __m128i*>(at(k).d + half * 8));
    codes_.scale = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(d), 16));
  }
  void step(int64_t k, int half) { codes_.words = Words::low4(unit_->low4, in_unit(k), half); }
  template <int i>
  __m256 value() const {
    return codes_.value<i>();
  }
  Codebook codes_;
};

}  // namespace

constexpr PackedKernels kQ4_0 = packed_kernels<Q4_0Decoder>();
constexpr PackedKernels kQ4_1 = packed_kernels<Q4_1Decoder>();
constexpr PackedKernels kQ5_0 = packed_kernels<Q5_0Decoder>();
constexpr PackedKernels kQ5_1 = packed_kernels<Q5_1Decoder>();
constexpr PackedKernels kQ8_0 = packed_kernels<Q8_0Decoder>();
constexpr PackedKernels kIQ4_NL = packed_kernels<IQ4_NLDecoder>();
constexpr PackedKernels kMXFP4 = packed_kernels<MXFP4Decoder>();

}  // namespace bactrian::avx2
