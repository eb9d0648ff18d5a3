#pragma once

#include "core/exec/lowering.h"

namespace rill::ops {

struct Conv;

/// Lower an f32 convolution with constant filters: frames are rows, channels lie together, and a
/// row of the matrix product is a window on the frames themselves.
Status lower_conv_f32(const Conv& conv, Lowering& lowering);

}  // namespace rill::ops
