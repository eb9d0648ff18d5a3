#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/run/plan.h"
#include "core/tensor/view.h"
#include "core/tensor/visit_number.h"

namespace rill::ops {

/// Advance an index of a box with `rank` axes in row-major order. After the last index, return to
/// the first one and return false.
inline bool next_index(std::array<int64_t, kMaxRank>* index, const int64_t* extents, int rank) {
  for (int axis = rank - 1; axis >= 0; --axis) {
    const auto a = static_cast<size_t>(axis);
    if (++(*index)[a] < extents[a]) return true;
    (*index)[a] = 0;
  }
  return false;
}

/// Iterates over the elements of a view in row-major order; after the last element it restarts at
/// the first.
class Walker {
 public:
  explicit Walker(const View& view) : view_(view) {}
  /// Return the offset in elements from the first element of the view.
  int64_t offset() const { return offset_; }
  const std::array<int64_t, kMaxRank>& index() const { return index_; }
  void next() {
    for (int axis = view_.rank - 1; axis >= 0; --axis) {
      const auto i = static_cast<size_t>(axis);
      offset_ += view_.stride[i];
      if (++index_[i] < view_.shape[i]) return;
      offset_ -= view_.stride[i] * view_.shape[i];
      index_[i] = 0;
    }
  }

 private:
  const View& view_;
  std::array<int64_t, kMaxRank> index_{};
  int64_t offset_ = 0;
};

/// Rows of several views: axis `outer` and all later axes form one row of `count` elements.
struct Rows {
  int outer = 0;
  int64_t count = 1;
};

/// Find the longest rows of views that have the shape of the first one, and the stride of each view
/// within a row. The views must not be empty.
Rows rows_of(std::span<const View> views, int64_t* steps) noexcept RILL_NONBLOCKING;

/// Move to the next row; return false after the last one.
bool next_row(std::span<const View> views, const Rows& rows, std::array<int64_t, kMaxRank>* index,
              int64_t* at) noexcept RILL_NONBLOCKING;

/// Call `body(offsets, steps, count)` for rows of views that have the shape of `views[0]`, in
/// row-major order: element i of a row is at offset + i * step. Axes that are contiguous in all
/// views are merged. Offsets and steps count elements.
template <size_t N, class Body>
void for_each_row(const std::array<View, N>& views, Body&& body) {
  if (views[0].volume() == 0) return;
  std::array<int64_t, N> at{};
  std::array<int64_t, N> steps{};
  std::array<int64_t, kMaxRank> index{};
  const Rows rows = rows_of(views, steps.data());
  do body(at, steps, rows.count);
  while (next_row(views, rows, &index, at.data()));
}

/// Call `body(offsets)` for every element of views that have the shape of `views[0]`, in row-major
/// order; offsets count elements.
template <size_t N, class Body>
void for_each_element(const std::array<View, N>& views, Body&& body) {
  for_each_row<N>(views, [&](std::array<int64_t, N> at, const std::array<int64_t, N>& steps,
                             int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      body(at);
      for (size_t v = 0; v < N; ++v) at[v] += steps[v];
    }
  });
}

/// The type in which a type computes: f32 for f16, and 64-bit integers of the same signedness for
/// integers.
template <class T>
struct WideOf {
  using Type = std::conditional_t<
      std::is_floating_point_v<T>, T,
      std::conditional_t<std::is_class_v<T>, float,
                         std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>>;
};
template <class T>
using Wide = typename WideOf<T>::Type;

template <class T>
Wide<T> upcast(T value) {
  return static_cast<Wide<T>>(value);
}
/// Convert a result back; integers wrap.
template <class T>
T narrow(Wide<T> value) {
  return static_cast<T>(value);
}

inline bool is_number(DType t) { return is_int(t) || is_float(t); }

/// Call `visitor(T{})` for an unsigned type with the element's size, which suffices for copies. The
/// type must be plain.
template <class Visitor>
void visit_plain_size(DType dtype, Visitor&& visitor) {
  switch (dtype_size(dtype)) {
    case 1:
      visitor(uint8_t{});
      return;
    case 2:
      visitor(uint16_t{});
      return;
    case 4:
      visitor(uint32_t{});
      return;
    default:
      visitor(uint64_t{});
      return;
  }
}

/// Return an operand broadcast to the shape of `like`.
inline PlacedView stretched(const PlacedView& operand, const PlacedView& like) {
  PlacedView out = operand;
  for (size_t axis = 0; axis < static_cast<size_t>(like.rank); ++axis) {
    if (operand.shape[axis] == 1 && like.shape[axis] != 1) out.stride[axis] = 0;
    out.shape[axis] = like.shape[axis];
  }
  return out;
}

/// Return the view at index 0 of one axis, without that axis.
View without_axis(const View& view, int axis) RILL_NONBLOCKING;

}  // namespace rill::ops
