#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/list.h"
#include "kernels/matmul_packed/matmul_packed_args.h"

namespace rill::kernels {

/// One implementation of the matrix product with a B of fewer bits.
struct MatmulPacked {
  const char* name;
  Tier tier;
  PackedFormat format;
  int nr;  ///< columns per panel of B: those of the tier's f32 product

  /// Compute C = clip(A B + bias + residual), with the operands of `MatmulPackedArgs`.
  /// Shapes: as for `MatmulF32`; for kQ4_0, k is a multiple of 32.
  /// Accuracy: kF16: the bits of the f32 product of the same tier with B written out. Others: the
  /// products of a block with whole numbers are summed in f32, from the first on, before its scale
  /// multiplies them. With k values the error is at most (33 + k / 32) 2^-24, twice that on tiers
  /// that round products, of the sum of all magnitudes. Sums of a block overflow where values of A
  /// are beyond 2^114. Any number of rows gives the same bits.
  /// Real-time: yes.
  void (*run)(const MatmulPackedArgs& args) noexcept RILL_NONBLOCKING;

  /// Write a panel out, for other families that keep weights so; null for kQ4_0.
  UpcastPanel upcast;
};

/// Choose the best implementation for a CPU whose best tier is `cpu`. The result lives for ever.
/// Its tier is a lower one, and its product slower than that of f32, where the CPU cannot upcast
/// f16.
/// Real-time: no, call it at prepare.
const MatmulPacked& matmul_packed(Tier cpu, PackedFormat format);

/// Give every kernel of the family that this build has; the argument only names the family.
KernelList<MatmulPacked> kernels_like(const MatmulPacked*);

/// Return how many bytes `matmul_packed_pack` writes for a B of [k, n]: whole panels.
int64_t matmul_packed_bytes(const MatmulPacked& kernel, int64_t k, int64_t n);

/// Return how many floats of scratch a product of that shape needs; 0 for few rows of kF16, and for
/// blocks if segments are whole ones.
int64_t matmul_packed_scratch_floats(const MatmulPacked& kernel, const MatmulF32Args& product);

/// Bring a B of kQ4_0 into panels. Column j begins at `b + j * column_bytes`: k / 32 blocks of 18
/// bytes (a scale in f16; 16 bytes with values 0 to 15 in the low halves, 16 to 31 in the high
/// ones, each 8 more than it stands for).
/// `packed` is aligned to 64 bytes. Real-time: yes.
void matmul_packed_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const std::byte* b,
                        int64_t column_bytes, std::byte* packed) noexcept RILL_NONBLOCKING;

/// Return whether f16 holds all of these floats exactly: whether casts to f16 and back keep every
/// bit.
/// Real-time: yes.
bool fit_f16(const float* values, int64_t count) noexcept RILL_NONBLOCKING;

/// Bring a B of floats into panels of kF16, kQ8 or kQ4, rounded by `packed_column`; strides as for
/// `matmul_f32_pack`.
/// `packed` is aligned to 64 bytes. Real-time: yes.
void matmul_floats_pack(const MatmulPacked& kernel, int64_t k, int64_t n, const float* b,
                        int64_t k_stride, int64_t n_stride,
                        std::byte* packed) noexcept RILL_NONBLOCKING;

/// Bring k finite floats into a column of a panel of kF16, kQ8 or kQ4.
/// Accuracy: kF16: the nearest half. kQ8: the scale of a block is the least of 8 significant bits
/// by which 127 reaches its largest value. kQ4: that nearest to the value farthest from 0 divided
/// by -8. Values are the nearest multiples of the scale, of two the even one, within [-127, 127]
/// and [-8, 7]. A block of values below 2^-100 is all zeros.
/// Real-time: yes.
void packed_column(PackedFormat format, int64_t k, int64_t columns, int64_t column,
                   const float* from, int64_t stride, std::byte* panel) noexcept RILL_NONBLOCKING;

}  // namespace rill::kernels
