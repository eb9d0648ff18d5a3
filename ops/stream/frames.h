#pragma once

#include <algorithm>

#include "core/exec/lowering.h"

namespace rill::ops {

/// The most frames that an attribute of a streaming operator may count.
constexpr int64_t kMostFrames = int64_t{1} << 40;

/// Frames [first, first + count) of a view.
inline View frames_of(View view, int axis, int64_t first, int64_t count) {
  const auto a = static_cast<size_t>(axis);
  view.shape[a] = count;
  view.data = static_cast<std::byte*>(view.data) + first * view.stride[a] * dtype_size(view.dtype);
  return view;
}

/// A count of frames that may mention the stream symbol, as far as it is known: without end while
/// the end of the stream is not.
inline int64_t length_now(const Dim& length, const Frame& frame) {
  constexpr int64_t kEndless = INT64_MAX / 4;
  if (frame.clock->end < 0 && !length.is_const()) return kEndless;
  return std::min(length.eval(*frame.bindings).value_or(kEndless), kEndless);
}

}  // namespace rill::ops
