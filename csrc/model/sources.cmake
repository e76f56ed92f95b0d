bactrian_component(model SOURCES
  model/arch/llama.cc
  model/arena.cc
  model/hparams.cc
  model/layers.cc
  model/model.cc
  model/registry.cc
  model/rope.cc
  model/weights.cc
  DEPENDS gguf backend kv)
