#include "sample/chain.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "sample/samplers.h"

namespace bactrian {
namespace {

bool always(const SamplerParams&) noexcept { return true; }
bool uses_adaptive(const SamplerParams& params) noexcept { return params.adaptive_target >= 0.0; }

struct Entry {
  std::string_view name;
  std::string_view other_name;
  bool (*is_used)(const SamplerParams&) noexcept;
  ApplySampler apply;           // nullptr: not a filter, but a way to draw
  bool keeps_the_best = false;  // never drops the likeliest token and changes no logit that stays
};

constexpr Entry kSamplers[] = {
    {"penalties", "", uses_penalties, apply_penalties},
    {"dry", "", uses_dry, apply_dry},
    {"top_n_sigma", "top-n-sigma", uses_top_n_sigma, apply_top_n_sigma, true},
    {"top_k", "top-k", uses_top_k, apply_top_k, true},
    {"typ_p", "typical", uses_typical, apply_typical},
    {"typical_p", "typical-p", uses_typical, apply_typical},
    {"top_p", "nucleus", uses_top_p, apply_top_p, true},
    {"min_p", "min-p", uses_min_p, apply_min_p, true},
    {"xtc", "", uses_xtc, apply_xtc},
    {"temperature", "temp", uses_temperature, apply_temperature},
    {"infill", "", always, apply_infill},
    {"adaptive_p", "", uses_adaptive, nullptr},
};

const Entry& find(std::string_view name) {
  for (const Entry& entry : kSamplers) {
    if (name == entry.name || (!name.empty() && name == entry.other_name)) return entry;
  }
  std::string known;
  for (const Entry& entry : kSamplers) {
    if (!known.empty()) known += ", ";
    known += entry.name;
  }
  fail(ErrorCode::invalid_argument, "samplers names \"", name, "\", but the samplers are: ", known);
}

}  // namespace

Chain resolve_chain(const SamplerParams& params) {
  std::vector<const Entry*> entries;
  Chain chain;
  for (const std::string& name : params.samplers) {
    const Entry& entry = find(name);
    if (!entry.is_used(params)) continue;
    if (entry.apply == nullptr) {
      chain.draw = DrawKind::adaptive;
      continue;
    }
    if (entry.apply == apply_infill && !params.infill) {
      fail(ErrorCode::invalid_argument,
           "samplers names \"infill\", which needs the parameters token_bytes and end_tokens");
    }
    // Greedy decoding takes the best token: filters that only drop others would be wasted work.
    if (entry.apply == apply_temperature && params.temperature <= 0.0) {
      while (!entries.empty() && entries.back()->keeps_the_best) entries.pop_back();
    }
    entries.push_back(&entry);
  }
  if (params.mirostat != 0) {
    chain.draw = params.mirostat == 1 ? DrawKind::mirostat_v1 : DrawKind::mirostat_v2;
    if (uses_temperature(params)) chain.steps.push_back(apply_temperature);
    return chain;
  }
  for (const Entry* entry : entries) chain.steps.push_back(entry->apply);
  return chain;
}

}  // namespace bactrian
