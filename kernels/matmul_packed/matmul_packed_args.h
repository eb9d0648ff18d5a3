#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul_args.h"

// Apart from matmul_packed.h so that tier files see nothing but plain data and declarations.

namespace rill::kernels {

/// Rows up to which B is surely read into registers; many share what is written out.
constexpr int64_t kPackedFewRows = 4;
/// Values of k, a multiple of any format's block, and floats of B that are written out at once: for
/// few rows so few that they stay in the first-level cache.
constexpr int64_t kPackedBlockK = 512;
constexpr int64_t kPackedFewK = 256;
constexpr int64_t kPackedFewToWrite = 16;
constexpr int64_t kPackedBlockFloats = 64 * 1024;
/// Rows that share the values of blocks that are written out.
constexpr int64_t kPackedGroup = 48;

/// Where each of eight values begins in a word of Q4_0: the halves of a word in turn, so that
/// vectors that look values up by the low bits of either half need one shift for two.
constexpr int kQ4WordBits[8] = {0, 16, 4, 20, 8, 24, 12, 28};

/// Values of a column that a word of 4 bits each has.
constexpr int64_t kQ4Unit = 8;

/// Arguments of a product with a B of fewer bits.
struct MatmulPackedArgs {
  MatmulF32Args product;         ///< all but `b`
  const std::byte* b = nullptr;  ///< as `matmul_packed_pack` writes it, aligned to 64 bytes
  float* scratch = nullptr;  ///< as long as `matmul_packed_scratch_floats` says, aligned likewise
};

/// The layout of the values of B in memory.
enum class PackedFormat : uint8_t {
  kQ4_0,  ///< 4 bits and, for 32 values of k, a scale in f16: 4.5 bits a value
  kF16,   ///< f16; subnormal ones, infinities and NaN as well
  kQ8,    ///< 8 bits and, for 32 values of k, a scale in bfloat16: 8.5 bits a value
  kQ4,    ///< 4 bits and, for 32 values of k, a scale in bfloat16: 4.5 bits a value
};

/// Values of k that share a scale; the last block of a column may be shorter.
constexpr int64_t kPackedBlock = 32;

/// Return how many bytes a panel takes: `columns` columns of k values. Blocks follow one another;
/// those of kQ8 and kQ4 begin with the scales of all columns, and then have the values of the first
/// k, of the second and so on. Values of kQ4 end with zeros, so that they are a multiple of 8, and
/// lie in twos: the first of both in the low halves of bytes. Panels of matmuls have the values of
/// kQ4_0 and kQ4 in the order of the tier.
int64_t packed_panel_bytes(PackedFormat format, int64_t k,
                           int64_t columns) noexcept RILL_NONBLOCKING;

/// Write the first k values of a panel out as f32, [k][columns], from its begin or that of a block
/// on. `columns` are whole vectors of the tier; nothing is aligned.
using UpcastPanel = void (*)(const std::byte* panel, int64_t k, int64_t columns,
                            float* to) noexcept RILL_NONBLOCKING;

/// How a matmul runs through an f32 copy of B.
struct WrittenOut {
  PackedFormat format;
  int nr;
  UpcastPanel upcast;
  void (*plain)(const MatmulF32Args&) noexcept RILL_NONBLOCKING;
};

/// Compute C from blocks of B that are written out one after another: the bits of the f32 product.
void packed_written_out(const MatmulPackedArgs& args, const WrittenOut& how) RILL_NONBLOCKING;

#define RILL_KERNEL(needs, format, name, columns, upcast) \
  void name(const MatmulPackedArgs& args) noexcept RILL_NONBLOCKING;
#include "kernels/matmul_packed/kernels.inc"
#undef RILL_KERNEL

#define RILL_UPCAST(suffix)                                                                  \
  void upcast_f16_##suffix(const std::byte* panel, int64_t k, int64_t columns, float* to)    \
      noexcept RILL_NONBLOCKING;                                                            \
  void upcast_q8_##suffix(const std::byte* panel, int64_t k, int64_t columns, float* to)     \
      noexcept RILL_NONBLOCKING;                                                            \
  void upcast_q4_##suffix(const std::byte* panel, int64_t k, int64_t columns, float* to)     \
      noexcept RILL_NONBLOCKING;
RILL_UPCAST(scalar)
RILL_UPCAST(sse42)
RILL_UPCAST(avx2)
RILL_UPCAST(avx512)
RILL_UPCAST(neon)
#undef RILL_UPCAST

}  // namespace rill::kernels
