#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul_args.h"

// Separate from matmul_packed.h so that tier files include only plain data and declarations.

namespace rill::kernels {

/// Up to this number of rows, kernels unpack B in registers; more rows may share an unpacked copy.
constexpr int64_t kPackedFewRows = 4;
/// The rows that share an unpacked copy.
constexpr int64_t kPackedGroup = 48;

/// The bit at which each of eight values begins in a Q4_0 word. Values alternate between the halves
/// of a word, so that a vector look-up by the low bits of either half needs one shift for two
/// values.
constexpr int kQ4WordBits[8] = {0, 16, 4, 20, 8, 24, 12, 28};

/// The 4-bit values per word of a column.
constexpr int64_t kQ4Unit = 8;

/// Arguments of a matmul with a reduced-precision B.
struct MatmulPackedArgs {
  MatmulF32Args product;         ///< all but `b`
  const std::byte* b = nullptr;  ///< as `matmul_packed_pack` writes it, aligned to 64 bytes
  float* scratch = nullptr;  ///< `matmul_packed_scratch_floats` floats, aligned to 64 bytes
};

/// The layout of the values of B in memory.
enum class PackedFormat : uint8_t {
  kQ4_0,  ///< 4 bits and, for 32 values of k, a scale in f16: 4.5 bits a value
  kF16,   ///< f16; subnormal ones, infinities and NaN as well
  kQ8,    ///< 8 bits and, for 32 values of k, a scale in bfloat16: 8.5 bits a value
  kQ4,    ///< 4 bits and, for 32 values of k, a scale in bfloat16: 4.5 bits a value
  kInt8,  ///< 8 bits and a scale per column, for products of bytes: A is rounded to bytes as well
};

/// The values of k that share a scale; the last block of a column may be shorter.
constexpr int64_t kPackedBlock = 32;

/// kInt8 pads k to whole groups of any kernel.
constexpr int64_t int8_padded(int64_t k) { return (k + 3) / 4 * 4; }
/// The maximum k for which sums of k products of bytes from -127 to 127 fit in 32 bits.
constexpr int64_t kInt8MostK = 128 * 1024;
/// The least number that counts as the largest magnitude of a row or column.
constexpr float kInt8LeastBound = 0x1.fcp-114f;

/// Return how many bytes a panel takes: `columns` columns of k values. Blocks are contiguous. A kQ8
/// or kQ4 block has the scales of all columns, then the values of the first k, of the second, and
/// so on. kQ4 values are padded with zeros to a multiple of 8; each byte has two, the first in the
/// low nibble. Matmul panels have kQ4_0 and kQ4 values in the order of the tier. A kInt8 panel has
/// the f32 scales of all columns, the i32 values from which their sums start, then the values as
/// `matmul_int8_pack` orders them.
int64_t packed_panel_bytes(PackedFormat format, int64_t k,
                           int64_t columns) noexcept RILL_NONBLOCKING;

/// Unpack the first k values of a panel as f32, [k][columns], starting at the panel or at a block.
/// `columns` is a multiple of the tier's vector; no alignment is needed.
using UpcastPanel = void (*)(const std::byte* panel, int64_t k, int64_t columns,
                            float* to) noexcept RILL_NONBLOCKING;

/// A row of A, as in `MatmulF32Args`.
struct FloatRow {
  const float* a;
  int64_t segments, segment_len, segment_stride;
};

/// Round a row to integers from -127 to 127, in the form of a kInt8 kernel: 4 bytes for each group
/// of k, the last one padded. With the largest magnitude m, or `kInt8LeastBound` if that is larger,
/// values are multiplied by 127 / m and rounded, ties to even. Return the scale m / 127: NaN if the
/// row has a NaN or an infinity.
using QuantiseRow = float (*)(const FloatRow& row, uint8_t* to) noexcept RILL_NONBLOCKING;

/// A vector of columns: its panel and its first column.
struct FewBitsVector {
  const std::byte* panel;
  int64_t first;
};

/// One row of `k` values by panels of `columns` columns. kInt8 reads the row as bytes.
struct FewBitsRow {
  const float* h;
  int64_t k, columns;
  const uint8_t* bytes = nullptr;  ///< as `QuantiseRow` wrote them, with their scale
  float scale = 0;
};

/// Compute the sums of `count` vectors of columns. Weights are upcast in registers, or multiplied
/// as bytes. `sums` is aligned to a vector.
using FewBitsSums = void (*)(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                             float* sums) noexcept RILL_NONBLOCKING;

/// Return whether a matmul first concatenates the segments of its rows. Otherwise blocks would
/// cross segment ends, the last word of 4-bit values might have more values than A, or short
/// segments would be slow.
/// `static`: each tier compiles it for its processors.
static constexpr bool packed_joins(PackedFormat format, const MatmulF32Args& g) {
  if (format != PackedFormat::kF16) return g.segment_len % kPackedBlock != 0;
  return g.m > kPackedFewRows && g.segments > 1 && g.segment_len < kPackedBlock;
}

#define RILL_KERNEL(needs, format, name, columns, upcast) \
  void name(const MatmulPackedArgs& args) noexcept RILL_NONBLOCKING;
#include "kernels/matmul_packed/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, dot, name, columns, depth, form)                                 \
  void matmul_by_int8_##name(const MatmulPackedArgs& args) noexcept RILL_NONBLOCKING;       \
  void sums_by_int8_##name(const FewBitsRow& row, const FewBitsVector* vectors, int count,  \
                           float* sums) noexcept RILL_NONBLOCKING;                          \
  float int8_row_##name(const FloatRow& row, uint8_t* to) noexcept RILL_NONBLOCKING;
#include "kernels/int8/kernels.inc"
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
