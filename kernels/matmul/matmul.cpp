#include "kernels/matmul/matmul.h"

#include <cstring>

#include "kernels/limited.h"
#include "kernels/simd/chains.h"

namespace rill::kernels {
namespace {

constexpr int kScalarNr = 8;

/// Multiply one row of A by one panel.
void scalar_tile(const MatmulF32Args& g, int64_t row, int64_t col) {
  const int64_t k = g.segments * g.segment_len;
  const int64_t cols = g.n - col < kScalarNr ? g.n - col : kScalarNr;
  const float* b = g.b + (col / kScalarNr) * k * kScalarNr;
  float* c = g.c + row * g.ldc + col;
  float sums[kScalarNr] = {};
  for (int64_t j = 0; j < cols; ++j) {
    sums[j] = g.accumulate ? c[j] : g.bias != nullptr ? g.bias[col + j] : 0.0f;
  }
  for (int64_t s = 0; s < g.segments; ++s) {
    const float* a = g.a + row * g.lda + s * g.segment_stride;
    add_chains<kScalarNr>(g.segment_len, a, b, sums);
    b += g.segment_len * kScalarNr;
  }
  for (int64_t j = 0; j < cols; ++j) {
    float v = sums[j];
    if (g.residual != nullptr) v = v + g.residual[row * g.ldr + col + j];
    v = leaked(v, g.slope);
    if (g.clip) v = limited(v, g.lo, g.hi);
    c[j] = v;
  }
}

constexpr MatmulF32 kKernels[] = {
#define RILL_KERNEL(needs, name, columns) {#name, Tier::needs, columns, name},
#include "kernels/matmul/kernels.inc"
#undef RILL_KERNEL
};

using Four = float __attribute__((vector_size(16)));

Four load4(const float* p) {
  Four v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// packed[p * nr + j] = b[p + j * n_stride] for p < 4, j < 4.
void transpose4(const float* b, int64_t n_stride, float* packed, int nr) {
  const Four r0 = load4(b), r1 = load4(b + n_stride), r2 = load4(b + 2 * n_stride),
             r3 = load4(b + 3 * n_stride);
  const Four lo01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const Four hi01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const Four lo23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const Four hi23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  const Four rows[4] = {__builtin_shufflevector(lo01, lo23, 0, 1, 4, 5),
                        __builtin_shufflevector(lo01, lo23, 2, 3, 6, 7),
                        __builtin_shufflevector(hi01, hi23, 0, 1, 4, 5),
                        __builtin_shufflevector(hi01, hi23, 2, 3, 6, 7)};
  for (int p = 0; p < 4; ++p) std::memcpy(packed + p * nr, &rows[p], sizeof(Four));
}

/// Pack nr columns whose values are contiguous along n. Return the number of packed rows of B: k.
int64_t pack_rows(int nr, int64_t k, const float* b, int64_t k_stride, float* packed) {
  for (int64_t p = 0; p < k; ++p, b += k_stride, packed += nr) {
    for (int j = 0; j < nr; j += 4) {
      const Four v = load4(b + j);
      std::memcpy(packed + j, &v, sizeof v);
    }
  }
  return k;
}

/// Pack nr columns whose values are contiguous along k. Return the number of packed rows of B, a
/// multiple of 4; the caller packs the rest.
int64_t pack_columns(int nr, int64_t k, const float* b, int64_t n_stride, float* packed) {
  // 16 values fill a cache line of each column. Taking four columns at a time uses each line
  // completely; with a power-of-two stride, the lines of all nr columns would evict each other.
  const int64_t whole = k / 4 * 4;
  for (int64_t line = 0; line < whole; line += 16) {
    const int64_t end = line + 16 < whole ? line + 16 : whole;
    for (int j = 0; j < nr; j += 4) {
      for (int64_t p = line; p < end; p += 4) {
        transpose4(b + p + j * n_stride, n_stride, packed + p * nr + j, nr);
      }
    }
  }
  return whole;
}

/// Pack `cols` <= nr columns of B into one panel.
void pack_panel(int nr, int64_t k, int64_t cols, const float* b, int64_t k_stride, int64_t n_stride,
                float* packed) {
  int64_t p = 0;
  if (cols == nr && n_stride == 1) {
    p = pack_rows(nr, k, b, k_stride, packed);
  } else if (cols == nr && k_stride == 1) {
    p = pack_columns(nr, k, b, n_stride, packed);
  }
  for (; p < k; ++p) {
    for (int64_t j = 0; j < nr; ++j) {
      packed[p * nr + j] = j < cols ? b[p * k_stride + j * n_stride] : 0.0f;
    }
  }
}

}  // namespace

void matmul_f32_scalar(const MatmulF32Args& args) noexcept {
  for (int64_t row = 0; row < args.m; ++row) {
    for (int64_t col = 0; col < args.n; col += kScalarNr) scalar_tile(args, row, col);
  }
}

KernelList<MatmulF32> kernels_like(const MatmulF32*) { return kKernels; }

const MatmulF32& matmul_f32(Tier cpu) {
  return kernels_like(static_cast<const MatmulF32*>(nullptr)).best(cpu);
}

const MatmulF32& matmul_f32_of_columns(int64_t n) {
  constexpr int64_t kLanes = 16, kMost = 40;  // beyond, the empty lanes hardly matter
  const Tier tier = active_tier();
  const int64_t over = n % kLanes;
  const bool half = over > 0 && over <= kLanes / 2 && n <= kMost;
  const bool shorter = n <= kLanes / 2 || (half && halves_512());
  return matmul_f32(shorter && tier == Tier::kAvx512 ? Tier::kAvx2 : tier);
}

namespace {

/// Return the columns of each panel: nr, or n rounded up to whole vectors if that is less.
int64_t panel_columns(const MatmulF32& kernel, int64_t n) {
  const int vectors = kernel.tier == Tier::kScalar ? 1 : kernel.tier == Tier::kNeon ? 4 : 2;
  const int64_t lanes = kernel.nr / vectors, own = (n + lanes - 1) / lanes * lanes;
  return own > 0 && own < kernel.nr ? own : kernel.nr;
}

}  // namespace

int64_t matmul_f32_packed_floats(const MatmulF32& kernel, int64_t k, int64_t n) {
  const int64_t nr = panel_columns(kernel, n);
  return (n + nr - 1) / nr * nr * k;
}

void matmul_f32_pack(const MatmulF32& kernel, int64_t k, int64_t n, const float* b,
                     int64_t k_stride, int64_t n_stride, float* packed) noexcept {
  if (k == 0) return;
  const int64_t nr = panel_columns(kernel, n);
  for (int64_t col = 0; col < n; col += nr) {
    const int64_t cols = n - col < nr ? n - col : nr;
    pack_panel(static_cast<int>(nr), k, cols, b + col * n_stride, k_stride, n_stride, packed);
    packed += k * nr;
  }
}

}  // namespace rill::kernels
