#include "kernels/avx2/codes.h"
#include "quant/blocks.h"

// Kinds with sub-scales inside units of 256 k. Those with a sub-scale for 16 k set it in step(),
// the others in unit().

namespace bactrian::avx2 {
namespace {

struct Q2_KDecoder : UnitDecoder<UnitQ2_K> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int) { at(k); }
  void step(int64_t k, int half) {
    affine_ = scale_offset(*unit_, in_unit(k) / 16, half);
    words_ = Words::two(unit_->low2, in_unit(k), half);
  }
  template <int i>
  __m256 value() const {
    return affine_(move_bits<2 * i, 0, 2>(words_));
  }
  Affine affine_;
  __m256i words_{};
};

struct Q3_KDecoder : UnitDecoder<UnitQ3_K> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int) { at(k); }
  void step(int64_t k, int half) {
    affine_ = biased(sub_scale(*unit_, in_unit(k) / 16, half), 4.0f);
    low_ = Words::two(unit_->low2, in_unit(k), half);
    high_ = Words::one(unit_->high1, in_unit(k), half);
  }
  template <int i>
  __m256 value() const {
    return affine_(_mm256_or_si256(move_bits<2 * i, 0, 2>(low_), move_bits<i, 2, 1>(high_)));
  }
  Affine affine_;
  __m256i low_{};
  __m256i high_{};
};

struct Q4_KDecoder : UnitDecoder<UnitQ4_K> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int half) { codes_.set(scale_offset(at(k), in_unit(k) / 32, half)); }
  void step(int64_t k, int half) { codes_.words = Words::low4(unit_->low4, in_unit(k), half); }
  template <int i>
  __m256 value() const {
    return codes_.value<i>();
  }
  Nibbles codes_;
};

struct Q5_KDecoder : UnitDecoder<UnitQ5_K> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int half) { affine_ = scale_offset(at(k), in_unit(k) / 32, half); }
  void step(int64_t k, int half) {
    low_ = Words::low4(unit_->low4, in_unit(k), half);
    high_ = Words::one(unit_->high1, in_unit(k), half);
  }
  template <int i>
  __m256 value() const {
    return affine_(_mm256_or_si256(move_bits<4 * i, 0, 4>(low_), move_bits<i, 4, 1>(high_)));
  }
  Affine affine_;
  __m256i low_{};
  __m256i high_{};
};

struct Q6_KDecoder : UnitDecoder<UnitQ6_K> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int) { at(k); }
  void step(int64_t k, int half) {
    affine_ = biased(sub_scale(*unit_, in_unit(k) / 16, half), 32.0f);
    low_ = Words::low4(unit_->low4, in_unit(k), half);
    high_ = Words::two(unit_->high2, in_unit(k), half);
  }
  template <int i>
  __m256 value() const {
    return affine_(_mm256_or_si256(move_bits<4 * i, 0, 4>(low_), move_bits<2 * i, 4, 2>(high_)));
  }
  Affine affine_;
  __m256i low_{};
  __m256i high_{};
};

struct IQ4_XSDecoder : UnitDecoder<UnitIQ4_XS> {
  using UnitDecoder::UnitDecoder;
  void unit(int64_t k, int half) {
    codes_.set(kIq4Values);
    codes_.scale = sub_scale(at(k), in_unit(k) / 32, half);
  }
  void step(int64_t k, int half) { codes_.words = Words::low4(unit_->low4, in_unit(k), half); }
  template <int i>
  __m256 value() const {
    return codes_.value<i>();
  }
  Codebook codes_;
};

}  // namespace

constexpr PackedKernels kQ2_K = packed_kernels<Q2_KDecoder>();
constexpr PackedKernels kQ3_K = packed_kernels<Q3_KDecoder>();
constexpr PackedKernels kQ4_K = packed_kernels<Q4_KDecoder>();
constexpr PackedKernels kQ5_K = packed_kernels<Q5_KDecoder>();
constexpr PackedKernels kQ6_K = packed_kernels<Q6_KDecoder>();
constexpr PackedKernels kIQ4_XS = packed_kernels<IQ4_XSDecoder>();

}  // namespace bactrian::avx2
