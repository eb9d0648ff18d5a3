#pragma once

#include "ops/math/formula.h"
#include "ops/nn/onnx_window.h"

namespace rill::ops {

/// Pool the spatial axes of x [batch, channels, spatial...] as the attributes of the node say:
/// kernel, strides, pads, rounding up and, for averages, whether padding counts. Where it does,
/// `whole` tells that what rounding up adds behind it counts as well. `window` becomes what was
/// slid.
/// Errors: those of `onnx_window` and `onnx_round_up`.
Result<OutletId> onnx_average_pool(OnnxCtx& ctx, OutletId x, bool whole = false);
Result<OutletId> onnx_max_pool(OnnxCtx& ctx, OutletId x, Window* window);

/// Sum what each window holds; padding is 0.
OutletId onnx_window_sums(Formula& f, OutletId x, const Window& window);

}  // namespace rill::ops
