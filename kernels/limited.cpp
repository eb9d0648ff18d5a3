#include "kernels/limited.h"

namespace rill::kernels {

void limit_rows(float* x, int64_t rows, int64_t columns, int64_t row_stride, float lo,
                float hi) noexcept {
  for (int64_t r = 0; r < rows; ++r, x += row_stride) {
    for (int64_t i = 0; i < columns; ++i) x[i] = limited(x[i], lo, hi, true);
  }
}

}  // namespace rill::kernels
