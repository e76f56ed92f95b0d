#pragma once

#include "kernels/avx2/packed.h"

// What the decoders of quantised kinds share; see kernels/packed_units.h for the words.
//
// Values are scale·q + offset in one fused step, where quant/ multiplies and then adds: the same
// bits, because products of a scale and a code are exact in float32 (11 bits of a half, at most 8
// of a sub-scale, 5 of a code where there is an offset of its own), and where q has a constant bias
// b, scale·q - b·scale is rounded once from the exact value of scale·(q - b). Only the sign of a
// zero may differ.

namespace bactrian::avx2 {
namespace {

BACTRIAN_INLINE __m256i load_words(const uint32_t* at) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(at));
}

BACTRIAN_INLINE __m256 load_halves(const uint16_t* at) {
  return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(at)));
}

BACTRIAN_INLINE __m256 load_bytes(const uint8_t* at) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
}

BACTRIAN_INLINE __m256 load_bytes(const int8_t* at) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
}

BACTRIAN_INLINE __m256 negate(__m256 x) { return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f)); }

/// The bits [from, from + n) of each lane, moved to [to, to + n); the others zero.
template <int from, int to, int n>
BACTRIAN_INLINE __m256i move_bits(__m256i word) {
  const __m256i mask = _mm256_set1_epi32(static_cast<int>(((1u << n) - 1u) << to));
  if constexpr (from > to) word = _mm256_srli_epi32(word, from - to);
  if constexpr (from < to) word = _mm256_slli_epi32(word, to - from);
  return _mm256_and_si256(word, mask);
}

/// Finds the unit of k; step() and value() are the kinds' own.
template <typename Unit>
struct UnitDecoder {
  static constexpr int kStep = 8;
  UnitDecoder() = default;
  explicit UnitDecoder(const std::byte* group) : units_(reinterpret_cast<const Unit*>(group)) {}

 protected:
  const Unit& at(int64_t k) {
    unit_ = units_ + k / Unit::kElems;
    return *unit_;
  }
  static constexpr int64_t in_unit(int64_t k) { return k % Unit::kElems; }

  const Unit* units_ = nullptr;
  const Unit* unit_ = nullptr;
};

/// The words of a step of 8 codes, with the step's first code at bit 0.
struct Words {
  template <size_t kWords>
  static __m256i low4(const uint32_t (&words)[kWords][kGroupRows], int64_t k, int half) {
    return load_words(words[k / 8] + half * 8);
  }
  template <size_t kWords>
  static __m256i two(const uint32_t (&words)[kWords][kGroupRows], int64_t k, int half) {
    return _mm256_srl_epi32(load_words(words[k / 16] + half * 8),
                            _mm_cvtsi32_si128(static_cast<int>(k % 16 * 2)));
  }
  template <size_t kWords>
  static __m256i one(const uint32_t (&words)[kWords][kGroupRows], int64_t k, int half) {
    return _mm256_srl_epi32(load_words(words[k / 32] + half * 8),
                            _mm_cvtsi32_si128(static_cast<int>(k % 32)));
  }
};

struct Affine {
  __m256 scale{};
  __m256 offset{};
  __m256 operator()(__m256i code) const {
    return _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(code), offset);
  }
};

/// scale·(q - bias).
BACTRIAN_INLINE Affine biased(__m256 scale, float bias) {
  return {scale, _mm256_mul_ps(scale, _mm256_set1_ps(-bias))};
}

/// d s q - e m.
template <typename Unit>
BACTRIAN_INLINE Affine scale_offset(const Unit& u, int64_t sub, int half) {
  const __m256 d = load_halves(u.d + half * 8);
  const __m256 e = load_halves(u.e + half * 8);
  return {_mm256_mul_ps(d, load_bytes(u.s[sub] + half * 8)),
          negate(_mm256_mul_ps(e, load_bytes(u.m[sub] + half * 8)))};
}

/// d s.
template <typename Unit>
BACTRIAN_INLINE __m256 sub_scale(const Unit& u, int64_t sub, int half) {
  return _mm256_mul_ps(load_halves(u.d + half * 8), load_bytes(u.s[sub] + half * 8));
}

/// Codes of 4 bits. Odd ones are used where they lie, 16 times too large, with a scale 16 times
/// smaller: half the shifts, same bits.
struct Nibbles {
  __m256i words{};
  Affine even{};
  __m256 scale_16th{};

  void set(Affine affine) {
    even = affine;
    scale_16th = _mm256_mul_ps(affine.scale, _mm256_set1_ps(1.0f / 16));
  }
  template <int i>
  __m256 value() const {
    constexpr int kTo = i % 2 * 4;
    const __m256i code = move_bits<4 * i, kTo, 4>(words);
    return kTo == 0 ? even(code) : Affine{scale_16th, even.offset}(code);
  }
};

/// Codes of 4 bits that number 16 values in an int8 table, repeated in both halves of the register.
struct Codebook {
  __m256i words{};
  __m256i values{};
  __m256 scale{};

  void set(const int8_t* table) {
    values = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  }
  template <int i>
  __m256 value() const {
    // Looked up in the top byte, so that one shift extends the sign and drops the other bytes.
    const __m256i found = _mm256_shuffle_epi8(values, move_bits<4 * i, 24, 4>(words));
    return _mm256_mul_ps(scale, _mm256_cvtepi32_ps(_mm256_srai_epi32(found, 24)));
  }
};

}  // namespace
}  // namespace bactrian::avx2
