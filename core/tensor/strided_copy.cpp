#include "core/tensor/strided_copy.h"

#include <cstddef>
#include <cstring>

namespace rill {
namespace {

/// An element with the size of T; the caller may have given it another type.
template <class T>
struct __attribute__((may_alias)) Element {
  T bits;
};

/// A copy without unit axes, and with mergeable axes merged; strides in elements.
struct Move {
  int rank = 0;
  int64_t extent[kCopyMaxRank];
  int64_t src[kCopyMaxRank];
  int64_t dst[kCopyMaxRank];
};

/// Order the axes by destination stride, so that writes move forward, and merge contiguous axes.
/// Return false if there is nothing to copy.
bool simplify(int rank, const int64_t* extent, const int64_t* src_stride, const int64_t* dst_stride,
              Move* m) {
  const auto size = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  int axes = 0;
  for (int d = 0; d < rank; ++d) {
    if (extent[d] == 0) return false;
    if (extent[d] == 1) continue;
    int at = axes++;
    for (; at > 0 && size(m->dst[at - 1]) < size(dst_stride[d]); --at) {
      m->extent[at] = m->extent[at - 1];
      m->src[at] = m->src[at - 1];
      m->dst[at] = m->dst[at - 1];
    }
    m->extent[at] = extent[d];
    m->src[at] = src_stride[d];
    m->dst[at] = dst_stride[d];
  }
  int last = 0;
  for (int d = 1; d < axes; ++d) {
    const int64_t n = m->extent[d];
    if (m->src[last] == n * m->src[d] && m->dst[last] == n * m->dst[d]) {
      m->extent[last] *= n;
    } else {
      m->extent[++last] = n;
    }
    m->src[last] = m->src[d];
    m->dst[last] = m->dst[d];
  }
  m->rank = axes == 0 ? 0 : last + 1;
  return true;
}

/// The number of elements in one 16-byte move.
template <class T>
constexpr int64_t kAtOnce = 16 / static_cast<int64_t>(sizeof(T));

template <class T>
void copy_row(const T* src, int64_t src_step, T* dst, int64_t dst_step, int64_t n) {
  if (src_step == 1 && dst_step == 1) {
    constexpr int64_t kShort = 16;  // below, the call costs more than the loop
    if (n > kShort) {
      std::memmove(dst, src, static_cast<size_t>(n) * sizeof(T));
      return;
    }
    // Copy forward to a lower address and backward to a higher one, as the ranges may overlap.
    if (dst <= src) {
      int64_t i = 0;
      for (; i + kAtOnce<T> <= n; i += kAtOnce<T>) {
        std::byte few[16];
        std::memcpy(few, src + i, sizeof few);
        std::memcpy(dst + i, few, sizeof few);
      }
      for (; i < n; ++i) dst[i] = src[i];
    } else {
      for (int64_t i = n; i-- > 0;) dst[i] = src[i];
    }
  } else if (src_step == 0 && dst_step == 1) {
    const T value = *src;
    T few[kAtOnce<T>];
    for (T& each : few) each = value;
    int64_t i = 0;
    for (; i + kAtOnce<T> <= n; i += kAtOnce<T>) std::memcpy(dst + i, few, sizeof few);
    for (; i < n; ++i) dst[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_step] = src[i * src_step];
  }
}

/// Transpose 4 x 4 elements of 4 bytes in registers.
void transpose_square(const void* src, int64_t src_step, void* dst, int64_t dst_step) {
  using Four = uint32_t __attribute__((vector_size(16)));
  const auto* from = static_cast<const std::byte*>(src);
  auto* to = static_cast<std::byte*>(dst);
  Four row[4];
  // Unrolling keeps the rows in registers.
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) std::memcpy(&row[i], from + i * src_step * 4, 16);
  const Four low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
  const Four low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Four high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  const Four column[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                          __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                          __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                          __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * dst_step * 4, &column[i], 16);
}

/// Transpose by blocks: reads run along the outer axis, writes along the inner axis. The cache
/// lines of a block on both sides stay in L1.
template <class T>
void transpose(const T* src, int64_t src_inner, T* dst, int64_t dst_outer, int64_t outer,
               int64_t inner) {
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = 0; i0 < inner; i0 += kBlock) {
    const int64_t i1 = inner - i0 < kBlock ? inner : i0 + kBlock;
    int64_t o = 0;
    for (; o + 4 <= outer; o += 4) {
      T* y = dst + o * dst_outer;
      int64_t i = i0;
      if constexpr (sizeof(T) == 4) {
        for (; i + 4 <= i1; i += 4) {
          transpose_square(src + i * src_inner + o, src_inner, y + i, dst_outer);
        }
      }
      for (; i < i1; ++i) {
        const T* x = src + i * src_inner + o;
        y[i] = x[0];
        y[i + dst_outer] = x[1];
        y[i + 2 * dst_outer] = x[2];
        y[i + 3 * dst_outer] = x[3];
      }
    }
    for (; o < outer; ++o) {
#pragma GCC unroll 4
      for (int64_t i = i0; i < i1; ++i) dst[o * dst_outer + i] = src[i * src_inner + o];
    }
  }
}

/// Copy the two innermost axes.
template <class Bits>
void copy_plane(const Move& m, const std::byte* from, std::byte* to) RILL_NONBLOCKING {
  using T = Element<Bits>;
  const auto* const src = reinterpret_cast<const T*>(from);
  auto* const dst = reinterpret_cast<T*>(to);
  const int in = m.rank - 1;
  if (m.rank == 0) {
    *dst = *src;
  } else if (m.rank == 1) {
    copy_row(src, m.src[0], dst, m.dst[0], m.extent[0]);
  } else if (m.src[in - 1] == 1 && m.dst[in] == 1 && m.src[in] != 1) {
    transpose(src, m.src[in], dst, m.dst[in - 1], m.extent[in - 1], m.extent[in]);
  } else {
    for (int64_t i = 0; i < m.extent[in - 1]; ++i) {
      copy_row(src + i * m.src[in - 1], m.src[in], dst + i * m.dst[in - 1], m.dst[in],
               m.extent[in]);
    }
  }
}

using CopyPlane = void (*)(const Move&, const std::byte*, std::byte*) RILL_NONBLOCKING;

/// Copy all planes; elements of all sizes share this code.
void copy_planes(const Move& m, int64_t size, CopyPlane copy, const std::byte* src,
                 std::byte* dst) {
  if (m.rank <= 2) return copy(m, src, dst);
  int64_t index[kCopyMaxRank] = {};
  while (true) {
    copy(m, src, dst);
    int d = m.rank - 3;
    for (; d >= 0; --d) {
      src += m.src[d] * size;
      dst += m.dst[d] * size;
      if (++index[d] < m.extent[d]) break;
      src -= m.extent[d] * m.src[d] * size;
      dst -= m.extent[d] * m.dst[d] * size;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

CopyPlane copy_of(int elem_size) {
  switch (elem_size) {
    case 1:
      return copy_plane<uint8_t>;
    case 2:
      return copy_plane<uint16_t>;
    case 4:
      return copy_plane<uint32_t>;
    case 8:
      return copy_plane<uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

void copy_strided(int elem_size, int rank, const int64_t* extent, const void* src,
                  const int64_t* src_stride, void* dst, const int64_t* dst_stride) noexcept {
  Move m;
  if (!simplify(rank, extent, src_stride, dst_stride, &m)) return;
  const CopyPlane copy = copy_of(elem_size);
  if (copy == nullptr) return;
  copy_planes(m, elem_size, copy, static_cast<const std::byte*>(src), static_cast<std::byte*>(dst));
}

void fill_strided(int elem_size, int rank, const int64_t* extent, const void* value, void* dst,
                  const int64_t* dst_stride) noexcept {
  const int64_t repeat[kCopyMaxRank] = {};
  copy_strided(elem_size, rank, extent, value, repeat, dst, dst_stride);
}

}  // namespace rill
