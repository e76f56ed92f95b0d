#include <fstream>

#include "gguf_builder.h"

// Fills the folder named by the only argument with the seed corpus of fuzz_gguf.
int main(int argc, char** argv) {
  if (argc != 2) return 1;
  int number = 0;
  for (const std::string& seed : bactrian::test::gguf_seeds()) {
    std::ofstream out(std::string(argv[1]) + "/seed-" + std::to_string(number++) + ".gguf",
                      std::ios::binary);
    if (!(out << seed)) return 1;
  }
  return 0;
}
