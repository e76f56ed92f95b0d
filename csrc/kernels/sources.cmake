set(kernel_sources
  kernels/attention.cc
  kernels/linear.cc
  kernels/packed.cc
  kernels/select.cc
  kernels/ref/packed.cc
  kernels/ref/table.cc)
# No fused multiply-add unless written: the same source gives the same bits with every compiler.
set_source_files_properties(${kernel_sources} PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(avx2_sources
    kernels/avx2/convert.cc
    kernels/avx2/gemm.cc
    kernels/avx2/packed_32.cc
    kernels/avx2/packed_float.cc
    kernels/avx2/packed_k.cc
    kernels/avx2/rows.cc
    kernels/avx2/table.cc)
  set_source_files_properties(${avx2_sources} PROPERTIES
    COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;-ffp-contract=off")
  set_source_files_properties(kernels/select.cc PROPERTIES
    COMPILE_DEFINITIONS BACTRIAN_HAVE_AVX2)
endif()

bactrian_component(kernels SOURCES ${kernel_sources} ${avx2_sources} DEPENDS quant base)
