#pragma once

#include <vector>

#include "core/graph/onnx.h"
#include "ops/nn/window.h"

namespace rill::ops {

/// Read how the window of a convolution or a pool slides: `strides`, `dilations` where declared,
/// `pads` and `auto_pad`, for input [N, C, spatial...].
/// Errors: kShape for counts that do not fit; kUnsupported for SAME_LOWER of odd padding over an
/// extent that is not known; kArg for an unknown `auto_pad`.
Result<Window> onnx_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Fact& input);

}  // namespace rill::ops
