find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 CONFIG QUIET)
if(NOT pybind11_FOUND)
  # A pybind11 installed by pip knows where its CMake files are.
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
    OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(pybind11 CONFIG REQUIRED)
endif()

pybind11_add_module(_core MODULE
  bind/module.cc
  bind/bind_batch.cc
  bind/bind_context.cc
  bind/bind_error.cc
  bind/bind_gguf.cc
  bind/bind_info.cc
  bind/bind_model.cc
  bind/bind_quant.cc
  bind/bind_sampler.cc
  bind/sampler_params.cc
  bind/tokens.cc)
target_compile_options(_core PRIVATE
  -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${BACTRIAN_WERROR}>:-Werror>)
target_compile_definitions(_core PRIVATE
  BACTRIAN_VERSION="${PROJECT_VERSION}"
  BACTRIAN_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
  BACTRIAN_BUILD_TYPE="${CMAKE_BUILD_TYPE}")
# The module is where the parts meet: it alone chooses the backend.
set(private ${CMAKE_CURRENT_BINARY_DIR}/private/_core)
file(MAKE_DIRECTORY ${private})
file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/bind ${private}/bind SYMBOLIC)
target_include_directories(_core PRIVATE ${private})
target_link_libraries(_core PRIVATE
  bactrian_runtime bactrian_backend_cpu bactrian_kernels bactrian_quant bactrian_sample)
install(TARGETS _core DESTINATION bactrian)
