#pragma once

#include <cstdint>

#include "core/base/nonblocking.h"

namespace rill {

constexpr int kCopyMaxRank = 8;

/// Copy the elements of a strided array to another one: dst[i . dst_stride] = src[i . src_stride].
/// Shapes: both [extent[0]..extent[rank - 1]], rank <= 8; any extent may be 0.
/// Units: strides in elements, with any sign in both; 0 in `src` repeats. elem_size is 1, 2, 4 or
/// 8.
/// The arrays must not overlap, except when one contiguous run moves within its own memory.
/// Types: any, by size. Accuracy: the same bits. Real-time: yes.
void copy_strided(int elem_size, int rank, const int64_t* extent, const void* src,
                  const int64_t* src_stride, void* dst,
                  const int64_t* dst_stride) noexcept RILL_NONBLOCKING;

/// Set every element of a strided array to the element at `value`.
/// Shapes, Units, Real-time: as for `copy_strided`.
void fill_strided(int elem_size, int rank, const int64_t* extent, const void* value, void* dst,
                  const int64_t* dst_stride) noexcept RILL_NONBLOCKING;

}  // namespace rill
