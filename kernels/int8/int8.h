#pragma once

#include "kernels/list.h"
#include "kernels/int8/int8_args.h"

namespace rill::kernels {

/// The form to which a kernel converts the bytes of A before it multiplies them.
enum class Int8Form : uint8_t {
  kUnsigned,  ///< u8; 128 is added to i8
  kSigned,    ///< i8; 128 is subtracted from u8
  kWide,      ///< 16 bits
};

/// One implementation of the int8 matmul.
struct MatmulInt8 {
  const char* name;
  Tier tier;
  bool dot;  ///< whether the CPU must multiply and add four bytes at once (VNNI, SDOT)
  int nr;    ///< columns per panel of B
  int depth;  ///< adjacent values of k in the packed B
  Int8Form form;

  /// Compute C = (A - a_zero) (B - b_zero) + bias from bytes, in 32-bit integers.
  /// Shapes: A [m, k] of u8 or i8, B [k, n] of i8, packed, C [m, n]; any may be 0.
  /// Accuracy: exact modulo 2^32, so equal on every tier. Real-time: yes.
  void (*run)(const MatmulInt8Args& args) noexcept RILL_NONBLOCKING;
};

/// Choose the best implementation for a CPU whose best tier is `cpu`, with dot products if the CPU
/// has them and `dot` allows them. The result has static lifetime. Real-time: no, call it at
/// prepare.
const MatmulInt8& matmul_int8(Tier cpu = active_tier(), bool dot = true);

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<MatmulInt8> kernels_like(const MatmulInt8*);

/// Return how many bytes `matmul_int8_pack` writes for a B of [k, n]: whole panels of whole groups.
int64_t matmul_int8_bytes(const MatmulInt8& kernel, int64_t k, int64_t n);

/// Return the bytes of scratch for a matmul of m rows of k values.
int64_t matmul_int8_scratch_bytes(const MatmulInt8& kernel, int64_t m, int64_t k);

/// Pack B into panels [ceil(n / nr)][ceil(k / depth)][nr][depth], padded with zeros. Shapes: B(p,
/// j) = b[p * k_stride + j * n_stride], p < k, j < n. Real-time: yes.
void matmul_int8_pack(const MatmulInt8& kernel, int64_t k, int64_t n, const int8_t* b,
                      int64_t k_stride, int64_t n_stride, int8_t* packed) noexcept RILL_NONBLOCKING;

/// Compute the initial accumulator of each column: the bias, or 0 without one, plus the terms of
/// the zero points and of the form of A, which all rows share. Shapes: packed as above; bias [n] or
/// null -> start [n]. Real-time: yes.
void matmul_int8_start(const MatmulInt8& kernel, int64_t k, int64_t n, const int8_t* packed,
                       bool a_signed, int32_t a_zero, int32_t b_zero, const int32_t* bias,
                       int32_t* start) noexcept RILL_NONBLOCKING;

/// Round integers or floats to integers, as `Rounding` says.
/// Accuracy: each operation rounds once in f64 or f32; the same bits on every tier.
/// Real-time: yes.
using QuantiseFn = void (*)(const QuantiseArgs& args) noexcept RILL_NONBLOCKING;

/// Choose the function for a CPU; never null. Real-time: no, call it at prepare.
QuantiseFn quantise(Tier cpu = active_tier());

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<NamedKernel<QuantiseFn>> kernels_like(QuantiseFn);

}  // namespace rill::kernels
