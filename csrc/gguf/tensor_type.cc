#include "gguf/tensor_type.h"

#include <string_view>

#include "base/dtype.h"

namespace bactrian {
namespace {

struct ForeignType {
  uint32_t file_id;
  std::string_view name;
  bool removed;  // from GGUF itself: no current program reads it
};

constexpr ForeignType kForeignTypes[] = {
    {4, "Q4_2", true},        {5, "Q4_3", true},        {9, "Q8_1", false},
    {15, "Q8_K", false},      {16, "IQ2_XXS", false},   {17, "IQ2_XS", false},
    {18, "IQ3_XXS", false},   {19, "IQ1_S", false},     {21, "IQ3_S", false},
    {22, "IQ2_S", false},     {24, "I8", false},        {25, "I16", false},
    {26, "I32", false},       {27, "I64", false},       {28, "F64", false},
    {29, "IQ1_M", false},     {31, "Q4_0_4_4", true},   {32, "Q4_0_4_8", true},
    {33, "Q4_0_8_8", true},   {34, "TQ1_0", false},     {35, "TQ2_0", false},
    {36, "IQ4_NL_4_4", true}, {37, "IQ4_NL_4_8", true}, {38, "IQ4_NL_8_8", true},
    {40, "NVFP4", false},     {41, "Q1_0", false},      {42, "Q2_0", false},
};

}  // namespace

std::string describe_unsupported_type(uint32_t file_id) {
  std::string type = "type " + std::to_string(file_id);
  std::string reason = ", which is not supported";
  for (const ForeignType& foreign : kForeignTypes) {
    if (foreign.file_id != file_id) continue;
    type = "type " + std::string(foreign.name) + " (" + std::to_string(file_id) + ")";
    if (foreign.removed) reason = ", which was removed from GGUF; convert the model again";
  }
  return "has " + type + reason + "; supported: " + std::string(dtype_names());
}

}  // namespace bactrian
