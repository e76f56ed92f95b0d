#include "gguf/reader.h"

#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "gguf/name_index.h"
#include "gguf/part.h"
#include "gguf/split.h"

namespace bactrian {

int64_t TensorInfo::n_elements() const noexcept {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

struct GgufFile::Impl {
  std::string path;
  std::vector<std::unique_ptr<MappedFile>> files;  // none if the bytes are the caller's
  uint32_t version = 0;
  Metadata metadata;
  std::vector<TensorInfo> tensors;
  NameIndex tensor_index;

  void take_first(Part part) {
    version = part.version;
    metadata = std::move(part.metadata);
    tensors = std::move(part.tensors);
  }

  const MappedFile& map(const std::string& file) {
    return *files.emplace_back(std::make_unique<MappedFile>(file));
  }

  void add_other_parts(const SplitInfo& info) {
    int64_t number = 1;
    for (const std::string& other : other_parts(path, info)) {
      Part part = parse_part(map(other).bytes(), other);
      check_part(metadata, part.metadata, other, ++number);
      std::ranges::move(part.tensors, std::back_inserter(tensors));
    }
    constexpr std::string_view kKey = "split.tensors.count";
    const auto expected = metadata.integer(kKey, 0, std::numeric_limits<int64_t>::max());
    if (expected && std::cmp_not_equal(*expected, tensors.size())) {
      fail(ErrorCode::bad_file, printable(path), ": key ", kKey, " is ", *expected, ", but the ",
           info.count, " parts hold ", tensors.size(), " tensors; one belongs to another model");
    }
  }

  void index_tensors() {
    tensor_index = NameIndex(tensors, &TensorInfo::name);
    if (const auto name = tensor_index.duplicate()) {
      fail(ErrorCode::bad_file, printable(path), ": tensor ", printable(*name, 128),
           " appears more than once");
    }
  }

  template <typename T>
  T require(std::optional<T> value, std::string_view key) const {
    if (!value) fail(ErrorCode::bad_file, printable(path), ": key ", key, " is missing");
    return *std::move(value);
  }
};

GgufFile::GgufFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GgufFile::~GgufFile() = default;

std::shared_ptr<const GgufFile> GgufFile::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->take_first(parse_part(impl->map(path).bytes(), path));
  if (const auto split = read_split_info(impl->metadata)) impl->add_other_parts(*split);
  impl->index_tensors();
  return std::shared_ptr<const GgufFile>(new GgufFile(std::move(impl)));
}

std::shared_ptr<const GgufFile> GgufFile::parse(std::span<const std::byte> bytes,
                                                const std::string& name) {
  auto impl = std::make_unique<Impl>();
  impl->path = name;
  impl->take_first(parse_part(bytes, name));
  if (read_split_info(impl->metadata)) {
    fail(ErrorCode::invalid_argument, printable(name),
         ": is part of a split model, which can only be read from files");
  }
  impl->index_tensors();
  return std::shared_ptr<const GgufFile>(new GgufFile(std::move(impl)));
}

const std::string& GgufFile::path() const noexcept { return impl_->path; }

std::vector<std::string> GgufFile::paths() const {
  std::vector<std::string> all;
  for (const auto& file : impl_->files) all.push_back(file->path());
  return all;
}

uint32_t GgufFile::version() const noexcept { return impl_->version; }

std::span<const GgufFile::KeyValue> GgufFile::metadata() const noexcept {
  return impl_->metadata.pairs();
}

std::span<const TensorInfo> GgufFile::tensors() const noexcept { return impl_->tensors; }

const MetadataValue* GgufFile::find(std::string_view key) const noexcept {
  return impl_->metadata.find(key);
}

const TensorInfo* GgufFile::find_tensor(std::string_view name) const noexcept {
  const auto position = impl_->tensor_index.find(name);
  return position ? &impl_->tensors[*position] : nullptr;
}

int64_t GgufFile::integer(std::string_view key, int64_t min, int64_t max, int64_t fallback) const {
  return impl_->metadata.integer(key, min, max).value_or(fallback);
}

int64_t GgufFile::require_integer(std::string_view key, int64_t min, int64_t max) const {
  return impl_->require(impl_->metadata.integer(key, min, max), key);
}

double GgufFile::number(std::string_view key, double fallback) const {
  return impl_->metadata.number(key).value_or(fallback);
}

double GgufFile::require_number(std::string_view key) const {
  return impl_->require(impl_->metadata.number(key), key);
}

bool GgufFile::boolean(std::string_view key, bool fallback) const {
  return impl_->metadata.boolean(key).value_or(fallback);
}

std::string GgufFile::string(std::string_view key, std::string_view fallback) const {
  return impl_->metadata.string(key).value_or(std::string(fallback));
}

std::string GgufFile::require_string(std::string_view key) const {
  return impl_->require(impl_->metadata.string(key), key);
}

}  // namespace bactrian
