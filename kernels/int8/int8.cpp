#define RILL_SCALAR
#include "kernels/int8/int8.h"

#include <algorithm>

#include "kernels/int8/quantise_impl.h"

namespace rill::kernels {
namespace {

constexpr MatmulInt8 kProducts[] = {
#define RILL_KERNEL(needs, dot, name, columns, depth, a_form) \
  {"int8_" #name, Tier::needs, dot, columns, depth, a_form, matmul_int8_##name},
#include "kernels/int8/kernels.inc"
#undef RILL_KERNEL
};

constexpr NamedKernel<QuantiseFn> kRoundings[] = {
#define RILL_KERNEL(needs, name) {"quantise_" #name, Tier::needs, quantise_##name},
#include "kernels/int8/quantise.inc"
#undef RILL_KERNEL
};

int64_t groups_of(const MatmulInt8& kernel, int64_t k) {
  return (k + kernel.depth - 1) / kernel.depth;
}

}  // namespace

void matmul_int8_scalar(const MatmulInt8Args& args) noexcept { matmul_int8_of(args); }

void quantise_scalar(const QuantiseArgs& args) noexcept { quantise_of(args); }

KernelList<MatmulInt8> kernels_like(const MatmulInt8*) { return kProducts; }

const MatmulInt8& matmul_int8(Tier cpu, bool dot) {
  const MatmulInt8* found = kProducts;
  while (!supports(cpu, found->tier) || (found->dot && !(dot && has_dot_products(found->tier)))) {
    ++found;
  }
  return *found;
}

KernelList<NamedKernel<QuantiseFn>> kernels_like(QuantiseFn) { return kRoundings; }

QuantiseFn quantise(Tier cpu) { return kernels_like(QuantiseFn{}).best(cpu).run; }

int64_t matmul_int8_bytes(const MatmulInt8& kernel, int64_t k, int64_t n) {
  return (n + kernel.nr - 1) / kernel.nr * kernel.nr * groups_of(kernel, k) * kernel.depth;
}

int64_t matmul_int8_scratch_bytes(const MatmulInt8& kernel, int64_t m, int64_t k) {
  const int64_t row_bytes = groups_of(kernel, k) * 4 + 4;
  return std::min(m, matmul_int8_block(row_bytes)) * row_bytes;
}

void matmul_int8_pack(const MatmulInt8& kernel, int64_t k, int64_t n, const int8_t* b,
                      int64_t k_stride, int64_t n_stride, int8_t* packed) noexcept {
  for (int64_t col = 0; col < n; col += kernel.nr) {
    for (int64_t begin = 0; begin < k; begin += kernel.depth) {
      for (int64_t j = col; j < col + kernel.nr; ++j) {
        for (int64_t p = begin; p < begin + kernel.depth; ++p) {
          const bool there = j < n && p < k;
          *packed++ = there ? b[p * k_stride + j * n_stride] : int8_t{0};
        }
      }
    }
  }
}

void matmul_int8_start(const MatmulInt8& kernel, int64_t k, int64_t n, const int8_t* packed,
                       bool a_signed, int32_t a_zero, int32_t b_zero, const int32_t* bias,
                       int32_t* start) noexcept {
  const int64_t groups = groups_of(kernel, k);
  // The offset that the kernel's form adds to a byte of A.
  const int32_t shift = kernel.form == Int8Form::kUnsigned && a_signed    ? 128
                        : kernel.form == Int8Form::kSigned && !a_signed ? -128
                                                                        : 0;
  for (int64_t j = 0; j < n; ++j) {
    const int8_t* column =
        packed + (j / kernel.nr * groups * kernel.nr + j % kernel.nr) * kernel.depth;
    uint32_t sum = 0;
    for (int64_t group = 0; group < groups; ++group, column += kernel.nr * kernel.depth) {
      for (int i = 0; i < kernel.depth; ++i) sum += static_cast<uint32_t>(column[i]);
    }
    const uint32_t from = bias == nullptr ? 0 : static_cast<uint32_t>(bias[j]);
    const uint32_t both = static_cast<uint32_t>(k) * static_cast<uint32_t>(a_zero) *
                          static_cast<uint32_t>(b_zero);
    start[j] = static_cast<int32_t>(from + both - static_cast<uint32_t>(a_zero + shift) * sum);
  }
}

}  // namespace rill::kernels
