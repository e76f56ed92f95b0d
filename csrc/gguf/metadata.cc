#include "gguf/metadata.h"

#include <limits>
#include <utility>

namespace bactrian {
namespace {

/// Value types as the file numbers them.
enum class ValueType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

ValueType read_type(Cursor& in) {
  const auto type = in.read<uint32_t>();
  if (type > static_cast<uint32_t>(ValueType::f64)) {
    in.fail_here(ErrorCode::bad_file, "has value type ", type, ", but GGUF defines only 0 to 12");
  }
  return static_cast<ValueType>(type);
}

int64_t read_u64(Cursor& in) {
  const auto value = in.read<uint64_t>();
  if (!std::in_range<int64_t>(value)) {
    in.fail_here(ErrorCode::bad_file, "holds ", value, ", but integers must stay below 2^63");
  }
  return static_cast<int64_t>(value);
}

/// One value that is not an array.
MetadataValue read_scalar(Cursor& in, ValueType type) {
  switch (type) {
    case ValueType::u8:
      return int64_t{in.read<uint8_t>()};
    case ValueType::i8:
      return int64_t{in.read<int8_t>()};
    case ValueType::u16:
      return int64_t{in.read<uint16_t>()};
    case ValueType::i16:
      return int64_t{in.read<int16_t>()};
    case ValueType::u32:
      return int64_t{in.read<uint32_t>()};
    case ValueType::i32:
      return int64_t{in.read<int32_t>()};
    case ValueType::u64:
      return read_u64(in);
    case ValueType::i64:
      return in.read<int64_t>();
    case ValueType::f32:
      return double{in.read<float>()};
    case ValueType::f64:
      return in.read<double>();
    case ValueType::boolean:
      return in.read<uint8_t>() != 0;
    case ValueType::string:
      return in.read_string();
    case ValueType::array:
      break;
  }
  in.fail_here(ErrorCode::bad_file, "is an array of arrays, which GGUF does not allow");
}

size_t file_bytes(ValueType type) {
  switch (type) {
    case ValueType::u8:
    case ValueType::i8:
    case ValueType::boolean:
      return 1;
    case ValueType::u16:
    case ValueType::i16:
      return 2;
    case ValueType::u32:
    case ValueType::i32:
    case ValueType::f32:
      return 4;
    default:
      return 8;
  }
}

template <typename T>
MetadataArray read_elements(Cursor& in, ValueType type) {
  const uint64_t count = in.read_count("elements", file_bytes(type), sizeof(T));
  std::vector<T> elements;
  elements.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) {
    elements.push_back(std::get<T>(read_scalar(in, type)));
  }
  return elements;
}

MetadataArray read_array(Cursor& in) {
  const ValueType type = read_type(in);
  switch (type) {
    case ValueType::f32:
    case ValueType::f64:
      return read_elements<double>(in, type);
    case ValueType::boolean:
      return read_elements<bool>(in, type);
    case ValueType::string:
      return read_elements<std::string_view>(in, type);
    default:
      return read_elements<int64_t>(in, type);
  }
}

MetadataValue read_value(Cursor& in) {
  const ValueType type = read_type(in);
  if (type == ValueType::array) return read_array(in);
  return read_scalar(in, type);
}

std::string_view kind_name(const MetadataValue& value) {
  static constexpr std::string_view kNames[] = {"an integer", "a number", "a boolean", "a string",
                                                "an array"};
  static_assert(std::size(kNames) == std::variant_size_v<MetadataValue>);
  return kNames[value.index()];
}

}  // namespace

Metadata::Metadata(Cursor& in, uint64_t n_keys) : file_(in.file()) {
  pairs_.reserve(static_cast<size_t>(n_keys));
  for (uint64_t i = 0; i < n_keys; ++i) {
    in.enter("key", i, n_keys);
    const std::string_view key = in.read_name();
    pairs_.push_back({key, read_value(in)});
  }
  index_ = NameIndex(pairs_, &GgufFile::KeyValue::key);
  if (const auto key = index_.duplicate()) {
    fail(ErrorCode::bad_file, printable(file_), ": key ", printable(*key, 128),
         " appears more than once");
  }
}

const MetadataValue* Metadata::find(std::string_view key) const noexcept {
  const auto position = index_.find(key);
  return position ? &pairs_[*position].value : nullptr;
}

template <typename T>
std::optional<T> Metadata::get(std::string_view key, const char* wanted) const {
  const MetadataValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const T* typed = std::get_if<T>(value)) return *typed;
  fail(ErrorCode::bad_file, printable(file_), ": key ", key, " is ", kind_name(*value),
       ", but must be ", wanted);
}

std::optional<int64_t> Metadata::integer(std::string_view key, int64_t min, int64_t max) const {
  const auto value = get<int64_t>(key, "an integer");
  if (value && (*value < min || *value > max)) {
    fail(ErrorCode::bad_file, printable(file_), ": key ", key, " is ", *value,
         ", but must lie between ", min, " and ", max);
  }
  return value;
}

std::optional<double> Metadata::number(std::string_view key) const {
  const MetadataValue* value = find(key);
  if (value != nullptr && std::holds_alternative<int64_t>(*value)) {
    return static_cast<double>(std::get<int64_t>(*value));
  }
  return get<double>(key, "a number");
}

std::optional<bool> Metadata::boolean(std::string_view key) const {
  return get<bool>(key, "a boolean");
}

std::optional<std::string> Metadata::string(std::string_view key) const {
  const auto value = get<std::string_view>(key, "a string");
  return value ? std::optional(std::string(*value)) : std::nullopt;
}

}  // namespace bactrian
