#include "kernels/matmul/eigen_bench.h"

#include <Eigen/Core>

namespace rill::kernels {

void eigen_matmul(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Matrix>(c, m, n).noalias() =
      Eigen::Map<const Matrix>(a, m, k) * Eigen::Map<const Matrix>(b, k, n);
}

}  // namespace rill::kernels
