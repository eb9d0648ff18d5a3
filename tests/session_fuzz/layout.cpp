#include "tests/session_fuzz/layout.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace rill::test {
namespace {

constexpr std::byte kUntouched{0xA5};

}  // namespace

Scattered::Scattered(const Port& port, int64_t frames, Random* random)
    : dtype_(port.dtype),
      axis_(port.axis),
      element_(rill_dtype_size(port.dtype)),
      shape_(port.shape),
      strides_(port.shape.size()) {
  if (axis_ >= 0) shape_[static_cast<size_t>(axis_)] = frames;
  std::vector<size_t> order(shape_.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(random->in(0, static_cast<int64_t>(i) - 1))]);
  }
  int64_t stride = random->in(1, 3);
  offset_ = random->in(0, 5);
  for (const size_t axis : order) {
    const int64_t extent = std::max<int64_t>(1, shape_[axis]);
    strides_[axis] = stride;
    if (random->chance(20)) {
      strides_[axis] = -stride;
      offset_ += stride * (extent - 1);
    }
    stride *= extent;
    stride += random->chance(30) ? random->in(1, 4) : 0;
  }
  bytes_.assign(static_cast<size_t>(stride + offset_ + 8) * element_, kUntouched);
}

rill_view Scattered::view() {
  rill_view view = {};
  view.size = sizeof(view);
  view.dtype = dtype_;
  view.rank = static_cast<uint32_t>(shape_.size());
  view.shape = shape_.data();
  view.strides = strides_.data();
  view.data = bytes_.data() + static_cast<size_t>(offset_) * element_;
  return view;
}

/// Call `each(index, at)` for every element of the first frames: `index` has its position along
/// every axis, `at` is its byte offset.
template <class Each>
void Scattered::walk(int64_t count, const Each& each) const {
  std::vector<int64_t> shape = shape_;
  if (axis_ >= 0) shape[static_cast<size_t>(axis_)] = count;
  int64_t volume = 1;
  for (const int64_t extent : shape) volume *= extent;
  std::vector<int64_t> index(shape.size());
  for (int64_t i = 0; i < volume; ++i) {
    int64_t rest = i;
    int64_t at = offset_;
    for (size_t axis = shape.size(); axis-- > 0;) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
      at += index[axis] * strides_[axis];
    }
    each(index, static_cast<size_t>(at) * element_);
  }
}

namespace {

/// Return the offset of an element in a row-major array, `first` frames further along an axis.
size_t row_major(const Array& all, const std::vector<int64_t>& index, int axis, int64_t first) {
  int64_t at = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    at = at * all.shape[i] + index[i] + (static_cast<int>(i) == axis ? first : 0);
  }
  return static_cast<size_t>(at) * rill_dtype_size(all.dtype);
}

}  // namespace

void Scattered::put(const Array& all, int64_t first, int64_t count) {
  walk(count, [&](const std::vector<int64_t>& index, size_t at) {
    std::memcpy(&bytes_[at], &all.bytes[row_major(all, index, axis_, first)], element_);
  });
}

Array Scattered::take(int64_t count) {
  std::vector<int64_t> shape = shape_;
  if (axis_ >= 0) shape[static_cast<size_t>(axis_)] = count;
  Array out = Array::zeros(dtype_, std::move(shape));
  walk(count, [&](const std::vector<int64_t>& index, size_t at) {
    std::memcpy(&out.bytes[row_major(out, index, axis_, 0)], &bytes_[at], element_);
    std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), element_, kUntouched);
  });
  return out;
}

bool Scattered::is_untouched() const {
  return std::all_of(bytes_.begin(), bytes_.end(), [](std::byte b) { return b == kUntouched; });
}

}  // namespace rill::test
