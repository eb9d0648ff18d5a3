#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"
#include "core/base/nonblocking.h"
#include "core/tensor/dtype.h"

namespace rill {

/// A pointer to elements that it does not own, with a shape, and strides in elements. Strides may
/// be zero (repeat) or negative.
struct View {
  DType dtype = DType::kF32;
  QParams q;
  int rank = 0;
  std::array<int64_t, kMaxRank> shape{};
  std::array<int64_t, kMaxRank> stride{};
  void* data = nullptr;

  int64_t volume() const noexcept {
    int64_t v = 1;
    for (int i = 0; i < rank; ++i) v *= shape[static_cast<size_t>(i)];
    return v;
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  int64_t extent(int axis) const { return shape[static_cast<size_t>(axis)]; }
  int64_t step(int axis) const { return stride[static_cast<size_t>(axis)]; }
  /// Return whether the elements are contiguous in row-major order.
  bool contiguous() const RILL_NONBLOCKING;
};

/// Copy elements of equal type between views of equal shape. Real-time: yes, for plain types.
void copy_view(const View& from, const View& to) RILL_NONBLOCKING;
/// As above, for types that are known to be plain.
void copy_plain(const View& from, const View& to) RILL_NONBLOCKING;

}  // namespace rill
