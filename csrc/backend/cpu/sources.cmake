bactrian_component(backend/cpu SOURCES
  backend/cpu/attention_op.cc
  backend/cpu/cpu_backend.cc
  backend/cpu/kv_store.cc
  backend/cpu/memory.cc
  backend/cpu/weight.cc
  backend/cpu/workers.cc
  DEPENDS backend kernels quant base)
# As in kernels/: no fused multiply-add unless written.
target_compile_options(bactrian_backend_cpu PRIVATE -ffp-contract=off)
