#include <cstring>

#include "base/half.h"
#include "kernels/ref/ref.h"

// Packed kinds back to panels, element by element, straight from the table in kernels/packed.h.

namespace bactrian::ref {
namespace {

template <typename T>
T at(const std::byte* src, int64_t index) {
  T value;
  std::memcpy(&value, src + index * static_cast<int64_t>(sizeof(T)), sizeof value);
  return value;
}

float half_at(const std::byte* src, int64_t index) {
  return half_to_float(at<uint16_t>(src, index));
}

float byte_at(const std::byte* src, int64_t index) {
  return static_cast<float>(at<uint8_t>(src, index));
}

/// Nibble of (k, r) in words q[k / 8][16].
float nibble_at(const std::byte* q, int64_t k, int64_t r) {
  const auto word = at<uint32_t>(q, k / 8 * kGroupRows + r);
  return static_cast<float>((word >> (4 * (k % 8))) & 15u);
}

float f32(const std::byte* group, int64_t k, int64_t r) {
  return at<float>(group, k * kGroupRows + r);
}

float f16(const std::byte* group, int64_t k, int64_t r) {
  return half_at(group, k * kGroupRows + r);
}

float bf16(const std::byte* group, int64_t k, int64_t r) {
  return bfloat16_to_float(at<uint16_t>(group, k * kGroupRows + r));
}

float q8_0(const std::byte* group, int64_t k, int64_t r) {
  const std::byte* unit = group + k / 32 * 544;
  return half_at(unit, r) * static_cast<float>(at<int8_t>(unit + 32, k % 32 * kGroupRows + r));
}

float q4_0(const std::byte* group, int64_t k, int64_t r) {
  const std::byte* unit = group + k / 32 * 288;
  return half_at(unit, r) * (nibble_at(unit + 32, k % 32, r) - 8.0f);
}

float q4_1(const std::byte* group, int64_t k, int64_t r) {
  const std::byte* unit = group + k / 32 * 320;
  return half_at(unit, r) * nibble_at(unit + 64, k % 32, r) + half_at(unit + 32, r);
}

float q4_k(const std::byte* group, int64_t k, int64_t r) {
  const std::byte* unit = group + k / 256 * 2368;
  const int64_t sub = k % 256 / 32 * kGroupRows + r;
  const float d = half_at(unit, r) * byte_at(unit + 64, sub);
  const float min = half_at(unit + 32, r) * byte_at(unit + 192, sub);
  return d * nibble_at(unit + 320, k % 256, r) - min;
}

template <float (*value)(const std::byte*, int64_t, int64_t)>
void expand(const std::byte* group, int64_t k_begin, int64_t n_k, float* panel) noexcept {
  for (int64_t k = 0; k < n_k; ++k) {
    for (int64_t r = 0; r < kGroupRows; ++r) {
      panel[k * kGroupRows + r] = value(group, k_begin + k, r);
    }
  }
}

}  // namespace

constexpr PackedKernels kF32 = {expand<f32>, nullptr, 0};
constexpr PackedKernels kF16 = {expand<f16>, nullptr, 0};
constexpr PackedKernels kBF16 = {expand<bf16>, nullptr, 0};
constexpr PackedKernels kQ8_0 = {expand<q8_0>, nullptr, 0};
constexpr PackedKernels kQ4_0 = {expand<q4_0>, nullptr, 0};
constexpr PackedKernels kQ4_1 = {expand<q4_1>, nullptr, 0};
constexpr PackedKernels kQ4_K = {expand<q4_k>, nullptr, 0};

}  // namespace bactrian::ref
