#include "base/error.h"
#include "check.h"
#include "gguf/reader.h"
#include "gguf_builder.h"
#include "temp_folder.h"

namespace bactrian::test {
namespace {

/// Part `number` (0-based) of a model of `count` parts with one tensor each.
GgufBuilder part(int number, int count = 3) {
  GgufBuilder file;
  if (number == 0) file.string("general.architecture", "llama").string("general.name", "Camel");
  file.key("split.no", 2, field(static_cast<uint16_t>(number)));
  file.key("split.count", 2, field(static_cast<uint16_t>(count)));
  file.key("split.tensors.count", 5, field(count));
  const auto value = static_cast<float>(number);
  return file.floats("t" + std::to_string(number), {value, value});
}

/// A folder with the three parts of a model.
class SplitModel {
 public:
  SplitModel() {
    for (int i = 0; i < 3; ++i) write(i, part(i));
  }
  std::string write(int number, const GgufBuilder& file) {
    return folder.write(name(number), file.build());
  }
  static std::string name(int number) {
    return "my model-0000" + std::to_string(number + 1) + "-of-00003.gguf";
  }
  std::string path(int number) const { return folder.path() + "/" + name(number); }
  auto open(int number = 0) const { return GgufFile::open(path(number)); }

  TempFolder folder;
};

void check_complete(const GgufFile& file) {
  CHECK_EQ(file.tensors().size(), 3u);
  CHECK_EQ(file.paths().size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const TensorInfo& tensor = file.tensors()[static_cast<size_t>(i)];
    CHECK_EQ(tensor.name, "t" + std::to_string(i));
    CHECK_EQ(*reinterpret_cast<const float*>(tensor.data.data()), static_cast<float>(i));
  }
  CHECK_EQ(file.require_string("general.name"), "Camel");
}

TEST(split_model_opens_from_its_first_part) {
  const SplitModel model;
  const auto file = model.open();
  check_complete(*file);
  CHECK(file->paths().back() == model.path(2));
}

TEST(split_later_part_names_the_first) {
  const SplitModel model;
  CHECK_ERROR(model.open(1), ErrorCode::invalid_argument,
              "is part 2 of 3 of a split model; load the first part: " + model.path(0));
  CHECK_ERROR(GgufFile::open(model.folder.write("renamed.gguf", part(2).build())),
              ErrorCode::invalid_argument,
              "load the first part: the file whose name ends with -00001-of-00003.gguf");
}

TEST(split_missing_part_is_named) {
  for (const int missing : {1, 2}) {
    const SplitModel model;
    std::filesystem::remove(model.path(missing));
    CHECK_ERROR(model.open(), ErrorCode::file_not_found,
                "missing part " + std::to_string(missing + 1) + " of 3: " + model.path(missing));
  }
}

TEST(split_part_of_another_model_is_refused) {
  SplitModel model;
  const auto with_third = [&](const GgufBuilder& third) {
    model.write(2, third);
    return model.open();
  };
  CHECK_ERROR(
      with_third(part(3, 4)), ErrorCode::bad_file,
      model.name(2) + ": should be part 3 of 3 of a split model, but says it is part 4 of 4");
  CHECK_ERROR(with_third(part(1)), ErrorCode::bad_file, "but says it is part 2 of 3");
  CHECK_ERROR(with_third(GgufBuilder().floats("t2", {1})), ErrorCode::bad_file,
              "but is a model of its own");
  CHECK_ERROR(with_third(part(2).string("general.architecture", "bert")), ErrorCode::bad_file,
              model.name(2) + ": is part 3 of 3 of another model");
  CHECK_ERROR(with_third(part(2).string("general.name", "Llama")), ErrorCode::bad_file,
              "of another model");
  GgufBuilder other_total = part(2);
  other_total.keys[2] = text_field("split.tensors.count") + field(5u) + field(9);
  CHECK_ERROR(with_third(other_total), ErrorCode::bad_file, "of another model");
  CHECK_ERROR(with_third(part(2).floats("more", {1})), ErrorCode::bad_file,
              "key split.tensors.count is 3, but the 3 parts hold 4 tensors");
  GgufBuilder repeats = part(2);
  repeats.tensors.clear();
  CHECK_ERROR(with_third(repeats.floats("t0", {1})), ErrorCode::bad_file,
              "tensor t0 appears more than once");
  check_complete(*with_third(part(2).string("general.name", "Camel")));
}

TEST(split_damaged_part_is_named) {
  SplitModel model;
  model.folder.write(model.name(1), part(1).build().substr(0, 60));
  CHECK_ERROR(model.open(), ErrorCode::bad_file, model.name(1) + ": ");
  model.folder.write(model.name(1), "");
  CHECK_ERROR(model.open(), ErrorCode::bad_file, model.name(1) + ": the file is empty");
}

TEST(split_renamed_first_part_says_which_name_is_needed) {
  const SplitModel model;
  const std::string renamed = model.folder.path() + "/model.gguf";
  std::filesystem::copy_file(model.path(0), renamed);
  CHECK_ERROR(GgufFile::open(renamed), ErrorCode::bad_file,
              "its name must end with -00001-of-00003.gguf");
}

TEST(split_parts_joined_into_one_file_are_refused) {
  const SplitModel model;
  const std::string joined = part(0).build() + part(1).build() + part(2).build();
  for (const std::string& name : {std::string("joined.gguf"), SplitModel::name(0)}) {
    CHECK_ERROR(GgufFile::open(model.folder.write(name, joined)), ErrorCode::bad_file,
                "parts of a split model must stay separate files");
  }
}

TEST(split_keys_that_contradict_each_other_are_refused) {
  SplitModel model;
  CHECK_ERROR(GgufFile::open(model.write(0, part(3))), ErrorCode::bad_file,
              "key split.no is 3, but must lie between 0 and 2");
  CHECK_ERROR(GgufFile::open(model.write(0, part(0, 4))), ErrorCode::bad_file,
              "its name must end with -00001-of-00004.gguf");
}

TEST(split_model_opens_through_links) {
  const SplitModel model;
  // One link that leads to the first part.
  const std::string link = model.folder.path() + "/link.gguf";
  std::filesystem::create_symlink(model.path(0), link);
  check_complete(*GgufFile::open(link));
  // A cache: each name is a link to a blob without a telling name.
  const TempFolder cache;
  for (int i = 0; i < 3; ++i) {
    const std::string blob = cache.write("blobs/" + std::to_string(i), part(i).build());
    std::filesystem::create_directories(cache.path() + "/snapshot");
    std::filesystem::create_symlink(blob, cache.path() + "/snapshot/" + SplitModel::name(i));
  }
  check_complete(*GgufFile::open(cache.path() + "/snapshot/" + SplitModel::name(0)));
}

TEST(split_name_alone_makes_no_split_model) {
  const TempFolder folder;
  const std::string path =
      folder.write("m-00001-of-00002.gguf", GgufBuilder().floats("t", {1}).build());
  CHECK_EQ(GgufFile::open(path)->tensors().size(), 1u);
  const std::string single = folder.write("one.gguf", part(0, 1).build());
  CHECK_EQ(GgufFile::open(single)->tensors().size(), 1u);
}

}  // namespace
}  // namespace bactrian::test
