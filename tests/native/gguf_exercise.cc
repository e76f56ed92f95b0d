#include "gguf_exercise.h"

#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "gguf/reader.h"

namespace bactrian::test {
namespace {

/// Reads every byte of a value, for the sanitizers to see.
struct Touch {
  uint64_t& sum;

  void operator()(std::string_view text) const {
    for (const char c : text) sum += static_cast<uint8_t>(c);
  }
  void operator()(const MetadataArray& array) const { std::visit(*this, array); }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    for (const T& value : values) (*this)(value);
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(T value) const {
    sum += value != 0;
  }
};

void require(bool condition) {
  if (!condition) std::abort();
}

void check_contract(const GgufFile& file, std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (const auto& [key, value] : file.metadata()) {
    require(file.find(key) == &value);
    Touch{sum}(key);
    std::visit(Touch{sum}, value);
  }
  size_t total = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    require(file.find_tensor(tensor.name) == &tensor);
    require(tensor.dims.size() >= 1 && tensor.dims.size() <= 4 && tensor.n_elements() >= 1);
    const DTypeInfo& type = dtype_info(tensor.dtype);
    require(std::cmp_equal(type.row_bytes(tensor.n_elements()), tensor.data.size()));
    total += tensor.data.size();
    for (const std::byte b : tensor.data) sum += std::to_integer<uint8_t>(b);
  }
  require(total <= bytes.size());
  volatile uint64_t sink = sum;
  static_cast<void>(sink);
}

}  // namespace

bool exercise_gguf(std::span<const std::byte> bytes) {
  try {
    check_contract(*GgufFile::parse(bytes, "fuzz"), bytes);
    return true;
  } catch (const Error& error) {
    require(std::string_view(error.what()).starts_with("fuzz: "));
    return false;
  }
}

}  // namespace bactrian::test
