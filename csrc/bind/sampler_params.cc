#include "bind/sampler_params.h"

#include <limits>
#include <string>
#include <utility>

#include "base/error.h"
#include "bind/bind.h"

namespace py = pybind11;

namespace bactrian {
namespace {

[[noreturn]] void fail_type(std::string_view name, const char* wanted, py::handle value) {
  fail(ErrorCode::invalid_argument, name, " must be ", wanted, ", but is ",
       py::repr(value).cast<std::string>());
}

int64_t to_integer(std::string_view name, py::handle value) {
  const auto number = PyBool_Check(value.ptr())
                          ? py::object()
                          : py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) {
    PyErr_Clear();
    fail_type(name, "an integer", value);
  }
  int overflow = 0;
  const int64_t result = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) fail_type(name, "an integer of 64 bits", value);
  return result;
}

double to_real(std::string_view name, py::handle value) {
  const double number = PyBool_Check(value.ptr()) ? -1.0 : PyFloat_AsDouble(value.ptr());
  if (PyBool_Check(value.ptr()) || PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    fail_type(name, "a number", value);
  }
  return number;
}

py::sequence to_sequence(std::string_view name, const char* wanted, py::handle value) {
  if (!py::isinstance<py::sequence>(value) || py::isinstance<py::str>(value) ||
      py::isinstance<py::bytes>(value)) {
    fail_type(name, wanted, value);
  }
  return py::reinterpret_borrow<py::sequence>(value);
}

/// (key, value) pairs of anything with items().
py::list items(std::string_view name, py::handle value) {
  if (!py::hasattr(value, "items")) fail_type(name, "a mapping", value);
  return py::list(value.attr("items")());
}

void set_number(SamplerParams& params, const NumberParam& number, py::handle value) {
  if (const auto* real = std::get_if<double SamplerParams::*>(&number.member)) {
    params.*(*real) = to_real(number.name, value);
    return;
  }
  const int64_t integer = to_integer(number.name, value);
  if (!std::in_range<int32_t>(integer)) {
    fail(ErrorCode::invalid_argument, number.name, " is ", integer, ", but must lie between ",
         static_cast<int64_t>(number.low), " and ", static_cast<int64_t>(number.high));
  }
  params.*std::get<int32_t SamplerParams::*>(number.member) = static_cast<int32_t>(integer);
}

void set_seed(SamplerParams& params, py::handle value) {
  constexpr int64_t kRandom = 0xFFFFFFFF;
  const int64_t seed = value.is_none() ? kRandom : to_integer("seed", value);
  if (seed < -1 || seed > kRandom) {
    fail(ErrorCode::invalid_argument, "seed is ", seed, ", but must lie between 0 and ",
         kRandom - 1, ", or be -1, ", kRandom, " or None for a random one");
  }
  params.seed.reset();
  if (seed != -1 && seed != kRandom) params.seed = static_cast<uint32_t>(seed);
}

void set_samplers(SamplerParams& params, py::handle value) {
  params.samplers.clear();
  for (const py::handle name : to_sequence("samplers", "a sequence of names", value)) {
    if (!py::isinstance<py::str>(name)) fail_type("samplers", "a sequence of names", value);
    params.samplers.push_back(name.cast<std::string>());
  }
}

void set_logit_bias(SamplerParams& params, py::handle value) {
  params.logit_bias.clear();
  for (const py::handle item : items("logit_bias", value)) {
    const auto pair = item.cast<py::tuple>();
    const int64_t token = to_integer("a token of logit_bias", pair[0]);
    if (!std::in_range<int32_t>(token)) {
      fail(ErrorCode::invalid_argument, "logit_bias names token ", token,
           ", but token ids are 32-bit integers");
    }
    params.logit_bias[static_cast<int32_t>(token)] = to_real("a value of logit_bias", pair[1]);
  }
}

void set_dry_sequence_breakers(SamplerParams& params, py::handle value) {
  params.dry_sequence_breakers.clear();
  for (const py::handle tokens :
       to_sequence("dry_sequence_breakers", "a sequence of token sequences", value)) {
    params.dry_sequence_breakers.push_back(to_tokens(tokens));
  }
}

std::vector<std::string> to_token_bytes(py::handle value) {
  std::vector<std::string> bytes;
  for (const py::handle token : to_sequence("token_bytes", "a sequence of bytes", value)) {
    if (!py::isinstance<py::bytes>(token)) fail_type("an entry of token_bytes", "bytes", token);
    bytes.push_back(token.cast<std::string>());
  }
  return bytes;
}

/// The parameters that are more than a number.
struct OtherParam {
  std::string_view name;
  void (*set)(SamplerParams& params, py::handle value);
};

constexpr OtherParam kOthers[] = {
    {"seed", set_seed},
    {"samplers", set_samplers},
    {"logit_bias", set_logit_bias},
    {"dry_sequence_breakers", set_dry_sequence_breakers},
};

bool set(SamplerParams& params, std::string_view name, py::handle value) {
  for (const NumberParam& number : number_params()) {
    if (number.name == name) return set_number(params, number, value), true;
  }
  for (const OtherParam& other : kOthers) {
    if (other.name == name) return other.set(params, value), true;
  }
  return false;
}

[[noreturn]] void fail_unknown(const std::string& name) {
  std::string known;
  for (const NumberParam& number : number_params()) known.append(number.name).append(", ");
  for (const OtherParam& other : kOthers) known.append(other.name).append(", ");
  fail(ErrorCode::invalid_argument, "there is no sampling parameter named \"", name,
       "\"; the parameters are: ", known, "token_bytes, end_tokens");
}

}  // namespace

SamplerParams to_sampler_params(const py::handle& mapping) {
  SamplerParams params;
  InfillVocab infill;
  bool has_infill = false;
  for (const py::handle item : items("params", mapping)) {
    const auto pair = item.cast<py::tuple>();
    if (!py::isinstance<py::str>(pair[0])) fail_type("a name of params", "a string", pair[0]);
    const auto name = pair[0].cast<std::string>();
    if (name == "token_bytes") {
      infill.token_bytes = to_token_bytes(pair[1]);
      has_infill = true;
    } else if (name == "end_tokens") {
      infill.end_tokens = to_tokens(pair[1]);
      has_infill = true;
    } else if (!set(params, name, pair[1])) {
      fail_unknown(name);
    }
  }
  if (has_infill) params.infill = std::make_shared<const InfillVocab>(std::move(infill));
  return params;
}

}  // namespace bactrian
