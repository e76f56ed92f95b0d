#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bactrian::test {

/// The bytes of a number as GGUF stores it. The tests run on little-endian machines only.
template <typename T>
std::string field(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline std::string text_field(const std::string& text) {
  return field<uint64_t>(text.size()) + text;
}

/// Puts GGUF files together in memory without any check, so that tests can make wrong ones.
struct GgufBuilder {
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> n_tensors;  // what the header says, by default the truth
  std::optional<uint64_t> n_keys;
  size_t alignment = 32;
  std::vector<std::string> keys;
  std::vector<std::string> tensors;
  std::string data;

  GgufBuilder& key(const std::string& name, uint32_t type, const std::string& value) {
    keys.push_back(text_field(name) + field(type) + value);
    return *this;
  }
  GgufBuilder& u32(const std::string& name, uint32_t value) { return key(name, 4, field(value)); }
  GgufBuilder& string(const std::string& name, const std::string& value) {
    return key(name, 8, text_field(value));
  }
  GgufBuilder& array(const std::string& name, uint32_t type, uint64_t count,
                     const std::string& elements) {
    return key(name, 9, field(type) + field(count) + elements);
  }

  /// Only the entry: its data is up to the caller.
  GgufBuilder& entry(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type,
                     uint64_t offset) {
    std::string entry = text_field(name) + field(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) entry += field(dim);
    tensors.push_back(entry + field(type) + field(offset));
    return *this;
  }

  /// An F32 tensor of one dimension.
  GgufBuilder& floats(const std::string& name, const std::vector<float>& values) {
    pad(data);
    entry(name, {values.size()}, 0, data.size());
    for (const float value : values) data += field(value);
    return *this;
  }

  /// Everything before the data section.
  std::string head() const {
    std::string bytes = magic + field(version) + field(n_tensors.value_or(tensors.size())) +
                        field(n_keys.value_or(keys.size()));
    for (const std::string& part : keys) bytes += part;
    for (const std::string& part : tensors) bytes += part;
    return bytes;
  }

  std::string build() const {
    std::string bytes = head();
    pad(bytes);
    bytes += data;
    pad(bytes);
    return bytes;
  }

 private:
  void pad(std::string& bytes) const {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
  }
};

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Small good files that together use every feature of the format.
std::vector<std::string> gguf_seeds();

}  // namespace bactrian::test
