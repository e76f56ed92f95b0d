#pragma once

#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

// The native tests' own few lines: no C++ test library can be had from the package index that the
// test command installs from. TEST(name) { CHECK(...); } registers; main() in check_main.cc runs.

namespace bactrian::test {

struct Case {
  const char* name;
  void (*body)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Register {
  Register(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

struct Failure : std::exception {
  explicit Failure(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  std::string text_;
};

[[noreturn]] inline void fail_check(const char* file, int line, const std::string& text) {
  std::ostringstream out;
  out << file << ":" << line << ": " << text;
  throw Failure(out.str());
}

}  // namespace bactrian::test

#define TEST(name)                                                             \
  static void test_##name();                                                   \
  static const ::bactrian::test::Register register_##name{#name, test_##name}; \
  static void test_##name()

#define CHECK(condition)                                                                         \
  do {                                                                                           \
    if (!(condition)) ::bactrian::test::fail_check(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)

#define CHECK_EQ(a, b)                                                   \
  do {                                                                   \
    const auto& check_a = (a);                                           \
    const auto& check_b = (b);                                           \
    if (!(check_a == check_b)) {                                         \
      std::ostringstream check_out;                                      \
      check_out << #a " == " #b " but " << check_a << " != " << check_b; \
      ::bactrian::test::fail_check(__FILE__, __LINE__, check_out.str()); \
    }                                                                    \
  } while (false)

/// The expression must throw bactrian::Error with this code and a message that contains `text`.
#define CHECK_ERROR(expression, expected_code, text)                                        \
  do {                                                                                      \
    bool check_thrown = false;                                                              \
    try {                                                                                   \
      (void)(expression);                                                                   \
    } catch (const ::bactrian::Error& error) {                                              \
      check_thrown = true;                                                                  \
      if (error.code() != (expected_code) ||                                                \
          std::string(error.what()).find(text) == std::string::npos) {                      \
        ::bactrian::test::fail_check(__FILE__, __LINE__,                                    \
                                     std::string(#expression " threw ") +                   \
                                         ::bactrian::error_code_name(error.code()) + ": " + \
                                         error.what());                                     \
      }                                                                                     \
    }                                                                                       \
    if (!check_thrown)                                                                      \
      ::bactrian::test::fail_check(__FILE__, __LINE__, #expression " did not throw");       \
  } while (false)
