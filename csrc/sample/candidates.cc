#include "sample/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace bactrian {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kBlock = 32;  // logits looked at together; the compiler turns them into vectors

bool any_above(std::span<const float> logits, float limit) noexcept {
  int found = 0;
  if (logits.size() == kBlock) {
    for (size_t i = 0; i < kBlock; ++i) found |= logits[i] > limit ? 1 : 0;
  } else {
    for (const float logit : logits) found |= logit > limit ? 1 : 0;
  }
  return found != 0;
}

/// Sorts candidates that are in the order of their ids. The sort is stable, so these break ties.
void sort_by_radix(std::vector<Candidate>& candidates) {
  constexpr int kDigitBits = 11;
  constexpr size_t kDigits = size_t{1} << kDigitBits;
  // An integer that falls as the logit rises; adding zero makes both zeros equal.
  const auto key = [](float logit) {
    const auto bits = std::bit_cast<uint32_t>(logit + 0.0f);
    return (bits >> 31) != 0 ? bits : ~bits & 0x7FFFFFFFu;
  };
  std::vector<Candidate> other(candidates.size());
  for (int shift = 0; shift < 32; shift += kDigitBits) {
    const auto digit = [&](const Candidate& c) { return (key(c.logit) >> shift) % kDigits; };
    std::array<size_t, kDigits + 1> begins{};
    for (const Candidate& c : candidates) ++begins[digit(c) + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    for (const Candidate& c : candidates) other[begins[digit(c)]++] = c;
    candidates.swap(other);
  }
}

}  // namespace

float shifted(float logit, double delta) noexcept {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (logit == -kInfinity || delta == -INFINITY) return -kInfinity;
  return static_cast<float>(std::clamp(static_cast<double>(logit) + delta, -kLargest, kLargest));
}

void check_logits(std::span<const float> logits) {
  int bad = 0;
  int finite = 0;
  for (const float logit : logits) {
    bad |= logit < kInfinity ? 0 : 1;  // NaN is not below anything
    finite |= logit > -kInfinity ? 1 : 0;
  }
  if (bad != 0) {
    const auto first = std::ranges::find_if(logits, [](float x) { return !(x < kInfinity); });
    fail(ErrorCode::non_finite, "the logit of token ", first - logits.begin(), " is ", *first,
         ": the model's output is not usable");
  }
  if (finite == 0) fail(ErrorCode::non_finite, "no token has a finite logit");
}

void Candidates::reset(std::span<const float> logits) {
  form_ = Form::borrowed;
  borrowed_ = logits;
}

std::vector<float>& Candidates::own() {
  if (form_ == Form::borrowed) own_.assign(borrowed_.begin(), borrowed_.end());
  form_ = Form::owned;
  return own_;
}

float Candidates::max_logit() const noexcept {
  if (form_ == Form::list) return list_.front().logit;
  std::span<const float> rest = dense();
  float max = -kInfinity;
  while (!rest.empty()) {
    const auto block = rest.first(std::min(kBlock, rest.size()));
    if (any_above(block, max)) max = *std::ranges::max_element(block);
    rest = rest.subspan(block.size());
  }
  return max;
}

void Candidates::mask(std::span<const uint32_t> allowed) {
  assert(form_ != Form::list && allowed.size() >= (size() + 31) / 32);
  std::vector<float>& logits = own();
  for (size_t word = 0; word * 32 < logits.size(); ++word) {
    const size_t n = std::min<size_t>(32, logits.size() - word * 32);
    for (uint32_t forbidden = ~allowed[word]; forbidden != 0; forbidden &= forbidden - 1) {
      const auto bit = static_cast<size_t>(std::countr_zero(forbidden));
      if (bit >= n) break;
      logits[word * 32 + bit] = -kInfinity;
    }
  }
}

void Candidates::select_top(size_t k, std::vector<Candidate>& out) const {
  constexpr size_t kHeapLimit = 256;  // above it, putting all in order is quicker
  out.clear();
  if (k > kHeapLimit) {
    for_each([&](int32_t id, float logit) { out.push_back({id, logit}); });
    sort_by_radix(out);
    if (k < out.size()) out.resize(k);
    return;
  }
  // A heap of the best so far, the worst of them on top. Ids rise, so an equal logit loses.
  const auto logits = dense();
  const size_t n_first = std::min(k, logits.size());
  for (size_t i = 0; i < n_first; ++i) out.push_back({static_cast<int32_t>(i), logits[i]});
  std::make_heap(out.begin(), out.end(), comes_before);
  for (size_t begin = n_first; begin < logits.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, logits.size());
    if (!any_above(logits.subspan(begin, end - begin), out.front().logit)) continue;
    for (size_t i = begin; i < end; ++i) {
      if (logits[i] <= out.front().logit) continue;
      std::pop_heap(out.begin(), out.end(), comes_before);
      out.back() = {static_cast<int32_t>(i), logits[i]};
      std::push_heap(out.begin(), out.end(), comes_before);
    }
  }
  std::sort_heap(out.begin(), out.end(), comes_before);
}

std::span<const Candidate> Candidates::top(size_t k) {
  if (form_ == Form::list)
    return std::span<const Candidate>(list_).first(std::min(k, list_.size()));
  select_top(std::max<size_t>(k, 1), top_);
  return top_;
}

std::vector<Candidate>& Candidates::list() {
  keep_top(size());
  return list_;
}

void Candidates::sort() { std::sort(list_.begin(), list_.end(), comes_before); }

void Candidates::keep_top(size_t k) {
  assert(k > 0);
  if (form_ != Form::list) {
    select_top(k, list_);
    form_ = Form::list;
  } else if (k < list_.size()) {
    list_.resize(k);
  }
}

void Candidates::keep_from(double limit) {
  if (form_ == Form::list) {
    std::erase_if(list_, [limit](const Candidate& c) { return c.logit < limit; });
    return;
  }
  list_.clear();
  for_each([&](int32_t id, float logit) {
    if (logit >= limit) list_.push_back({id, logit});
  });
  form_ = Form::list;
  sort();
}

Softmax::Softmax(const Candidates& candidates) : max(candidates.max_logit()) {
  candidates.for_each([this](int32_t, float logit) { total += weight(logit); });
  log_total = std::log(total);
}

float Softmax::weight(float logit) const noexcept { return std::exp(logit - max); }

double entropy(const Candidates& candidates, const Softmax& softmax) noexcept {
  double sum = 0.0;
  candidates.for_each([&](int32_t, float logit) {
    const double p = softmax.probability(logit);
    if (p > 0.0) sum -= p * softmax.log_probability(logit);
  });
  return sum;
}

}  // namespace bactrian
