bactrian_component(gguf SOURCES
  gguf/metadata.cc
  gguf/part.cc
  gguf/reader.cc
  gguf/split.cc
  gguf/tensor_type.cc
  DEPENDS base)
