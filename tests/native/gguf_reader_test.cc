#include "base/error.h"
#include "check.h"
#include "gguf/reader.h"
#include "gguf_builder.h"
#include "temp_folder.h"

namespace bactrian::test {
namespace {

std::shared_ptr<const GgufFile> parse(const std::string& bytes) {
  return GgufFile::parse(as_bytes(bytes), "m.gguf");
}

std::shared_ptr<const GgufFile> parse(const GgufBuilder& file) {
  static std::string bytes;  // the file keeps views of it
  bytes = file.build();
  return parse(bytes);
}

GgufBuilder one_tensor(const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset = 0,
                       size_t data_bytes = 0) {
  GgufBuilder file;
  file.entry("t", dims, type, offset);
  file.data.resize(data_bytes);
  return file;
}

// ---- what is read

TEST(reader_widens_scalars) {
  const std::string bytes = gguf_seeds()[1];
  const auto file = parse(bytes);
  CHECK_EQ(file->metadata().size(), 12u);
  CHECK_EQ(file->require_integer("u8", 0, 255), 200);
  CHECK_EQ(file->require_integer("i8", -128, 127), -100);
  CHECK_EQ(file->require_integer("u16", 0, 65535), 60000);
  CHECK_EQ(file->require_integer("i16", -32768, 0), -30000);
  CHECK_EQ(file->require_integer("u32", 0, INT64_MAX), 4000000000);
  CHECK_EQ(file->require_integer("i32", INT64_MIN, 0), -2000000000);
  CHECK_EQ(file->require_integer("u64", 0, INT64_MAX), INT64_MAX);
  CHECK_EQ(file->require_integer("i64", INT64_MIN, 0), INT64_MIN);
  CHECK_EQ(file->require_number("f32"), 0.5);
  CHECK_EQ(file->require_number("f64"), 1e300);
  CHECK_EQ(file->boolean("bool", false), true);
  CHECK_EQ(file->require_string("string"), "naïve");
}

TEST(reader_widens_arrays) {
  const std::string bytes = gguf_seeds()[2];
  const auto file = parse(bytes);
  const auto array = [&]<typename T>(const char* key, std::vector<T> wanted) {
    return std::get<std::vector<T>>(std::get<MetadataArray>(*file->find(key))) == wanted;
  };
  CHECK(array("u8s", std::vector<int64_t>{1, 2, 3}));
  CHECK(array("i16s", std::vector<int64_t>{-5}));
  CHECK(array("u64s", std::vector<int64_t>{7}));
  CHECK(array("i64s", std::vector<int64_t>{-7}));
  CHECK(array("none", std::vector<int64_t>{}));
  CHECK(array("f32s", std::vector<double>{1.5, -2.5}));
  CHECK(array("f64s", std::vector<double>{0.25}));
  CHECK(array("bools", std::vector<bool>{true, false, true}));
  CHECK(array("strings", std::vector<std::string_view>{"a", "", "bc"}));
}

TEST(reader_places_tensors) {
  for (const size_t seed : {3u, 4u}) {
    const std::string bytes = gguf_seeds()[seed];
    const auto file = parse(bytes);
    CHECK_EQ(file->version(), seed == 3 ? 3u : 2u);
    CHECK_EQ(file->path(), "m.gguf");
    CHECK_EQ(file->paths().size(), 0u);
    CHECK_EQ(file->tensors().size(), 4u);
    const TensorInfo& b = *file->find_tensor("b.weight");
    CHECK_EQ(*reinterpret_cast<const float*>(b.data.data()), 4.0f);
    const TensorInfo& q = *file->find_tensor("q4_0");
    CHECK(q.dtype == DType::Q4_0);
    CHECK((q.dims == std::vector<int64_t>{32, 2}));
    CHECK_EQ(q.n_elements(), 64);
    CHECK_EQ(q.data.size(), 36u);
    CHECK_EQ(file->find_tensor("q6_k")->data.size(), 210u);
    CHECK(file->find_tensor("q") == nullptr);
    CHECK(file->find("general") == nullptr);
  }
}

TEST(lookups_fall_back_only_if_the_key_is_absent) {
  const auto file = parse(GgufBuilder().u32("n", 5).string("s", "x").key("f", 6, field(1.5f)));
  CHECK_EQ(file->integer("none", 1, 9, 7), 7);
  CHECK_EQ(file->integer("n", 1, 9, 7), 5);
  CHECK_EQ(file->number("none", 0.5), 0.5);
  CHECK_EQ(file->number("n", 0.5), 5.0);
  CHECK_EQ(file->boolean("none", true), true);
  CHECK_EQ(file->string("none", "y"), "y");
  CHECK_ERROR(file->integer("n", 6, 9, 7), ErrorCode::bad_file,
              "m.gguf: key n is 5, but must lie between 6 and 9");
  CHECK_ERROR(file->integer("n", 1, 4, 7), ErrorCode::bad_file, "between 1 and 4");
  CHECK_ERROR(file->integer("f", 1, 4, 7), ErrorCode::bad_file,
              "key f is a number, but must be an integer");
  CHECK_ERROR(file->number("s", 0), ErrorCode::bad_file, "is a string, but must be a number");
  CHECK_ERROR(file->boolean("n", true), ErrorCode::bad_file, "an integer, but must be a boolean");
  CHECK_ERROR(file->string("n", ""), ErrorCode::bad_file, "an integer, but must be a string");
  CHECK_ERROR(file->require_integer("none", 0, 1), ErrorCode::bad_file, "key none is missing");
  CHECK_ERROR(file->require_number("none"), ErrorCode::bad_file, "key none is missing");
  CHECK_ERROR(file->require_string("none"), ErrorCode::bad_file, "key none is missing");
}

// ---- the header

TEST(reader_refuses_what_is_not_gguf) {
  for (const std::string& bytes : {std::string(), std::string("GGU"), std::string("# A text\n"),
                                   std::string(64, '\xa5'), std::string("ggml\3\0\0\0", 8)}) {
    CHECK_ERROR(parse(bytes), ErrorCode::bad_file, "m.gguf: is not a GGUF file");
  }
  CHECK_ERROR(parse("GGUF"), ErrorCode::bad_file, "the header runs past the end of the file");
}

TEST(reader_refuses_other_versions) {
  const auto versioned = [](uint32_t version) {
    GgufBuilder file;
    file.version = version;
    return parse(file);
  };
  CHECK_ERROR(versioned(1), ErrorCode::unsupported,
              "has GGUF version 1, which is obsolete; supported: 2 and 3");
  CHECK_ERROR(versioned(99), ErrorCode::unsupported, "has GGUF version 99; supported: 2 and 3");
  CHECK_ERROR(versioned(0), ErrorCode::unsupported, "version 0");
  CHECK_ERROR(versioned(0x03000000), ErrorCode::unsupported, "is a big-endian GGUF file");
  GgufBuilder swapped;
  swapped.magic = "FUGG";
  CHECK_ERROR(parse(swapped), ErrorCode::unsupported, "is a big-endian GGUF file");
}

TEST(reader_refuses_counts_beyond_the_file) {
  for (const uint64_t count : {uint64_t{5}, uint64_t{1} << 60, UINT64_MAX}) {
    GgufBuilder many_tensors;
    many_tensors.n_tensors = count;
    CHECK_ERROR(parse(many_tensors), ErrorCode::bad_file,
                "the header counts " + std::to_string(count) + " tensors, but only");
    GgufBuilder many_keys;
    many_keys.n_keys = count;
    CHECK_ERROR(parse(many_keys), ErrorCode::bad_file,
                "the header counts " + std::to_string(count) + " keys, but only");
  }
  GgufBuilder short_by_one = GgufBuilder().string("s", std::string(50, 'x')).u32("n", 1);
  short_by_one.n_keys = 3;
  CHECK_ERROR(parse(short_by_one.head()), ErrorCode::bad_file, "key number 3 of 3 runs past");
}

TEST(reader_refuses_more_than_the_memory_a_file_deserves) {
  // Two million one-byte elements become 16 MB, which is fine; 40 million would be 320 MB.
  const auto bytes_array = [](size_t count) {
    return parse(GgufBuilder().array("a", 0, count, std::string(count, '\1')));
  };
  const auto file = bytes_array(2'000'000);
  CHECK_EQ(file->metadata().size(), 1u);
  CHECK_ERROR(bytes_array(40'000'000), ErrorCode::bad_file,
              "key a counts 40000000 elements, more than a file of this size can sensibly hold");
}

// ---- keys

TEST(reader_refuses_damaged_keys) {
  CHECK_ERROR(parse(GgufBuilder().u32("", 1)), ErrorCode::bad_file,
              "key number 1 of 1 has an empty name");
  CHECK_ERROR(parse(GgufBuilder().u32("n", 1).u32("m", 1).u32("n", 2)), ErrorCode::bad_file,
              "key n appears more than once");
  CHECK_ERROR(parse(GgufBuilder().key("n", 13, field(0u))), ErrorCode::bad_file,
              "key n has value type 13, but GGUF defines only 0 to 12");
  CHECK_ERROR(parse(GgufBuilder().key("n", 10, field(uint64_t{1} << 63))), ErrorCode::bad_file,
              "key n holds 9223372036854775808, but integers must stay below 2^63");
  for (const uint64_t length : {uint64_t{1000}, uint64_t{1} << 63, UINT64_MAX}) {
    CHECK_ERROR(parse(GgufBuilder().key("s", 8, field(length))), ErrorCode::bad_file,
                "key s runs past the end of the file");
    GgufBuilder long_name;
    long_name.keys.push_back(field(length));
    CHECK_ERROR(parse(long_name), ErrorCode::bad_file, "m.gguf: ");
  }
}

TEST(reader_refuses_damaged_arrays) {
  for (const uint32_t type : {0u, 3u, 5u, 6u, 7u, 8u, 10u, 12u}) {
    for (const uint64_t count : {uint64_t{1000}, uint64_t{1} << 61, UINT64_MAX}) {
      CHECK_ERROR(parse(GgufBuilder().array("a", type, count, "")), ErrorCode::bad_file,
                  "key a counts " + std::to_string(count) + " elements, but only");
    }
  }
  CHECK_ERROR(parse(GgufBuilder().array("a", 9, 1, field(4u) + field<uint64_t>(0))),
              ErrorCode::bad_file, "key a is an array of arrays");
  CHECK_ERROR(parse(GgufBuilder().array("a", 77, 0, "")), ErrorCode::bad_file,
              "key a has value type 77");
  CHECK_ERROR(parse(GgufBuilder().array("a", 8, 2, text_field("x") + field<uint64_t>(99))),
              ErrorCode::bad_file, "key a runs past the end");
}

TEST(reader_shows_hostile_names_harmlessly) {
  CHECK_ERROR(parse(GgufBuilder().key("a\nb\xff", 13, "")), ErrorCode::bad_file,
              "key a\\x0ab\\xff has value type 13");
  CHECK_ERROR(parse(GgufBuilder().key(std::string(100000, 'n'), 13, "")), ErrorCode::bad_file,
              "nnn... has value type 13");
}

TEST(reader_refuses_senseless_alignments) {
  for (const uint32_t alignment : {0u, 1u, 4u, 24u, 33u, 1u << 21, 1u << 31}) {
    CHECK_ERROR(parse(GgufBuilder().u32("general.alignment", alignment)), ErrorCode::bad_file,
                "key general.alignment is " + std::to_string(alignment));
  }
  CHECK_ERROR(parse(GgufBuilder().string("general.alignment", "32")), ErrorCode::bad_file,
              "must be an integer");
}

// ---- tensors

TEST(reader_refuses_wrong_dimensions) {
  const uint64_t huge = uint64_t{1} << 63;
  CHECK_ERROR(parse(one_tensor({}, 0)), ErrorCode::bad_file,
              "tensor t has 0 dimensions, but must have 1 to 4");
  CHECK_ERROR(parse(one_tensor({1, 1, 1, 1, 1}, 0)), ErrorCode::bad_file, "has 5 dimensions");
  CHECK_ERROR(parse(one_tensor({0}, 0)), ErrorCode::bad_file, "has a dimension of 0 elements");
  CHECK_ERROR(parse(one_tensor({4, 0}, 0)), ErrorCode::bad_file, "has a dimension of 0 elements");
  for (const auto& dims :
       std::vector<std::vector<uint64_t>>{{huge},
                                          {huge, 2},
                                          {UINT64_MAX},
                                          {huge >> 1, 2},
                                          {huge >> 31, huge >> 31, 1, 2},
                                          {(uint64_t{1} << 42) + 1, (uint64_t{1} << 42) + 1}}) {
    CHECK_ERROR(parse(one_tensor(dims, 0)), ErrorCode::bad_file,
                "tensor t has dimensions whose product overflows 2^63 elements");
  }
  CHECK_ERROR(parse(one_tensor({huge >> 2}, 0)), ErrorCode::bad_file, "overflows 2^63 bytes");
  CHECK_ERROR(parse(one_tensor({(uint64_t{1} << 42) + 1}, 0)), ErrorCode::bad_file, "truncated");
  GgufBuilder many_dims;
  many_dims.tensors.push_back(text_field("t") + field(0xffffffffu) + std::string(64, '\1'));
  CHECK_ERROR(parse(many_dims), ErrorCode::bad_file, "tensor t has 4294967295 dimensions");
}

TEST(reader_refuses_rows_of_broken_blocks) {
  CHECK_ERROR(parse(one_tensor({33, 32}, 2, 0, 4096)), ErrorCode::bad_file,
              "tensor t has rows of 33 elements, but type Q4_0 needs a multiple of 32");
  CHECK_ERROR(parse(one_tensor({128, 2}, 12, 0, 4096)), ErrorCode::bad_file,
              "type Q4_K needs a multiple of 256");
}

TEST(reader_names_unsupported_types) {
  CHECK_ERROR(parse(one_tensor({256}, 16)), ErrorCode::unsupported,
              "m.gguf: tensor t has type IQ2_XXS (16), which is not supported; supported: F32, ");
  CHECK_ERROR(parse(one_tensor({256}, 28)), ErrorCode::unsupported, "type F64 (28)");
  CHECK_ERROR(parse(one_tensor({256}, 200)), ErrorCode::unsupported,
              "tensor t has type 200, which is not supported; supported: F32, ");
  for (const uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u}) {
    CHECK_ERROR(parse(one_tensor({256}, id)), ErrorCode::unsupported,
                "(" + std::to_string(id) + "), which was removed from GGUF; convert the model");
  }
}

TEST(reader_knows_every_type_id_up_to_the_newest) {
  for (uint32_t id = 0; id <= 42; ++id) {
    try {
      const auto file = parse(one_tensor({256}, id, 0, 1024));
      CHECK_EQ(file->tensors().size(), 1u);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::unsupported);
      CHECK(std::string(error.what()).find("(" + std::to_string(id) + ")") != std::string::npos);
    }
  }
}

TEST(reader_refuses_data_outside_the_file) {
  const auto at = [](uint64_t offset) { return parse(one_tensor({8}, 0, offset, 64)); };
  CHECK_EQ(at(32)->tensors()[0].data.size(), 32u);
  CHECK_ERROR(at(64), ErrorCode::bad_file,
              "tensor t has 32 bytes of data at offset 64, but the file holds only 64 bytes of "
              "data; the file is truncated or damaged");
  CHECK_ERROR(at(96), ErrorCode::bad_file, "at offset 96");
  CHECK_ERROR(at(UINT64_MAX - 31), ErrorCode::bad_file, "at offset 18446744073709551584");
  for (const uint64_t offset : {uint64_t{1}, uint64_t{16}, uint64_t{63}, UINT64_MAX}) {
    CHECK_ERROR(at(offset), ErrorCode::bad_file, "but offsets must be multiples of 32");
  }
  // The header alone, unpadded: the data section would begin behind the end.
  CHECK_ERROR(parse(one_tensor({8}, 0).head()), ErrorCode::bad_file, "only 0 bytes of data");
}

TEST(reader_refuses_tensors_that_share_a_name_or_data) {
  GgufBuilder same_name = GgufBuilder().floats("t", {1}).floats("u", {2}).floats("t", {3});
  CHECK_ERROR(parse(same_name), ErrorCode::bad_file, "tensor t appears more than once");
  GgufBuilder overlap = one_tensor({16}, 0, 0, 128);
  overlap.entry("u", {8}, 0, 32);
  CHECK_ERROR(parse(overlap), ErrorCode::bad_file, "tensor u overlaps another tensor");
  GgufBuilder same_data = one_tensor({8}, 0, 0, 128);
  same_data.entry("u", {8}, 0, 0);
  CHECK_ERROR(parse(same_data), ErrorCode::bad_file, "overlaps another tensor");
  GgufBuilder any_order = one_tensor({8}, 0, 64, 128);
  any_order.entry("u", {16}, 0, 0);
  CHECK_EQ(parse(any_order)->tensors().size(), 2u);
}

TEST(reader_refuses_empty_tensor_names) {
  CHECK_ERROR(parse(GgufBuilder().floats("", {1})), ErrorCode::bad_file,
              "tensor number 1 of 1 has an empty name");
}

TEST(reader_refuses_joined_files) {
  const std::string whole = gguf_seeds()[3];
  CHECK_ERROR(parse(whole + whole), ErrorCode::bad_file,
              "another GGUF file begins at byte " + std::to_string(whole.size()));
  const std::string keys_only = gguf_seeds()[1];
  CHECK_ERROR(parse(keys_only + whole), ErrorCode::bad_file, "another GGUF file begins");
  const std::string trailing = whole + std::string(100, '\0');
  CHECK_EQ(parse(trailing)->tensors().size(), 4u);
}

TEST(reader_reads_hostile_amounts_of_names_at_once) {
  // With quadratic comparisons this would take minutes.
  GgufBuilder file;
  const std::string prefix(200, 'x');
  for (int i = 0; i < 50000; ++i) file.key(prefix + std::to_string(i), 7, std::string("\1"));
  CHECK_EQ(parse(file)->metadata().size(), 50000u);
}

TEST(parse_refuses_parts_of_split_models) {
  const std::string bytes = gguf_seeds()[5];
  CHECK_ERROR(parse(bytes), ErrorCode::invalid_argument, "can only be read from files");
}

TEST(open_maps_the_file_and_keeps_it) {
  const TempFolder folder;
  const std::string path = folder.write("my \"model\" – é.gguf", gguf_seeds()[3]);
  const auto file = GgufFile::open(path);
  std::filesystem::remove(path);
  CHECK_EQ(file->path(), path);
  CHECK_EQ(file->paths().size(), 1u);
  CHECK_EQ(*reinterpret_cast<const float*>(file->find_tensor("b.weight")->data.data()), 4.0f);
  CHECK_ERROR(GgufFile::open(path), ErrorCode::file_not_found, "é.gguf: no such file");
}

}  // namespace
}  // namespace bactrian::test
