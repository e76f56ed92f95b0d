#include <cstring>

#include "check.h"

// Runs all cases, or those whose names contain the first argument.
int main(int argc, char** argv) {
  int failed = 0;
  int run = 0;
  for (const auto& c : bactrian::test::cases()) {
    if (argc > 1 && std::strstr(c.name, argv[1]) == nullptr) continue;
    ++run;
    try {
      c.body();
      std::printf("ok   %s\n", c.name);
    } catch (const std::exception& error) {
      ++failed;
      std::printf("FAIL %s\n     %s\n", c.name, error.what());
    }
  }
  std::printf("%d passed, %d failed\n", run - failed, failed);
  return failed == 0 && run > 0 ? 0 : 1;
}
