#include <set>

#include "base/dtype.h"
#include "base/error.h"
#include "base/printable.h"
#include "check.h"

namespace bactrian {
namespace {

TEST(error_has_code_and_joined_message) {
  CHECK_ERROR(fail(ErrorCode::unsupported, "key ", 3, " is ", 0.5), ErrorCode::unsupported,
              "key 3 is 0.5");
}

TEST(every_error_code_has_its_own_name) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    names.insert(error_code_name(static_cast<ErrorCode>(code)));
  }
  CHECK_EQ(names.size(), 9u);
  CHECK_EQ(names.count("file_not_found"), 1u);
}

TEST(dtypes_are_found_by_id_and_by_name_in_any_case) {
  for (const DType dtype :
       {DType::F32, DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
        DType::Q8_0, DType::Q2_K, DType::Q3_K, DType::Q4_K, DType::Q5_K, DType::Q6_K, DType::IQ4_NL,
        DType::IQ4_XS, DType::MXFP4}) {
    const DTypeInfo& info = dtype_info(dtype);
    CHECK(info.dtype == dtype);
    CHECK(find_dtype(static_cast<uint32_t>(dtype)) == &info);
    CHECK(find_dtype(info.name) == &info);
    CHECK(dtype_names().find(info.name) != std::string_view::npos);
  }
  CHECK(find_dtype("q4_k")->dtype == DType::Q4_K);
  CHECK(find_dtype("Q4_") == nullptr);
  CHECK(find_dtype("") == nullptr);
  CHECK(find_dtype(4u) == nullptr);
  CHECK(find_dtype(0xffffffffu) == nullptr);
}

TEST(dtype_rows_are_whole_blocks) {
  CHECK_EQ(dtype_info(DType::F32).row_bytes(3), 12);
  CHECK_EQ(dtype_info(DType::Q4_1).row_bytes(576), 18 * 20);
  CHECK_EQ(dtype_info(DType::Q6_K).row_bytes(512), 2 * 210);
}

TEST(printable_keeps_utf8_and_shows_all_else_as_hex) {
  CHECK_EQ(printable("naïve – 骆驼 🐫"), "naïve – 骆驼 🐫");
  CHECK_EQ(printable("a\nb\x7f"), "a\\x0ab\\x7f");
  CHECK_EQ(printable(std::string_view("\0", 1)), "\\x00");
  CHECK_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  CHECK_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  CHECK_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  CHECK_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  CHECK_EQ(printable("\xe9\xaa"), "\\xe9\\xaa");                    // cut short
}

TEST(printable_cuts_long_text_between_characters) {
  CHECK_EQ(printable("abcd", 4), "abcd");
  CHECK_EQ(printable("abcde", 4), "abcd...");
  CHECK_EQ(printable("äöü", 3), "äö...");
}

}  // namespace
}  // namespace bactrian
