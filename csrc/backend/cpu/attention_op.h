#pragma once

#include "backend/backend.h"
#include "backend/cpu/handles.h"
#include "backend/cpu/kv_store.h"
#include "backend/cpu/workers.h"

namespace bactrian {

// Backend::attention_cached and Backend::attention_packed. Both feed the same pages of 64 keys to
// kernels/attention.h; only where a page comes from differs.

void attention_cached(Workers& workers, const Kernels& kernels, const AttentionShape& shape,
                      const CpuKvStore& store, int layer, const Step& step, HostMatrix q,
                      HostMatrix out);

void attention_packed(Workers& workers, const Kernels& kernels, const AttentionShape& shape,
                      const Step& step, HostMatrix q, HostMatrix k, HostMatrix v, HostMatrix out);

}  // namespace bactrian
