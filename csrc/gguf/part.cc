#include "gguf/part.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "gguf/tensor_type.h"

namespace bactrian {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr int64_t kDefaultAlignment = 32;
constexpr int64_t kMaxAlignment = int64_t{1} << 20;
constexpr uint32_t kMaxDims = 4;

// Of one tensor's entry with a name of one byte and one dimension.
constexpr size_t kMinTensorFileBytes = 8 + 1 + 4 + 8 + 4 + 8;
// The entry, its dimensions on the heap, its place and its entry in the index of names.
constexpr size_t kTensorMemoryBytes = sizeof(TensorInfo) + 128;

/// Where a tensor's data lies, relative to the data section.
struct Place {
  uint64_t offset;
  uint64_t n_bytes;
  size_t tensor;
};

bool begins_with_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

[[noreturn]] void fail_big_endian(const Cursor& in) {
  fail(ErrorCode::unsupported, printable(in.file()),
       ": is a big-endian GGUF file, which is not supported; convert it to little-endian");
}

uint32_t read_version(std::span<const std::byte> bytes, Cursor& in) {
  constexpr uint32_t kSwappedMagic = 0x47475546;  // bytes "FUGG"
  if (bytes.size() >= 4 && Cursor(bytes, in.file()).read<uint32_t>() == kSwappedMagic) {
    fail_big_endian(in);
  }
  if (!begins_with_magic(bytes)) {
    fail(ErrorCode::bad_file, printable(in.file()),
         ": is not a GGUF file; those begin with the letters GGUF");
  }
  in.read<uint32_t>();
  const auto version = in.read<uint32_t>();
  if (version == 2 || version == 3) return version;
  // A small number read with its bytes reversed.
  if (version != 0 && (version & 0xffffu) == 0) fail_big_endian(in);
  fail(ErrorCode::unsupported, printable(in.file()), ": has GGUF version ", version,
       version == 1 ? ", which is obsolete" : "", "; supported: 2 and 3");
}

uint64_t read_alignment(const Metadata& metadata, const Cursor& in) {
  constexpr std::string_view kKey = "general.alignment";
  const int64_t value = metadata.integer(kKey, 8, kMaxAlignment).value_or(kDefaultAlignment);
  if (!std::has_single_bit(static_cast<uint64_t>(value))) {
    fail(ErrorCode::bad_file, printable(in.file()), ": key ", kKey, " is ", value,
         ", but must be a power of two");
  }
  return static_cast<uint64_t>(value);
}

std::vector<int64_t> read_dims(Cursor& in) {
  const auto n_dims = in.read<uint32_t>();
  if (n_dims < 1 || n_dims > kMaxDims) {
    in.fail_here(ErrorCode::bad_file, "has ", n_dims, " dimensions, but must have 1 to ", kMaxDims);
  }
  std::vector<int64_t> dims(n_dims);
  int64_t n_elements = 1;
  for (int64_t& dim : dims) {
    const auto value = in.read<uint64_t>();
    if (value == 0) in.fail_here(ErrorCode::bad_file, "has a dimension of 0 elements");
    if (!std::in_range<int64_t>(value) ||
        __builtin_mul_overflow(n_elements, static_cast<int64_t>(value), &n_elements)) {
      in.fail_here(ErrorCode::bad_file, "has dimensions whose product overflows 2^63 elements");
    }
    dim = static_cast<int64_t>(value);
  }
  return dims;
}

/// Reads name, dimensions, type and offset; the data is placed later.
Place read_tensor(Cursor& in, TensorInfo& tensor) {
  tensor.name = in.read_name();
  tensor.dims = read_dims(in);
  const auto type = in.read<uint32_t>();
  const DTypeInfo* info = find_dtype(type);
  if (info == nullptr) in.fail_here(ErrorCode::unsupported, describe_unsupported_type(type));
  tensor.dtype = info->dtype;
  if (tensor.dims[0] % info->block_elems != 0) {
    in.fail_here(ErrorCode::bad_file, "has rows of ", tensor.dims[0], " elements, but type ",
                 info->name, " needs a multiple of ", info->block_elems);
  }
  int64_t n_bytes = 0;
  if (__builtin_mul_overflow(tensor.n_elements() / info->block_elems, info->block_bytes,
                             &n_bytes)) {
    in.fail_here(ErrorCode::bad_file, "has dimensions whose product overflows 2^63 bytes");
  }
  return {in.read<uint64_t>(), static_cast<uint64_t>(n_bytes), 0};
}

constexpr size_t round_up(size_t value, size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Names one tensor of a part in errors about its data.
template <typename... Parts>
[[noreturn]] void fail_tensor(const Cursor& in, const TensorInfo& tensor, const Parts&... parts) {
  fail(ErrorCode::bad_file, printable(in.file()), ": tensor ", printable(tensor.name, 128), " ",
       parts...);
}

/// Points each tensor at its data, the section that starts at `data_start`. Returns the offset in
/// the file behind the last tensor's data.
size_t place_tensors(std::span<const std::byte> bytes, size_t data_start, uint64_t alignment,
                     const Cursor& in, std::vector<Place>& places,
                     std::vector<TensorInfo>& tensors) {
  const size_t data_bytes = bytes.size() - std::min(bytes.size(), data_start);
  for (const Place& place : places) {
    TensorInfo& tensor = tensors[place.tensor];
    if (place.offset % alignment != 0) {
      fail_tensor(in, tensor, "has its data at offset ", place.offset,
                  ", but offsets must be multiples of ", alignment);
    }
    if (place.offset > data_bytes || place.n_bytes > data_bytes - place.offset) {
      fail_tensor(in, tensor, "has ", place.n_bytes, " bytes of data at offset ", place.offset,
                  ", but the file holds only ", data_bytes,
                  " bytes of data; the file is truncated or damaged");
    }
    tensor.data = bytes.subspan(data_start + static_cast<size_t>(place.offset),
                                static_cast<size_t>(place.n_bytes));
  }
  // Shared data would let a small file ask for any amount of memory at load.
  std::ranges::sort(places, {}, &Place::offset);
  uint64_t end = 0;
  for (const Place& place : places) {
    if (place.offset < end) fail_tensor(in, tensors[place.tensor], "overlaps another tensor");
    end = place.offset + place.n_bytes;
  }
  return data_start + static_cast<size_t>(end);
}

/// `end` is where the file should end, before or after padding.
void check_nothing_joined(std::span<const std::byte> bytes, size_t end, uint64_t alignment,
                          const Cursor& in) {
  for (const size_t next : {end, round_up(end, static_cast<size_t>(alignment))}) {
    if (next < bytes.size() && begins_with_magic(bytes.subspan(next))) {
      fail(ErrorCode::bad_file, printable(in.file()), ": another GGUF file begins at byte ", next,
           "; parts of a split model must stay separate files, of which the first is loaded");
    }
  }
}

}  // namespace

Part parse_part(std::span<const std::byte> bytes, std::string_view file) {
  Cursor in(bytes, file);
  Part part;
  part.version = read_version(bytes, in);
  const uint64_t n_tensors = in.read_count("tensors", kMinTensorFileBytes, kTensorMemoryBytes);
  const uint64_t n_keys = in.read_count("keys", Metadata::kMinFileBytes, Metadata::kMemoryBytes);
  part.metadata = Metadata(in, n_keys);
  const uint64_t alignment = read_alignment(part.metadata, in);

  part.tensors.resize(static_cast<size_t>(n_tensors));
  std::vector<Place> places;
  places.reserve(part.tensors.size());
  for (size_t i = 0; i < part.tensors.size(); ++i) {
    in.enter("tensor", i, n_tensors);
    places.push_back(read_tensor(in, part.tensors[i]));
    places.back().tensor = i;
  }
  const size_t data_start = round_up(in.offset(), static_cast<size_t>(alignment));
  const size_t end = part.tensors.empty()
                         ? in.offset()
                         : place_tensors(bytes, data_start, alignment, in, places, part.tensors);
  check_nothing_joined(bytes, end, alignment, in);
  return part;
}

}  // namespace bactrian
