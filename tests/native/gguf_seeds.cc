#include "gguf_builder.h"

namespace bactrian::test {
namespace {

GgufBuilder scalars() {
  GgufBuilder file;
  file.key("u8", 0, field<uint8_t>(200)).key("i8", 1, field<int8_t>(-100));
  file.key("u16", 2, field<uint16_t>(60000)).key("i16", 3, field<int16_t>(-30000));
  file.key("u32", 4, field(4000000000u)).key("i32", 5, field(-2000000000));
  file.key("f32", 6, field(0.5f)).key("bool", 7, field<uint8_t>(1));
  file.string("string", "naïve").key("u64", 10, field<uint64_t>(INT64_MAX));
  file.key("i64", 11, field<int64_t>(INT64_MIN)).key("f64", 12, field(1e300));
  return file;
}

GgufBuilder arrays() {
  GgufBuilder file;
  file.array("u8s", 0, 3, std::string("\1\2\3")).array("i16s", 3, 1, field<int16_t>(-5));
  file.array("f32s", 6, 2, field(1.5f) + field(-2.5f)).array("f64s", 12, 1, field(0.25));
  file.array("bools", 7, 3, std::string("\1\0\1", 3)).array("none", 4, 0, "");
  file.array("strings", 8, 3, text_field("a") + text_field("") + text_field("bc"));
  file.array("u64s", 10, 1, field<uint64_t>(7)).array("i64s", 11, 1, field<int64_t>(-7));
  return file;
}

GgufBuilder tensors() {
  GgufBuilder file;
  file.string("general.architecture", "llama").u32("general.alignment", 64);
  file.alignment = 64;
  file.floats("a.weight", {1, 2, 3}).floats("b.weight", {4});
  file.entry("q4_0", {32, 2}, 2, 128).entry("q6_k", {256, 1, 1, 1}, 14, 192);
  file.data.resize(192 + 210);
  return file;
}

}  // namespace

std::vector<std::string> gguf_seeds() {
  GgufBuilder old = tensors();
  old.version = 2;
  GgufBuilder part = tensors();
  part.key("split.no", 2, field<uint16_t>(0)).key("split.count", 2, field<uint16_t>(3));
  part.key("split.tensors.count", 5, field(4));
  return {GgufBuilder().build(), scalars().build(), arrays().build(),
          tensors().build(),     old.build(),       part.build()};
}

}  // namespace bactrian::test
