#pragma once

#include <cstdint>

namespace rill::kernels {

/// Compute C = A B with Eigen, all dense and row-major, as the peer in the bench. Built for the CPU
/// of the machine that compiles it.
void eigen_matmul(int64_t m, int64_t k, int64_t n, const float* a, const float* b, float* c);

}  // namespace rill::kernels
