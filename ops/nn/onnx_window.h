#pragma once

#include <vector>

#include "core/graph/onnx.h"
#include "ops/nn/window.h"

namespace rill::ops {

/// Whether `auto_pad` defines the padding, or has a different meaning for the operator.
enum class WindowPads : uint8_t { kAutomatic, kAsWritten };

/// Read the window of a convolution or pool: `strides`, `dilations` where declared, `pads` and,
/// where declared, `auto_pad`, for input [N, C, spatial...].
/// Errors: kShape for lists of a wrong length; kUnsupported for SAME_LOWER whose padding depends on
/// an open extent; kArg for an unknown `auto_pad`.
Result<Window> onnx_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Fact& input,
                           WindowPads pads = WindowPads::kAutomatic);

/// As above. If the padding of SAME_LOWER depends on an open extent, pad x itself with `border`, an
/// element of its type.
Result<Window> onnx_padded_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Tensor& border,
                                  OutletId* x);

/// If the extent of an input's second axis is symbolic, assert that it equals `channels`: the file
/// states this number only for the filter. Errors: kShape.
Status take_channels(OnnxCtx& ctx, OutletId input, const Dim& channels);

/// Pad the end so that the last window that begins in the input or its leading padding is whole.
void onnx_round_up(const Fact& input, Window* window);

/// Return a list per spatial axis, or the padding of a window, as NNEF's operators take it: after
/// two neutral entries for batch and channels.
Value onnx_list(const std::vector<int64_t>& spatial);
Value onnx_padding(const Window& window);

}  // namespace rill::ops
