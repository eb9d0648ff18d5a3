#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul_args.h"

// Apart from matmul_packed.h so that tier files see nothing but plain data and declarations.

namespace rill::kernels {

/// Rows up to which B is surely read into registers; many share what is written out.
constexpr int64_t kPackedFewRows = 4;
/// Values of k, a multiple of any format's block, and floats of B that are written out at once.
constexpr int64_t kPackedBlockK = 512;
constexpr int64_t kPackedBlockFloats = 64 * 1024;

/// Where each of eight values begins in a word of Q4_0: the halves of a word in turn, so that
/// vectors that look values up by the low bits of either half need one shift for two.
constexpr int kQ4WordBits[8] = {0, 16, 4, 20, 8, 24, 12, 28};

/// Arguments of a product with a B of fewer bits.
struct MatmulPackedArgs {
  MatmulF32Args product;         ///< all but `b`
  const std::byte* b = nullptr;  ///< as `matmul_packed_pack` writes it, aligned to 64 bytes
  float* scratch = nullptr;  ///< as long as `matmul_packed_scratch_floats` says, aligned likewise
};

#define RILL_KERNEL(needs, format, name, columns) \
  void name(const MatmulPackedArgs& args) noexcept RILL_NONBLOCKING;
#include "kernels/matmul_packed/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
