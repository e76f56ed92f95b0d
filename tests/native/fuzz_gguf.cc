#include <cstdint>

#include "gguf_exercise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bactrian::test::exercise_gguf(std::as_bytes(std::span(data, size)));
  return 0;
}
