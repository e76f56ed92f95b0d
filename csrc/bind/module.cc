#include "bind/bind.h"

PYBIND11_MODULE(_core, m) {
  m.doc() = "The native engine of bactrian: token ids in, logits or vectors out.";
  bactrian::bind_error(m);
  bactrian::bind_info(m);
  bactrian::bind_quant(m);
  bactrian::bind_gguf(m);
  bactrian::bind_model(m);
  bactrian::bind_batch(m);
  bactrian::bind_context(m);
  bactrian::bind_sampler(m);
}
