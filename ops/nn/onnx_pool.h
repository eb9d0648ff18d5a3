#pragma once

#include "ops/math/formula.h"
#include "ops/nn/onnx_window.h"

namespace rill::ops {

/// Pool the spatial axes of x [batch, channels, spatial...] by the attributes of the node: kernel,
/// strides, pads, rounding up and, for averages, whether padding counts. If padding counts, `whole`
/// also counts elements that rounding up adds after the padding. `window` becomes the window used.
/// Errors: those of `onnx_window` and `onnx_round_up`.
Result<OutletId> onnx_average_pool(OnnxCtx& ctx, OutletId x, bool whole = false);
Result<OutletId> onnx_max_pool(OnnxCtx& ctx, OutletId x, Window* window);

/// Sum each window; padding counts as 0.
OutletId onnx_window_sums(Formula& f, OutletId x, const Window& window);

}  // namespace rill::ops
