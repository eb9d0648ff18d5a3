#pragma once

#include <vector>

#include "core/exec/lowering.h"
#include "ops/nn/clip.h"

namespace rill::ops {

/// Windows of frames that filters multiply: a convolution, or one phase of a transposed one.
struct WindowProduct {
  /// The layout of windows along a spatial axis; in floats.
  struct Axis {
    int64_t taps = 1;  ///< 0: the result is the bias
    int64_t tap_stride = 0;
    int64_t frame_stride = 0;  ///< between the windows of two results
  };
  Operand x;  ///< [N, C, D...], channels contiguous; begins at the first tap of the first window
  Operand y;  ///< [N, O, D'...], channels contiguous
  std::vector<Axis> axes;  ///< per spatial axis, outermost first
  TensorPtr filter;        ///< [O, C / groups, taps...], taps in the order of the input
};

/// The common fields of all matmuls of one operator.
struct WindowProducts {
  int64_t groups = 1;
  const Operand* bias = nullptr;
  const Operand* residual = nullptr;  ///< in the layout of y
  Clip clip;
  float slope = 1;  ///< of values below 0, before the limits; 1 if depthwise
};

/// Return whether each channel has a separate filter, given the extents of the filters.
inline bool is_depthwise(int64_t groups, int64_t outputs, int64_t channels) {
  return groups > 1 && channels == 1 && outputs == groups;
}

/// Lower products of f32 to one step: frames are rows, and channels are contiguous. A row of the
/// matmul is a window of the frames in place, or a copy of the window if its taps are not evenly
/// spaced.
/// Errors: kUnsupported for more than 3 spatial axes along which windows move.
Status lower_window_products(Lowering& lowering, const WindowProducts& common,
                             std::vector<WindowProduct> products);

}  // namespace rill::ops
