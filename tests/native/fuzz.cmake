# Open-ended fuzzing with clang's libFuzzer; the bounded run of the tests is gguf_fuzz_test.cc.
#
#   cmake -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DBACTRIAN_FUZZ=ON -DBACTRIAN_PYTHON=OFF
#   cmake --build build/fuzz --target fuzz_gguf gguf_corpus
#   build/fuzz/tests/native/fuzz_gguf -max_total_time=300 build/fuzz/tests/native/gguf_corpus
#
# The reader's sources are compiled again here, with the coverage counters that guide the search.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "BACTRIAN_FUZZ needs clang (set CMAKE_CXX_COMPILER=clang++): "
    "${CMAKE_CXX_COMPILER_ID} has no libFuzzer")
endif()

find_package(Threads REQUIRED)
file(GLOB reader_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/csrc/base/*.cc ${PROJECT_SOURCE_DIR}/csrc/gguf/*.cc)
add_executable(fuzz_gguf fuzz_gguf.cc gguf_exercise.cc ${reader_sources})
target_include_directories(fuzz_gguf PRIVATE ${PROJECT_SOURCE_DIR}/csrc ${CMAKE_CURRENT_SOURCE_DIR})
set(fuzz_flags -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
target_compile_options(fuzz_gguf PRIVATE ${fuzz_flags})
target_link_options(fuzz_gguf PRIVATE ${fuzz_flags})
target_link_libraries(fuzz_gguf PRIVATE Threads::Threads)

add_executable(write_gguf_seeds write_gguf_seeds.cc gguf_seeds.cc)
set(corpus ${CMAKE_CURRENT_BINARY_DIR}/gguf_corpus)
add_custom_target(gguf_corpus
  COMMAND ${CMAKE_COMMAND} -E make_directory ${corpus}
  COMMAND write_gguf_seeds ${corpus})
