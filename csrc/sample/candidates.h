#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace bactrian {

struct Candidate {
  int32_t id = 0;
  float logit = 0.0f;
};

/// The likelier one first; of equals the one with the lower id, so that every order is unique.
inline bool comes_before(const Candidate& a, const Candidate& b) noexcept {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// Moves a logit by `delta`: finite ones stay finite, -inf stays.
float shifted(float logit, double delta) noexcept;

/// Throws Error(non_finite) if a logit is NaN or +inf, or all are -inf.
void check_logits(std::span<const float> logits);

/// The tokens still in the running and their logits, never NaN or +inf, one of them at least
/// finite. First it is the whole vocabulary in the order of ids, without a copy until a logit
/// changes; from the first filter on, a short list in falling order.
class Candidates {
 public:
  /// Starts over. The logits must stay valid until the draw is over; see detach().
  void reset(std::span<const float> logits);
  /// Takes a copy of logits that still belong to the caller.
  void detach() {
    if (form_ == Form::borrowed) own();
  }

  size_t size() const noexcept { return form_ == Form::list ? list_.size() : dense().size(); }
  float max_logit() const noexcept;

  /// visit(id, logit) for each candidate, in order.
  template <typename F>
  void for_each(F&& visit) const {
    if (form_ == Form::list) {
      for (const Candidate& c : list_) visit(c.id, c.logit);
      return;
    }
    int32_t id = 0;
    for (const float logit : dense()) visit(id++, logit);
  }

  /// logit = change(logit) for all; the change must not turn the order round.
  template <typename F>
  void change_all(F&& change) {
    if (form_ == Form::list) {
      for (Candidate& c : list_) c.logit = change(c.logit);
    } else {
      for (float& logit : own()) logit = change(logit);
    }
  }

  /// logit = change(logit, value) for the candidates among `values`, whose keys must be ids of the
  /// vocabulary.
  template <typename T, typename F>
  void change_some(const std::unordered_map<int32_t, T>& values, F&& change) {
    if (values.empty()) return;
    if (form_ != Form::list) {
      float* logits = own().data();
      for (const auto& [id, value] : values) logits[id] = change(logits[id], value);
      return;
    }
    for (Candidate& c : list_) {
      if (const auto it = values.find(c.id); it != values.end()) {
        c.logit = change(c.logit, it->second);
      }
    }
    sort();
  }

  /// logit = -inf for all tokens whose bit is clear; bit i % 32 of word i / 32.
  void mask(std::span<const uint32_t> allowed);

  /// The likeliest k (or fewer, if there are not so many), likeliest first; valid until the next
  /// call of any member.
  std::span<const Candidate> top(size_t k);
  /// All, likeliest first. Who changes the order calls sort().
  std::vector<Candidate>& list();
  void sort();

  void keep_top(size_t k);
  /// Drops logits below the limit.
  void keep_from(double limit);

 private:
  enum class Form { borrowed, owned, list };

  /// Logits by id, while the form is not a list.
  std::span<const float> dense() const noexcept {
    return form_ == Form::borrowed ? borrowed_ : std::span<const float>(own_);
  }
  std::vector<float>& own();
  void select_top(size_t k, std::vector<Candidate>& out) const;

  Form form_ = Form::borrowed;
  std::span<const float> borrowed_;
  std::vector<float> own_;
  std::vector<Candidate> list_;
  std::vector<Candidate> top_;
};

/// The softmax of candidates, without dividing: p = weight(logit) / total.
struct Softmax {
  explicit Softmax(const Candidates& candidates);

  float weight(float logit) const noexcept;
  double probability(float logit) const noexcept { return weight(logit) / total; }
  double log_probability(float logit) const noexcept {
    return (static_cast<double>(logit) - max) - log_total;
  }

  float max;
  double total = 0.0;
  double log_total;
};

/// Entropy of the candidates' softmax in nats.
double entropy(const Candidates& candidates, const Softmax& softmax) noexcept;

}  // namespace bactrian
