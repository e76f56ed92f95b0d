bactrian_component(quant SOURCES
  quant/format.cc
  quant/bf16.cc
  quant/f16.cc
  quant/f32.cc
  quant/iq4_nl.cc
  quant/iq4_xs.cc
  quant/mxfp4.cc
  quant/q2_k.cc
  quant/q3_k.cc
  quant/q4_0.cc
  quant/q4_1.cc
  quant/q4_k.cc
  quant/q5_0.cc
  quant/q5_1.cc
  quant/q5_k.cc
  quant/q6_k.cc
  quant/q8_0.cc
  DEPENDS base)
# A product and the sum after it round apart, as in the reference.
target_compile_options(bactrian_quant PRIVATE -ffp-contract=off)
