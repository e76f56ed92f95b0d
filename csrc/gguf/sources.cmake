bactrian_component(gguf SOURCES gguf/reader.cc DEPENDS base)
