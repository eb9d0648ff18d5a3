#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul_args.h"

// Apart from matmul_packed.h so that tier files see nothing but plain data and declarations.

namespace rill::kernels {

/// Rows up to which B is read from its few bits into registers; more share what is written out.
constexpr int64_t kPackedFewRows = 4;

/// Arguments of a product with a B of fewer bits.
struct MatmulPackedArgs {
  MatmulF32Args product;         ///< all but `b`; a row of A is one segment
  const std::byte* b = nullptr;  ///< as `matmul_packed_pack` writes it, aligned to 64 bytes
  float* scratch = nullptr;  ///< as long as `matmul_packed_scratch_floats` says, aligned likewise
};

#define RILL_MATMUL_PACKED(tier, format, name, columns) \
  void name(const MatmulPackedArgs& args) noexcept RILL_NONBLOCKING;
#include "kernels/matmul_packed/kernels.inc"
#undef RILL_MATMUL_PACKED

}  // namespace rill::kernels
