#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/list.h"
#include "kernels/matmul_packed/matmul_packed_args.h"

namespace rill::kernels {

/// One implementation of the matmul with a reduced-precision B.
struct MatmulPacked {
  const char* name;
  Tier tier;
  PackedFormat format;
  int nr;  ///< columns per panel of B: those of the tier's f32 product, or of its int8 product

  /// Compute C = clip(A B + bias + residual), with the operands of `MatmulPackedArgs`.
  /// Shapes: as for `MatmulF32`; for kQ4_0, k is a multiple of 32.
  /// Accuracy: kF16: the bits of the f32 matmul of the same tier with the upcast B. Others: a block
  /// sums its products in f32, in ascending order, before its scale multiplies the sum. With k
  /// values the error is at most (33 + k / 32) 2^-24 of the sum of all magnitudes, twice that on
  /// tiers that round products. Sums of a block can overflow if values of A exceed 2^114. kInt8:
  /// every row of A is rounded to 255 levels between its largest magnitude and minus that; the sums
  /// of products are exact and the same on every tier, for k of at most `kInt8MostK`. A row with a
  /// NaN or an infinity gives NaN. Any number of rows gives the same bits.
  /// Real-time: yes.
  void (*run)(const MatmulPackedArgs& args) noexcept RILL_NONBLOCKING;

  /// Unpacks a panel, for other families that use the format; null for kQ4_0 and kInt8.
  UpcastPanel upcast;

  // For kInt8 only.
  bool dot = false;    ///< whether the CPU must multiply and add four bytes at once (VNNI, SDOT)
  int depth = 0;       ///< adjacent values of k in the packed B
  bool lifts = false;  ///< 128 is added to bytes of A
  QuantiseRow quantise = nullptr;  ///< for other families, as is `sums`
  FewBitsSums sums = nullptr;
};

/// Choose the best implementation for a CPU whose best tier is `cpu`. The result has static
/// lifetime. If the CPU cannot upcast f16, the kernel belongs to a lower tier, and is slower than
/// the f32 matmul. Real-time: no, call it at prepare.
const MatmulPacked& matmul_packed(Tier cpu, PackedFormat format);

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<MatmulPacked> kernels_like(const MatmulPacked*);

/// Return how many bytes `matmul_packed_pack` writes for a B of [k, n]: whole panels.
int64_t matmul_packed_bytes(const MatmulPacked& kernel, int64_t k, int64_t n);

/// Return the floats of scratch for a matmul of that shape; 0 if segments contain whole blocks.
/// kInt8 keeps rows of A as bytes.
int64_t matmul_packed_scratch_floats(const MatmulPacked& kernel, const MatmulF32Args& product);

/// Pack a kQ4_0 B into panels. Column j begins at `b + j * column_bytes`: k / 32 blocks of 18 bytes
/// (an f16 scale; 16 bytes with values 0 to 15 in the low nibbles, 16 to 31 in the high ones, each
/// with an offset of 8).
/// `packed` is aligned to 64 bytes. Real-time: yes.
void matmul_packed_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const std::byte* b,
                        int64_t column_bytes, std::byte* packed) noexcept RILL_NONBLOCKING;

/// Return whether f16 holds all of these floats exactly: whether casts to f16 and back keep every
/// bit.
/// Real-time: yes.
bool fit_f16(const float* values, int64_t count) noexcept RILL_NONBLOCKING;

/// Pack a B of floats into panels of kF16, kQ8 or kQ4, rounded by `packed_column`, or of kInt8, by
/// `int8_column`; strides as for `matmul_f32_pack`.
/// `packed` is aligned to 64 bytes. Real-time: yes.
void matmul_floats_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const float* b,
                        int64_t k_stride, int64_t n_stride,
                        std::byte* packed) noexcept RILL_NONBLOCKING;

/// Round and pack k finite floats into a column of a panel of kF16, kQ8 or kQ4.
/// Accuracy: kF16: the nearest half. kQ8: the scale of a block is the least number with 8
/// significant bits for which 127 steps reach the largest magnitude. kQ4: the scale is the number
/// with 8 significant bits nearest to v / -8, where v has the largest magnitude. Values are the
/// nearest multiples of the scale, ties to even, within [-127, 127] or [-8, 7]. A block of values
/// below 2^-100 is all zeros.
/// Real-time: yes.
void packed_column(PackedFormat format, int64_t k, int64_t columns, int64_t column,
                   const float* from, int64_t stride, std::byte* panel) noexcept RILL_NONBLOCKING;

/// Round and pack k finite floats into a column of a zeroed panel of kInt8, as `QuantiseRow` rounds
/// rows.
/// Real-time: yes.
void int8_column(const MatmulPacked& kernel, int64_t k, int64_t columns, int64_t column,
                 const float* from, int64_t stride, std::byte* panel) noexcept RILL_NONBLOCKING;

}  // namespace rill::kernels
