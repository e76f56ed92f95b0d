bactrian_component(sample SOURCES
  sample/adaptive.cc
  sample/candidates.cc
  sample/chain.cc
  sample/dry.cc
  sample/infill.cc
  sample/log_probabilities.cc
  sample/mirostat.cc
  sample/params.cc
  sample/penalties.cc
  sample/sampler.cc
  sample/temperature.cc
  sample/truncation.cc
  sample/typical.cc
  sample/xtc.cc
  DEPENDS base)
