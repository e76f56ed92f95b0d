#include "runtime/pooling.h"

namespace bactrian {

std::vector<int32_t> pooled_rows(Pooling pooling, std::span<const SequenceSpan> spans) {
  std::vector<int32_t> rows;
  for (const SequenceSpan& span : spans) {
    switch (pooling) {
      case Pooling::none:
      case Pooling::mean:
        for (int32_t i = 0; i < span.n_rows; ++i) rows.push_back(span.row_begin + i);
        break;
      case Pooling::cls:
        rows.push_back(span.row_begin);
        break;
      case Pooling::last:
        rows.push_back(span.row_begin + span.n_rows - 1);
        break;
    }
  }
  return rows;
}

Matrix pool(Pooling pooling, Backend& backend, Arena& arena, const DeviceStep& step,
            int64_t n_spans, Matrix hidden) {
  if (pooling != Pooling::mean) return hidden;
  const Matrix mean = arena.matrix(n_spans, hidden.n_cols);
  backend.mean_rows(hidden, step, mean);
  return mean;
}

}  // namespace bactrian
